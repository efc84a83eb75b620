//! What lies in the sandbox for the person: `testcase`, the shell's settings, its history
//! (`assets/shell/`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::CaseId;
use crate::engine::{Access, Mount, Sandbox};
use crate::pipeline::error::Stop;
use crate::pipeline::suite::{REPORTER, SuiteRun, tidy};
use crate::store::StoreError;

/// The command that runs the case.
pub const COMMAND: &str = "testcase";
/// Where the sandbox sees the kit.
const KIT: &str = "/infradev/shell";
/// The variable that names it inside.
pub(super) const VARIABLE: &str = "INFRADEV_SHELL";
/// Where programs are looked for when nobody says.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const FILES: [(&str, &str); 3] = [
    (
        "testcase.py",
        include_str!("../../../assets/shell/testcase.py"),
    ),
    ("bashrc", include_str!("../../../assets/shell/bashrc")),
    ("start", include_str!("../../../assets/shell/start")),
];

/// `settings.json`, read by `testcase.py`.
#[derive(Serialize)]
struct Settings<'a> {
    worktree: &'a Path,
    pythonpath: Vec<PathBuf>,
    /// The suite.
    paths: &'a [String],
    /// What runs where nothing else is said.
    targets: Vec<String>,
    /// For pytest.
    options: Vec<String>,
    ranks: u32,
    reporter: PathBuf,
    /// PATH without the kit, for the tests.
    path: &'a str,
}

pub(super) struct Kit {
    dir: PathBuf,
}

impl Kit {
    pub(super) fn new(scratch: &Path) -> Result<Self, Stop> {
        let kit = Self {
            dir: scratch.join("shell"),
        };
        let io = |source| StoreError::Io {
            path: kit.dir.clone(),
            source,
        };
        std::fs::create_dir_all(kit.dir.join("bin")).map_err(io)?;
        for folder in [kit.dir.clone(), kit.dir.join("bin")] {
            mode(&folder, 0o755).map_err(io)?;
        }
        for (name, text) in FILES {
            kit.write(name, text, 0o644)?;
        }
        Ok(kit)
    }

    pub(super) fn mount(&self) -> Mount {
        Mount {
            source: self.dir.clone(),
            target: KIT.into(),
            access: Access::ReadOnly,
        }
    }

    /// Writes what depends on the sandbox: where it sees what, and the command itself.
    pub(super) fn settle(
        &self,
        sandbox: &Sandbox,
        run: &SuiteRun,
        case: Option<&CaseId>,
        path: Option<&str>,
    ) -> Result<Inside, Stop> {
        let worktree = sandbox.visible(&run.worktree);
        let dir = sandbox.visible(Path::new(KIT));
        let targets = case.map_or_else(|| run.paths.clone(), |id| vec![node(id).to_owned()]);
        let mut options: Vec<String> = ["-p", "no:cacheprovider", "--rootdir"]
            .map(str::to_owned)
            .into();
        options.push(worktree.display().to_string());
        options.extend(["-o".to_owned(), "required_plugins=".to_owned()]);
        options.extend(run.args.iter().cloned());
        let path = path.unwrap_or(PATH);
        let settings = Settings {
            worktree: &worktree,
            pythonpath: run.pythonpath.iter().map(|p| tidy(&worktree, p)).collect(),
            paths: &run.paths,
            targets,
            options,
            ranks: run.ranks,
            reporter: sandbox.visible(Path::new(REPORTER)),
            path,
        };
        let text = serde_json::to_string_pretty(&settings)
            .map_err(|e| Stop::Fault(format!("settings of the shell: {e}")))?;
        self.write("settings.json", &text, 0o644)?;
        let python = run.python.display();
        let script = format!(
            "#!/bin/sh\nexec '{python}' -s -B '{}/testcase.py' \"$@\"\n",
            dir.display()
        );
        self.write("bin/testcase", &script, 0o755)?;
        // the newest is the first that the arrow brings
        let history = format!("{COMMAND} --all\n{COMMAND} --pdb\n{COMMAND}\n");
        self.write("history", &history, 0o644)?;
        Ok(Inside {
            path: format!("{path}:{}/bin", dir.display()),
            dir,
            worktree,
        })
    }

    fn write(&self, name: &str, text: &str, bits: u32) -> Result<(), Stop> {
        let path = self.dir.join(name);
        std::fs::write(&path, text)
            .and_then(|()| mode(&path, bits))
            .map_err(|source| StoreError::Io { path, source }.into())
    }
}

/// As the sandbox sees it.
pub(super) struct Inside {
    pub dir: PathBuf,
    pub worktree: PathBuf,
    /// Where programs are looked for, the kit's last.
    pub path: String,
}

fn mode(path: &Path, bits: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits))
}

/// The id as pytest takes it: without the number that tells repeated ids apart.
fn node(id: &CaseId) -> &str {
    let id = id.as_str();
    let bare = id.strip_suffix(')').and_then(|rest| {
        let (bare, number) = rest.rsplit_once(" (")?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        digits.then_some(bare)
    });
    bare.unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_id_is_run_under_its_own_name() {
        let node = |id: &str| node(&CaseId(id.into())).to_owned();
        assert_eq!(node("t.py::test_a (2)"), "t.py::test_a");
        assert_eq!(node("t.py::test_a[x (2)]"), "t.py::test_a[x (2)]");
        assert_eq!(node("t.py::test_a"), "t.py::test_a");
        assert_eq!(node("t.py::test_a[f(2)]"), "t.py::test_a[f(2)]");
    }
}
