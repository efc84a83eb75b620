//! An agent's ordinary lives: done, nothing done, out of time, a secret, a host that it may not ask.

use super::house::{SMALL, adapter, alive, run, run_with, scripted, small_tasks, toml_text};
use crate::common::{home, infradev, tasks};
use crate::on_both_engines;

on_both_engines!(
    an_agent_works_on_a_repository_of_one_commit_and_sees_nothing_else,
    an_agent_that_does_nothing_is_empty,
    the_limit_ends_it_and_what_is_there_is_graded,
    a_secret_is_passed_and_written_nowhere,
    only_named_hosts_are_reached,
    a_search_by_the_models_host_is_told,
    a_run_whose_model_failed_counts_and_the_score_says_so,
    an_agent_that_ends_our_relay_hides_nothing,
);

fn an_agent_works_on_a_repository_of_one_commit_and_sees_nothing_else(engine: &str) {
    let name = format!("looks-around-{engine}");
    // tests and probes are nowhere; git works; a commit can be made
    scripted(
        &name,
        "set -eu
         echo commits $(git rev-list --all --count) status $(git status --porcelain | wc -l) remotes $(git remote | wc -l)
         git fsck --full --unreachable --no-reflogs && git count-objects -v | head -1
         grep -rlF 'clip([2], 2, 8) == [2]' / --include=*.py 2>/dev/null | wc -l | sed 's/^/probes /'
         ls / && id -u
         cat \"$HOME\"/../prompt.md | head -1
         read -t 1 line || echo nothing on stdin
         echo '# by the agent' >> calc.py
         git commit -qam 'by the agent'
         git log --format=%an",
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    let log = ran.log();
    assert!(log.contains("commits 1 status 0 remotes 0"), "{log}");
    assert!(log.contains("probes 0"), "{log}");
    assert!(log.contains("nothing on stdin"), "{log}");
    assert!(log.contains("agent\ninfradev"), "the log of git: {log}");
    assert!(!log.contains("\n0\n"), "not root: {log}");
    assert_eq!(ran.verdict(), "failed");
    assert!(ran.patch().contains("+# by the agent"));
    let ended = &ran.events("agent_ended")[0];
    assert_eq!(ended["end"]["how"], "exited");
    assert_eq!(ended["killed"], 0);
    assert_eq!(ran.grade["engine"], engine);
}

fn an_agent_that_does_nothing_is_empty(engine: &str) {
    let name = format!("idle-{engine}");
    scripted(&name, "echo I will not");
    let ran = run(SMALL, &name, &["--engine", engine]);
    assert_eq!(ran.verdict(), "failed");
    assert_eq!(ran.grade["cause"], "empty");
    assert_eq!(ran.patch(), "");
}

fn the_limit_ends_it_and_what_is_there_is_graded(engine: &str) {
    let name = format!("slow-{engine}");
    let mark = if engine == "local" { "86411" } else { "86412" };
    scripted(
        &name,
        &format!("echo '# half' >> calc.py; trap '' TERM; (setsid sleep {mark} &) ; sleep {mark}"),
    );
    let ran = run(SMALL, &name, &["--engine", engine, "--limit", "4s"]);
    assert_eq!(ran.events("agent_ended")[0]["end"]["how"], "limit");
    assert!(ran.badges().contains(&"limit"), "{:?}", ran.badges());
    assert!(ran.patch().contains("+# half"));
    assert_eq!(ran.verdict(), "failed");
    assert_eq!(alive(&format!("sleep {mark}")), Vec::<String>::new());
}

fn a_secret_is_passed_and_written_nowhere(engine: &str) {
    let name = format!("tells-{engine}");
    let script = toml_text(
        "echo the key is $TEST_AGENT_KEY; echo $TEST_AGENT_KEY >&2; for c in $(echo $TEST_AGENT_KEY | fold -w1); do printf %s $c; sleep 0.01; done; echo; test -n \"$TEST_AGENT_KEY\" && touch was_there && touch of_$TEST_AGENT_KEY",
    );
    adapter(
        &name,
        &format!(
            "format = \"text\"\ncommand = [\"/bin/bash\", \"-c\", {script}]\n[network]\nmode = \"allow-list\"\nhosts = [\"${{TEST_AGENT_HOST}}\"]\n[env]\npass = [\"TEST_AGENT_KEY\", \"TEST_AGENT_HOST\"]\n"
        ),
    );
    let secret = "sk-4f1c9d77aa20";
    let host = "h-4f1c9d77aa20.example";
    let key = [("TEST_AGENT_KEY", secret), ("TEST_AGENT_HOST", host)];
    let ran = run_with(SMALL, &name, &["--engine", engine], &key);
    assert!(ran.patch().contains("was_there"), "it was passed");
    let files = |event: &serde_json::Value| event["files"].to_string();
    for kind in ["captured", "patch_applied"] {
        let files = files(&ran.events(kind)[0]);
        assert!(files.contains("of_[TEST_AGENT_KEY]"), "{files}");
    }
    let hosts = ran.events("agent_started")[0]["hosts"].to_string();
    assert!(hosts.contains("[TEST_AGENT_HOST]"), "{hosts}");
    assert!(
        ran.log().contains("the key is [TEST_AGENT_KEY]"),
        "{}",
        ran.log()
    );
    let mut pending = vec![ran.run.clone()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else {
                let bytes = std::fs::read(entry.path()).unwrap();
                for secret in [secret, host] {
                    let mut windows = bytes.windows(secret.len());
                    let found = windows.any(|w| w == secret.as_bytes());
                    // what it writes into a file is its patch, which is never changed
                    let is_patch = secret != host && entry.file_name() == "submission.patch";
                    assert!(found == is_patch, "{secret} in {}", entry.path().display());
                }
            }
        }
    }
    // one that is not set is told before there is a run
    let output = infradev(&home(), &small_tasks())
        .args(["run", SMALL, "--agent", &name])
        .env("TEST_AGENT_HOST", host)
        .env_remove("TEST_AGENT_KEY")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("TEST_AGENT_KEY"));
}

fn only_named_hosts_are_reached(engine: &str) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached",
            );
        }
    });
    let name = format!("asks-{engine}");
    let script = toml_text(&format!(
        "import urllib.request, socket
def ask(url):
    try:
        print(url, urllib.request.urlopen(url, timeout=10).read().decode(), flush=True)
    except Exception as e:
        print(url, 'REFUSED', e, flush=True)
ask('http://127.0.0.1:{port}/')
ask('http://forbidden.example/')
ask('https://forbidden.example/')
try:
    # past the proxy there is nothing
    socket.create_connection(('127.0.0.1', {port}), 2)
    print('direct')
except OSError as e:
    print('not direct', e)
"
    ));
    adapter(
        &name,
        &format!(
            "format = \"text\"\ncommand = [\"python3\", \"-c\", {script}]\n[network]\nmode = \"allow-list\"\nhosts = [\"127.0.0.1:{port}\"]\n"
        ),
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    let log = ran.log();
    assert!(
        log.contains(&format!("http://127.0.0.1:{port}/ reached")),
        "{log}"
    );
    assert!(log.contains("http://forbidden.example/ REFUSED"), "{log}");
    assert!(log.contains("https://forbidden.example/ REFUSED"), "{log}");
    assert!(log.contains("not direct"), "{log}");
    let refused = ran.events("host_refused");
    let hosts: Vec<&str> = refused
        .iter()
        .map(|e| e["host"].as_str().unwrap())
        .collect();
    assert!(
        hosts.iter().all(|h| h.contains("forbidden.example")) && !hosts.is_empty(),
        "{hosts:?}"
    );
    assert!(!ran.badges().contains(&"could-read-upstream"));
}

fn a_search_by_the_models_host_is_told(engine: &str) {
    let log = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"item.completed","item":{"id":"ws_1","type":"web_search","query":"upstream fix"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#,
    ];
    let name = format!("searches-{engine}");
    let script = toml_text(&format!("cat <<'END'\n{}\nEND\n", log.join("\n")));
    adapter(
        &name,
        &format!(
            "format = \"codex\"\ncommand = [\"/bin/sh\", \"-c\", {script}]\n[network]\nmode = \"allow-list\"\nhosts = [\"model.example\"]\n"
        ),
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    assert!(ran.badges().contains(&"could-read-upstream"));
    let notes = ran.events("captured")[0]["notes"].to_string();
    assert!(notes.contains("hosted-search"), "{notes}");
}

/// Nobody can tell from outside whether the service failed or an agent let it: it is no fault, and a
/// paper can count such runs.
fn a_run_whose_model_failed_counts_and_the_score_says_so(engine: &str) {
    let log = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"turn.failed","error":{"message":"stream disconnected: 503 \u001b[31m"}}"#,
    ];
    let name = format!("disconnected-{engine}");
    let script = toml_text(&format!("cat <<'END'\n{}\nEND\nexit 1\n", log.join("\n")));
    adapter(
        &name,
        &format!(
            "format = \"codex\"\ncommand = [\"/bin/sh\", \"-c\", {script}]\n[network]\nmode = \"none\"\n"
        ),
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    assert_eq!(ran.verdict(), "failed");
    let of = ran.run.file_name().unwrap().to_str().unwrap();
    let score = |args: &[&str]| {
        let output = infradev(&home(), &small_tasks())
            .args(["score", of])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let document: serde_json::Value = serde_json::from_str(&score(&["--json"])).unwrap();
    assert_eq!(document["runs"]["counted"], 1);
    let told = document["scored"][0]["ended_in_error"].as_str().unwrap();
    assert!(told.starts_with("stream disconnected: 503"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
    let words = score(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("1 counted though the agent ended in an error"),
        "{words}"
    );
    assert!(
        words.contains("agent ended in an error, counted: "),
        "{words}"
    );
}

fn an_agent_that_ends_our_relay_hides_nothing(engine: &str) {
    let name = format!("relayless-{engine}");
    let script = toml_text(
        "for p in /proc/[0-9]*; do grep -qa '__rela[y]' $p/cmdline && kill -9 ${p#/proc/}; done; sleep 1; (setsid sleep 300.5 &); sleep 0.2",
    );
    adapter(
        &name,
        &format!(
            "format = \"text\"\ncommand = [\"/bin/bash\", \"-c\", {script}]\n[network]\nmode = \"allow-list\"\nhosts = [\"model.example\"]\n"
        ),
    );
    let ran = run(SMALL, &name, &["--engine", engine]);
    assert_eq!(ran.events("agent_ended")[0]["killed"], 1);
    let said = ran.events("log");
    let told = |e: &serde_json::Value| e["text"].as_str().unwrap().contains("relay");
    assert!(said.iter().any(told), "{said:?}");
}

#[test]
fn an_agent_is_given_the_variant_of_the_prompt_that_was_asked_for() {
    scripted("reads-its-prompt", "cat \"$PROMPT_FILE\"");
    let asked = ["--engine", "local", "--prompt", "interface"];
    let ran = run("dp-buckets", "reads-its-prompt", &asked);
    let shown = infradev(&home(), &tasks())
        .args(["prompt", "dp-buckets", "--variant", "interface", "--json"])
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let text = shown["text"].as_str().unwrap();
    assert!(!text.contains("**Windows.**"), "it is a part of the whole");
    assert_eq!(ran.log().trim_end(), text.trim_end());
    assert_eq!(ran.events("agent_started")[0]["prompt"], "interface");
    // one that is not there is told before there is a run
    let output = infradev(&home(), &tasks())
        .args(["run", "dp-buckets", "--agent", "reads-its-prompt"])
        .args(["--engine", "local", "--prompt", "short"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("there is no prompt.short.md"), "{said}");
}

#[test]
fn an_agent_on_an_open_network_could_read_upstream() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    scripted(
        "goes-anywhere",
        &format!("(echo > /dev/tcp/127.0.0.1/{port}) && echo reached || echo not reached"),
    );
    for (network, said, badge) in [("open", "reached", true), ("none", "not reached", false)] {
        let asked = ["--engine", "local", "--network", network];
        let ran = run(SMALL, "goes-anywhere", &asked);
        let log = ran.log();
        assert!(log.lines().any(|line| line == said), "{network}: {log}");
        assert_eq!(ran.events("agent_started")[0]["network"], network);
        let badges = ran.badges();
        assert_eq!(badges.contains(&"could-read-upstream"), badge, "{badges:?}");
    }
}

#[test]
fn an_installation_that_holds_the_tasks_own_project_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(tasks().join("dp-buckets"))
        .arg(dir.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let named = "[project]\nname = \"tandem\"\nversion = \"1\"\n";
    std::fs::write(dir.path().join("dp-buckets/base/pyproject.toml"), named).unwrap();
    // as pip leaves it for an adapter whose program depends on the project
    let script = toml_text(
        "mkdir -p {install}/venv/lib/python3.11/site-packages/Tandem-9.0.dist-info; echo installed",
    );
    adapter(
        "brings-it-along",
        &format!(
            "format = \"text\"\ncommand = [\"/bin/true\", \"{{install}}\"]\n\
             [network]\nmode = \"none\"\n[install]\nscript = {script}\n"
        ),
    );
    // the second time it is found and not made
    for _ in 0..2 {
        let output = infradev(&home(), dir.path())
            .args(["run", "dp-buckets", "--agent", "brings-it-along"])
            .args(["--engine", "local"])
            .output()
            .unwrap();
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!output.status.success(), "{said}");
        let why = "the agent's installation holds Tandem 9.0, the task's own project";
        assert!(said.contains(why), "{said}");
    }
}
