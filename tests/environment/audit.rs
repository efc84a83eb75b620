//! `env check`: what changed, through which link, and who else could change it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use infradev::environment::keep::{EnvironmentsChecked, FindingKind, check, discard};
use infradev::environment::verify;

use super::keep_support::*;
use super::support::*;

fn kinds(document: &EnvironmentsChecked, hash: &str) -> Vec<(FindingKind, String)> {
    let environments = &document.environments;
    let found = environments.iter().find(|e| e.hash == hash).unwrap();
    assert_eq!(found.ok, found.findings.is_empty());
    let findings = found.findings.iter();
    findings
        .map(|f| (f.kind, f.path.file_name().unwrap().display().to_string()))
        .collect()
}

#[test]
fn a_change_through_one_link_is_found_in_all_environments_and_mended() {
    let place = Place::new(SMALL);
    let (small, smaller) = two(&place);
    let home = place.home();
    let document = checked(&home);
    assert!(document.ok, "{document:?}");
    assert_eq!(document.environments.len(), 2);

    // as somebody does who writes into the cache
    let cached = in_cache(&home, "packaging/version.py");
    let sound = fs::read(&cached).unwrap();
    fs::set_permissions(&cached, Permissions::from_mode(0o644)).unwrap();
    let mut changed = sound.clone();
    changed[0] ^= 1; // the size stays
    fs::write(&cached, &changed).unwrap();
    fs::set_permissions(&cached, Permissions::from_mode(0o444)).unwrap();
    // and a file of one environment alone
    let venv = small.python.parent().unwrap().parent().unwrap();
    let own = venv.join("bin/activate");
    fs::set_permissions(&own, Permissions::from_mode(0o644)).unwrap();

    let mut document = checked(&home);
    assert!(!document.ok);
    let modified = (FindingKind::Modified, "version.py".to_string());
    let writable = (FindingKind::Writable, "activate".to_string());
    assert_eq!(kinds(&document, &small.hash), [modified.clone(), writable]);
    assert_eq!(kinds(&document, &smaller.hash), [modified]);
    for (one, other) in [(&small, &smaller), (&smaller, &small)] {
        let environments = &document.environments;
        let found = environments.iter().find(|e| e.hash == one.hash).unwrap();
        let finding = &found.findings[0];
        assert_eq!(finding.shared_with, std::slice::from_ref(&other.hash));
        let below = cached.strip_prefix(home.join("cache/uv")).unwrap();
        assert_eq!(finding.cached, [below]);
        assert_eq!((finding.links, finding.known_links), (Some(3), Some(3)));
    }

    // one of them is in use: it stays, and goes later
    drop(small);
    discard(&home, &mut document).unwrap();
    let kept: Vec<&str> = document.kept.iter().map(|k| k.hash.as_str()).collect();
    assert_eq!(kept, [smaller.hash.as_str()]);
    drop(smaller);
    assert!(!cached.exists());
    let mut document = checked(&home);
    discard(&home, &mut document).unwrap();
    assert!(place.environments().is_empty());
    let (again, _) = build(&place.request());
    assert!(again.built);
    assert_eq!(
        fs::read(in_cache(&home, "packaging/version.py")).unwrap(),
        sound
    );
    assert!(checked(&home).ok);
}

#[test]
fn a_link_from_elsewhere_and_a_forged_record_are_found() {
    let place = Place::new(SMALL);
    let (small, smaller) = two(&place);
    let home = place.home();
    let outside = place.folder.path().join("outside");
    fs::hard_link(in_cache(&home, "packaging/version.py"), &outside).unwrap();
    // what only one environment has
    fs::hard_link(in_cache(&home, "pluggy/_hooks.py"), home.join("mine")).unwrap();
    let foreign = |name: &str| (FindingKind::ForeignLink, name.to_string());
    let document = checked(&home);
    assert_eq!(
        kinds(&document, &small.hash),
        [foreign("version.py"), foreign("_hooks.py")]
    );
    assert_eq!(kinds(&document, &smaller.hash), [foreign("version.py")]);
    fs::remove_file(&outside).unwrap();
    fs::remove_file(home.join("mine")).unwrap();
    assert!(checked(&home).ok);

    // a change whose manifest was made to fit
    let folder = home.join("env").join(&small.hash);
    let manifest = folder.join("manifest.txt");
    let text = fs::read_to_string(&manifest).unwrap();
    let cfg = folder.join("venv/pyvenv.cfg");
    fs::set_permissions(&cfg, Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(&cfg).unwrap();
    let fitting: Vec<&str> = text
        .split_inclusive('\n')
        .filter(|line| !line.ends_with("pyvenv.cfg\n"))
        .collect();
    let fitting = fitting.concat();
    fs::write(&manifest, fitting).unwrap();
    fs::write(folder.join("requirements.lock"), self::smaller()).unwrap();
    assert_eq!(verify(&home, &small.hash).unwrap(), []);
    let document = check(&home, &[small.hash[..10].into()], &mut |_| {}).unwrap();
    let forged = |name: &str| (FindingKind::Manifest, name.to_string());
    assert_eq!(
        kinds(&document, &small.hash),
        [forged("manifest.txt"), forged("requirements.lock")]
    );
    for hash in ["", "0123456789", "x"] {
        let error = check(&home, &[hash.into()], &mut |_| {}).unwrap_err();
        assert!(error.is_input() && error.to_string().contains("env list"));
    }
}
