//! One agent for real: mini-swe-agent as the package index has it, in a container, against a model
//! server whose answers are written down here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::house::run_with;
use crate::common::{docker_is_here, tasks};

/// Answers chat completions with one command after the other; keeps what it was asked.
struct Scripted {
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    fn start(commands: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let n = kept.lock().unwrap().len();
                kept.lock().unwrap().push(request);
                let command = commands.get(n).unwrap_or(&commands[commands.len() - 1]);
                let arguments = json!({ "command": command }).to_string();
                let call = json!({ "id": format!("call_{n}"), "type": "function",
                    "function": { "name": "bash", "arguments": arguments } });
                let answer = json!({
                    "id": format!("a{n}"), "object": "chat.completion", "created": 1_767_000_000,
                    "model": "scripted",
                    "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
                        "role": "assistant", "content": format!("step {n}"), "tool_calls": [call] } }],
                    "usage": { "prompt_tokens": 1000 + n, "completion_tokens": 10, "total_tokens": 1010 + n,
                        "prompt_tokens_details": { "cached_tokens": 900 } },
                })
                .to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    answer.len()
                );
                let _ = stream.write_all((head + &answer).as_bytes());
            }
        });
        Self { port, asked }
    }
}

fn read(stream: &mut TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

#[test]
fn mini_swe_agent_solves_a_bundled_task_in_a_container() {
    if !docker_is_here() {
        return;
    }
    let right =
        std::fs::read_to_string(tasks().join("dp-buckets/alternative/arena.patch")).unwrap();
    let server = Scripted::start(vec![
        "ls; python --version; git log --oneline".into(),
        format!("git apply <<'EOF-PATCH'\n{right}\nEOF-PATCH"),
        "python -m pytest -q tests 2>&1 | tail -3; git status --short | head".into(),
        "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT".into(),
    ]);
    let address = format!("http://127.0.0.1:{}/v1", server.port);
    let secret = "sk-scripted-0123456789";
    let env = [
        ("OPENAI_BASE_URL", address.as_str()),
        ("OPENAI_API_KEY", secret),
    ];
    let args = [
        "--engine",
        "docker",
        // one that is known to take an effort
        "--model",
        "openai/o4-mini",
        "--effort",
        "high",
        "--limit",
        "10m",
    ];
    let ran = run_with("dp-buckets", "mini-swe-agent", &args, &env);
    let log = ran.log();
    assert_eq!(
        ran.verdict(),
        "resolved",
        "cause {}\n{}",
        ran.grade["cause"],
        std::fs::read_to_string(ran.run.join("output/agent-stderr.log")).unwrap_or_default()
    );
    assert!(
        log.contains("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
        "the trajectory is the log"
    );
    assert!(!log.contains(secret));
    assert!(
        log.contains("Python 3."),
        "the task's interpreter answers in the sandbox"
    );
    let asked = server.asked.lock().unwrap();
    assert_eq!(asked.len(), 4, "{asked:#?}");
    for (at, request) in asked.iter().enumerate() {
        assert_eq!(request["reasoning_effort"], "high", "request {at}");
    }
    // the prompt arrived
    let prompt = std::fs::read_to_string(tasks().join("dp-buckets/prompt.md")).unwrap();
    let first = prompt.lines().find(|l| l.len() > 40).unwrap();
    assert!(
        asked[0]
            .to_string()
            .contains(&serde_json::to_string(first).unwrap()[1..40])
    );

    // what the workbench and `infradev trace` show of it
    let trace = crate::common::infradev(&crate::common::home(), &tasks())
        .arg("trace")
        .arg(ran.run.join("agent.log"))
        .arg("--json")
        .output()
        .unwrap();
    let trace: Value = serde_json::from_slice(&trace.stdout).unwrap();
    assert_eq!(trace["format"], "mini");
    assert_eq!(trace["commands"].as_array().unwrap().len(), 4, "{trace}");
    assert_eq!(trace["usage"]["input"], 4 * 100 + 6, "{trace}");
    assert_eq!(trace["usage"]["cache_read"], 3600, "{trace}");
    assert_eq!(trace["usage"]["output"], 40, "{trace}");
    let started = &ran.events("agent_started")[0];
    assert_eq!(started["network"], "allow-list");
    assert!(started["passed"].to_string().contains("OPENAI_API_KEY"));
}
