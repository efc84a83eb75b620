//! What an agent could read another release of the task's own project from is refused before it
//! costs anything.

use std::fs;
use std::path::Path;

use super::house::scripted;
use crate::common::{home, infradev, tasks};
use crate::on_both_engines;

on_both_engines!(another_release_in_reach_is_refused);

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A copy of a bundled task whose sandboxes see `data` of the home's cache; its base has this
/// metadata.
fn copy_of_a_task(at: &Path, data: &str, metadata: Option<&str>) {
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(tasks().join("dp-buckets"))
        .arg(at)
        .status()
        .unwrap();
    assert!(copied.success());
    let spec = at.join("dp-buckets/task.toml");
    let text = fs::read_to_string(&spec).unwrap();
    let with = format!("[environment]\ndata = [\"{data}\"]\n");
    fs::write(&spec, text.replace("[environment]\n", &with)).unwrap();
    if let Some(text) = metadata {
        write(&at.join("dp-buckets/base/pyproject.toml"), text);
    }
}

fn another_release_in_reach_is_refused(engine: &str) {
    let name = format!("would-read-{engine}");
    scripted(&name, "echo I worked");
    let begun = |data: &str, metadata: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        copy_of_a_task(dir.path(), data, metadata);
        let output = infradev(&home(), dir.path())
            .args(["run", "dp-buckets", "--agent", &name, "--engine", engine])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let data = |name: &str| home().join("cache/data").join(format!("{name}-{engine}"));
    let named = |name: &str| format!("{name}-{engine}");

    // what is mounted is mounted on both: looked at once
    if engine == "local" {
        // under whatever name: by its packages, beside any metadata
        write(
            &data("modules").join("envs/x/site-packages/tandem/__init__.py"),
            "",
        );
        let (code, said) = begun(&named("modules"), None);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("site-packages/tandem is a package of the task's own project"),
            "{said}"
        );

        // by its name, in another environment below what is mounted
        let metadata = "lib/python3.12/site-packages/Tandem_Core-9.1.dist-info/METADATA";
        write(&data("named").join(metadata), "");
        let named_so = Some("[project]\nname = \"tandem.core\"\n");
        let (code, said) = begun(&named("named"), named_so);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("holds Tandem_Core 9.1, the task's own project (pyproject.toml)"),
            "{said}"
        );
    }

    // what only the image has: a wheel that its own tools unpack
    if engine == "docker" {
        write(&data("nothing").join("notes.txt"), "");
        let (code, said) = begun(
            &named("nothing"),
            Some("[project]\nname = \"setuptools\"\n"),
        );
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("the system around it holds setuptools"),
            "{said}"
        );
    }
}
