//! Whether Python sources compile, asked of an interpreter of this machine. Compiling runs nothing
//! of them, so this needs no sandbox.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use schemars::JsonSchema;
use serde::Serialize;

use super::interpreter::find;

const SCRIPT: &str = "\
import json, sys, warnings
warnings.simplefilter('ignore')
bad = {}
for path, text in json.load(sys.stdin).items():
    try:
        compile(text.encode('utf-8', 'surrogatepass'), path, 'exec', dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        bad[path] = f\"line {getattr(error, 'lineno', 0)}: {getattr(error, 'msg', error)}\"
json.dump(bad, sys.stdout)
";

/// What an interpreter says about sources.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Compiled {
    /// `Python 3.12.3`; absent: no interpreter was found, and only the parser looked at them.
    pub by: Option<String>,
    pub files: usize,
    pub failed: Vec<CompileError>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CompileError {
    pub path: String,
    pub message: String,
}

/// Compiles sources (path to text). `version`: of the interpreter, where it matters ("3.12").
pub fn compile(sources: &BTreeMap<&str, &str>, version: Option<&str>, home: &Path) -> Compiled {
    let env = std::env::vars_os().collect();
    let nobody = Compiled {
        by: None,
        files: sources.len(),
        failed: Vec::new(),
    };
    let found = find(version, &env, home).or_else(|_| find(None, &env, home));
    let Ok(facts) = found else { return nobody };
    match ask(&facts.executable, sources) {
        Ok(bad) => Compiled {
            by: Some(format!("Python {}", facts.version)),
            files: sources.len(),
            failed: bad
                .into_iter()
                .map(|(path, message)| CompileError { path, message })
                .collect(),
        },
        Err(_) => nobody,
    }
}

fn ask(
    python: &Path,
    sources: &BTreeMap<&str, &str>,
) -> Result<BTreeMap<String, String>, std::io::Error> {
    let mut child = Command::new(python)
        .args(["-I", "-S", "-B", "-c", SCRIPT])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // it answers only when it has read everything
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(serde_json::to_string(sources)?.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
