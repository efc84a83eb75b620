//! Adapters: the shipped ones, the user's, and what is wrong with one.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use infradev::agent::adapter::{
    Adapter, AdapterError, Adapters, Passed, Words, allow_list, install_script,
};
use infradev::domain::submission::LogFormat;

fn words<'a>() -> Words<'a> {
    Words {
        prompt: "do {this} and -that\n",
        prompt_file: Path::new("/agent/prompt.md"),
        workspace: Path::new("/work/repo"),
        home: Path::new("/agent/home"),
        out: Path::new("/agent/out"),
        install: Some(Path::new("/agent/install")),
        model: Some("openai/m"),
        effort: None,
        replay: None,
    }
}

/// A folder with one adapter.
fn written(name: &str, text: &str) -> (tempfile::TempDir, Adapters) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(format!("{name}.toml")), text).unwrap();
    let adapters = Adapters::new(dir.path().to_path_buf());
    (dir, adapters)
}

const PLAIN: &str = "schema = 1\nname = \"mine\"\nformat = \"text\"\ncommand = [\"tool\", \"{prompt}\"]\n[network]\nmode = \"none\"\n";

#[test]
fn the_shipped_ones_are_in_order_and_say_what_they_run() {
    let adapters = Adapters::new("/nonexistent".into());
    let listed = adapters.list().unwrap();
    let names: Vec<&str> = listed.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "claude-code",
            "codex",
            "mini-swe-agent",
            "opencode",
            "replay",
            "shell"
        ]
    );
    for one in &listed {
        assert!(one.problems.is_empty(), "{:?}", one.problems);
        assert!(one.shipped);
        let adapter = one.adapter.as_ref().unwrap();
        assert!(!adapter.spec.summary.is_empty());
        let replay = ["/infradev/init".to_owned(), "__replay".into(), "/r".into()];
        let words = Words {
            replay: Some(&replay),
            ..words()
        };
        let command = words.command(&adapter.spec).unwrap();
        assert!(
            !command.iter().any(|a| a.contains("{install}")),
            "{command:?}"
        );
        words.variables(&adapter.spec).unwrap();
        install_script(&adapter.spec, Path::new("/i")).unwrap();
    }
    let mini = adapters.find("mini-swe-agent").unwrap();
    assert_eq!(mini.spec.format, LogFormat::Mini);
    let lock = mini.requirements().unwrap().unwrap();
    let version = mini.spec.version.as_deref().unwrap();
    assert!(lock.contains(&format!("mini-swe-agent=={version} \\\n    --hash=sha256:")));
    let replay = adapters.find("replay").unwrap();
    let error = words().command(&replay.spec).unwrap_err().to_string();
    assert!(error.contains("{replay}"), "{error}");
}

#[test]
fn a_users_file_wins_and_others_stay() {
    let (dir, adapters) = written("codex", &PLAIN.replace("mine", "codex"));
    fs::write(dir.path().join("notes.txt"), "x").unwrap();
    let codex = adapters.find("codex").unwrap();
    assert!(!codex.shipped);
    assert_eq!(codex.spec.command, ["tool", "{prompt}"]);
    assert_eq!(adapters.list().unwrap().len(), 6);
    assert!(adapters.find("opencode").unwrap().shipped);
    // also where it is broken: nobody wants to run another one unaware
    fs::write(dir.path().join("codex.toml"), "schema = 1\n").unwrap();
    assert!(matches!(
        adapters.find("codex"),
        Err(AdapterError::Broken { .. })
    ));
    for unknown in ["nobody", "../codex", ""] {
        let error = adapters.find(unknown).unwrap_err().to_string();
        assert!(error.contains("known: claude-code, codex,"), "{error}");
    }
}

#[test]
fn words_are_replaced_once_and_shell_variables_stay() {
    let text = PLAIN.replace(
        "command = [\"tool\", \"{prompt}\"]",
        "command = [\"{install}/bin/x\", \"--p={prompt}\", \"{prompt_file}:{workspace}\", \"${home} {} {\\\"a\\\":1}\", \"{model}\"]\n[install]\nscript = \"echo {install} ${install}\"\n[env.set]\nH = \"{home}/{out}\"\n",
    );
    let (_dir, adapters) = written("mine", &text);
    let adapter: Adapter = adapters.find("mine").unwrap();
    assert_eq!(
        words().command(&adapter.spec).unwrap(),
        [
            "/agent/install/bin/x",
            "--p=do {this} and -that\n",
            "/agent/prompt.md:/work/repo",
            "${home} {} {\"a\":1}",
            "openai/m"
        ]
    );
    let variables = words().variables(&adapter.spec).unwrap();
    assert_eq!(variables["H"], "/agent/home//agent/out");
    let script = install_script(&adapter.spec, Path::new("/i")).unwrap();
    assert_eq!(script.unwrap(), "echo /i ${install}");
    let none = Words {
        model: None,
        ..words()
    };
    let error = none.command(&adapter.spec).unwrap_err().to_string();
    assert!(error.contains("--model"), "{error}");
    let long = "x".repeat(200_000);
    for prompt in [&*long, "a\0b"] {
        let words = Words { prompt, ..words() };
        let error = words.command(&adapter.spec).unwrap_err().to_string();
        assert!(error.contains("argument 1"), "{error}");
    }
}

#[test]
fn an_effort_is_said_where_one_is_asked_for() {
    let text = PLAIN.replace(
        "\"{prompt}\"]",
        "\"{effort}\", \"{prompt}\"]\neffort = [\"-c\", \"effort={effort}\"]\n[env.set]\nE = \"{effort}\"",
    );
    let (_dir, adapters) = written("mine", &text);
    let spec = adapters.find("mine").unwrap().spec;
    let prompt = words().prompt;
    assert_eq!(words().command(&spec).unwrap(), ["tool", prompt]);
    assert_eq!(words().variables(&spec).unwrap()["E"], "");
    let high = Words {
        effort: Some("high"),
        ..words()
    };
    let command = high.command(&spec).unwrap();
    assert_eq!(command, ["tool", "-c", "effort=high", prompt]);
    assert_eq!(high.variables(&spec).unwrap()["E"], "high");
    for (wrong, said) in [
        (text.replace("\"{effort}\", ", ""), "stands nowhere"),
        (
            text.replace("\"{effort}\", ", "\"-e{effort}\", "),
            "stands for the arguments",
        ),
        (
            PLAIN.replace("\"{prompt}\"", "\"{effort}\", \"{prompt}\""),
            "stands for nothing",
        ),
    ] {
        let (_dir, adapters) = written("mine", &wrong);
        let error = adapters.find("mine").unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("mine.toml:"),
            "{error}"
        );
    }
}

#[test]
fn everything_wrong_is_said_with_its_line() {
    let (dir, adapters) = written(
        "mine",
        r#"schema = 2
name = "other"
format = "text"
command = [
    "{prompt}",
    "{nothing}",
    "x{replay}",
]
trajectory = "../x"
[install]
requirements = "a/b"
script = "{prompt}"
python = "3.12"
[env]
pass = ["A", "A?", "B-C", "D"]
set = { D = "{replay}", "1" = "" }
[network]
mode = "open"
hosts = ["https://x", "${E}", "ok.example.com"]
[limits]
processes = 0
"#,
    );
    let Err(AdapterError::Broken { problems, .. }) = adapters.find("mine") else {
        panic!("is broken");
    };
    let file = dir.path().join("mine.toml");
    assert!(
        problems
            .iter()
            .all(|p| p.file == file && !p.mend.is_empty())
    );
    let mut found: Vec<(usize, &str)> = problems
        .iter()
        .map(|p| (p.line.unwrap(), p.message.as_str()))
        .collect();
    found.sort_unstable();
    let mut wanted = [
        (1, "schema 2 is not known here"),
        (2, "name \"other\" is not the file's name \"mine\""),
        (6, "{nothing} stands for nothing"),
        (7, "{replay} stands for several arguments"),
        (9, "\"../x\" leaves the folder {out}"),
        (11, "\"a/b\" does not lie beside the adapter"),
        (12, "requirements and script both install into one folder"),
        (12, "{prompt} stands for nothing"),
        (15, "A is listed twice"),
        (15, "\"B-C\" is no name of a variable"),
        (15, "D is passed and set"),
        (16, "\"1\" is no name of a variable"),
        (16, "{replay} stands for nothing"),
        (19, "hosts have no effect with mode open"),
        (19, "${E} names a variable that the agent is not given"),
        (
            19,
            "\"https://x\" is no host of an allow-list: give host or host:port, without a scheme or a path",
        ),
        (21, "processes of nothing"),
    ];
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn what_does_not_parse_is_said_with_its_line() {
    for (text, line, words) in [
        (
            "schema = 1\nname = \"mine\"\nformat = \"text\"\ncommand = []\n",
            4,
            "without a program",
        ),
        (
            "schema = 1\nname = \"mine\"\nformat = \"word\"\n",
            3,
            "unknown variant",
        ),
        ("schema = 1\nnam = \"mine\"\n", 2, "unknown field"),
        ("schema = 1\n[[[\n", 2, ""),
        (&PLAIN.replace("{prompt}", "x"), 4, "never told"),
        (
            &PLAIN.replace("tool", "{install}/x"),
            4,
            "{install} stands for nothing",
        ),
        (&PLAIN.replace("\"none\"", "\"some\""), 6, "unknown variant"),
    ] {
        let (dir, adapters) = written("mine", text);
        let error = adapters.find("mine").unwrap_err().to_string();
        let place = format!("{}:{line}: error: ", dir.path().join("mine.toml").display());
        assert!(error.contains(&place) && error.contains(words), "{error}");
    }
    let (dir, adapters) = written("mine", "");
    fs::write(dir.path().join("mine.toml"), b"a = 1\nb = \"\xff\"\n").unwrap();
    let error = adapters.find("mine").unwrap_err().to_string();
    assert!(error.contains("mine.toml:2: error: not UTF-8"), "{error}");
}

#[test]
fn variables_are_passed_by_name_and_missing_ones_are_all_named() {
    let text = PLAIN.replace(
        "[network]\nmode = \"none\"",
        "[env]\npass = [\"KEY\", \"OTHER\", \"MAYBE?\", \"URL?\"]\n[network]\nhosts = [\"a.org\", \"${URL}\", \"${MAYBE}\"]",
    );
    let (_dir, adapters) = written("mine", &text);
    let spec = adapters.find("mine").unwrap().spec;
    let set = |values: &'static [(&'static str, &'static str)]| {
        move |name: &str| {
            let found = values.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        }
    };
    let error = Passed::resolve(&spec, set(&[("OTHER", "")]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("KEY, OTHER, which are not set"), "{error}");
    let look = set(&[
        ("KEY", "k"),
        ("OTHER", "o"),
        ("URL", "http://me:word@127.0.0.1:81/v1"),
    ]);
    let passed = Passed::resolve(&spec, look).unwrap();
    assert_eq!(passed.names(), ["KEY", "OTHER", "URL"]);
    assert!(passed.variables().any(|v| v == ("KEY", "k")));
    let hosts = allow_list(&spec, &passed).unwrap();
    assert_eq!(hosts.names(), ["a.org:443", "127.0.0.1:81"]);
    let passed = Passed::resolve(
        &spec,
        set(&[("KEY", "k"), ("OTHER", "o"), ("URL", "s3cret word")]),
    );
    let error = allow_list(&spec, &passed.unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("URL holds no address") && !error.contains("s3cret"),
        "{error}"
    );
    let bytes = |_: &str| Some(OsString::from_vec(vec![0xff]));
    assert!(
        Passed::resolve(&spec, bytes)
            .unwrap_err()
            .to_string()
            .contains("UTF-8")
    );
}
