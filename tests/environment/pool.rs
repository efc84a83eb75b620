//! Bytecode, and all that environments have in common besides what the cache shares.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use infradev::domain::hex;
use infradev::environment::keep::{FindingKind, Wanted, discard, list};
use infradev::environment::{Environment, Progress, verify};
use sha2::{Digest, Sha256};

use super::keep_support::*;
use super::support::*;

fn site(environment: &Environment) -> PathBuf {
    let venv = environment.python.parent().unwrap().parent().unwrap();
    let mut names = fs::read_dir(venv.join("lib")).unwrap();
    names.next().unwrap().unwrap().path().join("site-packages")
}

/// Bytecode of a package, by its path below the packages' folder.
fn bytecode(environment: &Environment, package: &str) -> BTreeMap<PathBuf, PathBuf> {
    let site = site(environment);
    files(&site.join(package))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "pyc"))
        .map(|file| (file.strip_prefix(&site).unwrap().to_path_buf(), file))
        .collect()
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Where the pool has what a file holds.
fn pooled(home: &Path, file: &Path) -> PathBuf {
    let hash = hex(&Sha256::digest(fs::read(file).unwrap()));
    let (first, rest) = hash.split_at(2);
    home.join("cache/files").join(first).join(rest)
}

#[test]
fn two_locks_that_share_a_package_share_its_bytecode() {
    let place = Place::new(SMALL);
    let (small, smaller) = two(&place);
    let (of_small, of_smaller) = (
        bytecode(&small, "packaging"),
        bytecode(&smaller, "packaging"),
    );
    assert!(of_small.len() > 10 && of_small.keys().eq(of_smaller.keys()));
    for (path, file) in &of_small {
        assert_eq!(inode(file), inode(&of_smaller[path]), "{}", path.display());
        assert_eq!(inode(file), inode(&pooled(&place.home(), file)));
        // who knows neither the time nor the place cannot tell environments apart
        let bytes = fs::read(file).unwrap();
        assert_eq!(bytes[4..8], [1, 0, 0, 0], "hash-based and not checked");
        let home = place.home().display().to_string();
        let holds = |text: &str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
        assert!(!holds(&home) && holds("packaging/"), "{}", path.display());
    }
    // and each file that is not the cache's own
    let shared = |environment: &Environment| {
        let row = environment.hash.clone();
        let home = place.home();
        let rows = list(&home, &Wanted::default()).unwrap().environments;
        let row = rows.into_iter().find(|r| r.hash == row).unwrap();
        (row.bytes.unwrap(), row.shared_bytes.unwrap())
    };
    let (bytes, with_others) = shared(&smaller);
    assert!(with_others * 100 > bytes * 90, "{with_others} of {bytes}");
}

const RAISES: &str = "
import packaging.version, traceback
try:
    packaging.version.Version('no version')
except ValueError:
    print(traceback.format_exc())
nested = packaging.version.Version.__init__.__code__.co_filename
print('nested', nested, 'file', packaging.version.__file__)
";

#[test]
fn bytecode_is_used_and_names_the_real_path_of_its_source() {
    let place = Place::new(&without_numpy());
    let (environment, _) = build(&place.request());
    let source = site(&environment).join("packaging/version.py");
    let output = Command::new(&environment.python)
        .args(["-v", "-c", RAISES])
        .env_clear()
        .envs(&environment.env)
        .output()
        .unwrap();
    let loaded = String::from_utf8_lossy(&output.stderr).into_owned();
    let cached = bytecode(&environment, "packaging")
        .into_values()
        .find(|file| file.to_string_lossy().contains("/version."))
        .unwrap();
    let from = format!("code object from '{}'", cached.display());
    assert!(loaded.contains(&from), "{loaded}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let frame = format!("File \"{}\", line ", source.display());
    assert!(said.contains(&frame) && said.contains("raise "), "{said}");
    let both = format!("nested {0} file {0}", source.display());
    assert!(said.contains(&both), "{said}");

    // pytest shows the line in the library
    let test = place.folder.path().join("test_it.py");
    let code =
        "import packaging.version\n\ndef test():\n    packaging.version.Version('no version')\n";
    fs::write(&test, code).unwrap();
    let output = Command::new(&environment.python)
        .args(["-B", "-m", "pytest", "-p", "no:cacheprovider", "-q"])
        .arg(&test)
        .current_dir("/")
        .env_clear()
        .envs(&environment.env)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let below = source.strip_prefix("/").unwrap().display().to_string();
    assert!(said.contains("1 failed"), "{said}");
    assert!(said.contains(&below), "{below} is not in {said}");
    let marked = |line: &str| line.starts_with('>') && line.contains("raise InvalidVersion");
    assert!(said.lines().any(marked), "{said}");
}

#[test]
fn what_lies_in_the_pool_is_linked_only_as_what_it_says_it_is() {
    let place = Place::new(SMALL);
    let (small, _) = build(&place.request());
    let home = place.home();
    let mut of_small = bytecode(&small, "packaging").into_iter();
    let mut next = || of_small.next().unwrap();
    let entries: Vec<(PathBuf, PathBuf)> = (0..5)
        .map(|_| {
            let (path, file) = next();
            (path, pooled(&home, &file))
        })
        .collect();
    let poison = place.folder.path().join("poison");
    let bad = |entry: &Path, size: usize| {
        fs::remove_file(entry).unwrap();
        fs::write(entry, vec![b'x'; size]).unwrap();
        fs::set_permissions(entry, Permissions::from_mode(0o444)).unwrap();
    };
    let sound: Vec<Vec<u8>> = entries.iter().map(|e| fs::read(&e.1).unwrap()).collect();
    // of the same size; empty; a link to sound content that somebody may change; sound and
    // writable; a folder
    bad(&entries[0].1, sound[0].len());
    bad(&entries[1].1, 0);
    fs::write(&poison, &sound[2]).unwrap();
    fs::remove_file(&entries[2].1).unwrap();
    symlink(&poison, &entries[2].1).unwrap();
    fs::remove_file(&entries[3].1).unwrap();
    fs::write(&entries[3].1, &sound[3]).unwrap();
    fs::set_permissions(&entries[3].1, Permissions::from_mode(0o646)).unwrap();
    fs::remove_file(&entries[4].1).unwrap();
    fs::create_dir(&entries[4].1).unwrap();
    let planted: Vec<u64> = entries.iter().map(|e| inode(&e.1)).collect();

    fs::write(
        place.folder.path().join("task/requirements.lock"),
        smaller(),
    )
    .unwrap();
    let (other, said) = build(&place.request());
    assert_eq!(verify(&home, &other.hash).unwrap(), []);
    let of_other = bytecode(&other, "packaging");
    for (at, (path, entry)) in entries.iter().enumerate() {
        let file = &of_other[path];
        assert_eq!(fs::read(file).unwrap(), sound[at], "{}", path.display());
        let metadata = fs::symlink_metadata(file).unwrap();
        assert!(metadata.is_file() && metadata.mode() & 0o777 == 0o444);
        assert!(!planted.contains(&metadata.ino()), "{}", path.display());
        if at < 4 {
            // and what was there is no more
            assert_eq!(metadata.ino(), inode(entry), "{}", path.display());
        }
    }
    // what cannot be mended is told, and stays apart
    let told = |p: &Progress| p.text.contains("not every file can be shared");
    assert!(said.iter().any(told), "{said:?}");
    fs::remove_dir(&entries[4].1).unwrap();
    assert!(checked(&home).ok);

    // a change of a file that two have is found in both, and discarded with the pool's name for it
    let (path, file) = of_other.iter().last().unwrap();
    assert_eq!(inode(file), inode(&bytecode(&small, "packaging")[path]));
    let entry = pooled(&home, file);
    let mut bytes = fs::read(file).unwrap();
    bytes[20] ^= 1;
    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    fs::write(file, &bytes).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o444)).unwrap();
    let mut document = checked(&home);
    let below = entry.strip_prefix(home.join("cache/files")).unwrap();
    for environment in &document.environments {
        let [finding] = environment.findings.as_slice() else {
            panic!("{environment:?}");
        };
        assert_eq!(finding.kind, FindingKind::Modified);
        assert_eq!(finding.pooled, [below]);
        assert_eq!((finding.shared_with.len(), finding.links), (1, Some(3)));
    }
    drop((small, other));
    discard(&home, &mut document).unwrap();
    assert!(!entry.exists() && place.environments().is_empty());
    let (again, _) = build(&place.request());
    python(&again, "import packaging.version");
    assert!(checked(&home).ok);
}
