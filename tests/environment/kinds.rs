//! Kinds other than `uv`, and which interpreter is taken.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use infradev::domain::task::EnvironmentKind;
use infradev::environment::{EnvironmentError, find, prepare};

use super::support::*;

#[test]
fn a_version_that_is_not_there_tells_what_was_tried() {
    let place = Place::new(SMALL);
    let mut request = place.request();
    request.spec.python = Some("3.99".into());
    let error = prepare(&request, &|_| {}).unwrap_err().to_string();
    assert!(
        error.contains("no python interpreter for `3.99`; tried: "),
        "{error}"
    );
    // the same version that is found unasked, asked for
    let found = find(None, &request.host_env, &place.home()).unwrap();
    let minor = format!("{}.{}", found.minor().0, found.minor().1);
    request.spec.python = Some(minor.clone());
    assert!(build(&request).0.python_version.starts_with(&minor));
}

#[test]
fn a_host_interpreter_is_recorded_by_its_packages() {
    // a virtual environment of the bundled lock stands for somebody's own
    let place = Place::new(&without_numpy());
    let (own, _) = build(&place.request());
    let mut request = place.request();
    request.spec.kind = EnvironmentKind::Host;
    request.spec.python = Some(own.python.display().to_string());
    let (environment, said) = build(&request);
    assert_eq!(said, []);
    assert_eq!(
        (environment.kind, environment.built),
        (EnvironmentKind::Host, false)
    );
    assert_eq!(environment.packages, own.packages);
    assert_eq!(environment.python, own.python);
    assert_eq!(environment.python_version, own.python_version);
    python(&environment, "import pytest");
    let visible = |path: &Path| {
        path.starts_with("/usr")
            || environment
                .mounts
                .iter()
                .any(|m| path.starts_with(&m.target))
    };
    assert!(visible(&own.python) && visible(&own.python.canonicalize().unwrap()));
    assert_eq!(build(&request).0, environment);

    // another package, another hash
    let venv = own.python.parent().unwrap().parent().unwrap();
    let site = fs::read_dir(venv.join("lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let site = site.join("site-packages");
    fs::set_permissions(&site, fs::Permissions::from_mode(0o755)).unwrap();
    let extra = site.join("extra-1.dist-info");
    fs::create_dir(&extra).unwrap();
    fs::write(extra.join("METADATA"), "Name: extra\nVersion: 1\n").unwrap();
    let (changed, _) = build(&request);
    assert_ne!(changed.hash, environment.hash);
    assert!(changed.packages.iter().any(|p| p.name == "extra"));

    // without pytest: what to do
    fs::write(request.task_dir.join("requirements.lock"), SMALL).unwrap();
    request.spec.kind = EnvironmentKind::Uv;
    request.spec.python = None;
    let (bare, _) = build(&request);
    request.spec.kind = EnvironmentKind::Host;
    request.spec.python = Some(bare.python.display().to_string());
    let error = prepare(&request, &|_| {}).unwrap_err();
    let EnvironmentError::NoPytest { python } = &error else {
        panic!("{error}");
    };
    assert_eq!(python, &bare.python);
    assert!(error.to_string().contains("pip install pytest"));
}
