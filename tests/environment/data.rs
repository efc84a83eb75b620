//! Weights and data sets that tasks share.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use infradev::engine::spec::Access;
use infradev::environment::{EnvironmentError, prepare};

use super::sandbox::run;
use super::support::*;

const READ: &str = "
import os
print(open('/data/tiny-weights/w.bin').read(), open('/data/words.txt').read())
for path in ('/data/tiny-weights/w.bin', '/data/tiny-weights/new', '/data/words.txt'):
    try:
        open(path, 'a').write('x')
        print('wrote', path)
    except OSError:
        pass
";

#[test]
fn named_data_is_seen_in_a_sandbox_and_cannot_be_changed() {
    let place = Place::new("");
    let mut request = place.request();
    request.spec.data = vec!["tiny-weights".into(), "words.txt".into()];
    let missing = |request: &_| match prepare(request, &|_| {}).unwrap_err() {
        error @ EnvironmentError::Data { .. } => error,
        other => panic!("{other}"),
    };
    let error = missing(&request);
    let place_of_it = place.home().join("cache/data/tiny-weights");
    let message = error.to_string();
    assert!(
        error.is_input() && message.contains(&place_of_it.display().to_string()),
        "{message}"
    );
    assert!(
        place.environments().is_empty(),
        "told before anything is built"
    );

    // on another disk, perhaps: an entry may be a link
    let data = place.home().join("cache/data");
    let elsewhere = place.folder.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir_all(&data).unwrap();
    fs::write(elsewhere.join("w.bin"), "weights").unwrap();
    symlink(&elsewhere, data.join("tiny-weights")).unwrap();
    fs::write(data.join("words.txt"), "words").unwrap();
    let (environment, _) = build(&request);
    let mount = environment
        .mounts
        .iter()
        .find(|m| m.target == Path::new("/data/tiny-weights"));
    assert_eq!(mount.unwrap().access, Access::ReadOnly);
    let (_, output) = run(&environment, place.folder.path(), READ);
    assert_eq!(output.trim(), "weights words");
    assert_eq!(
        fs::read_to_string(elsewhere.join("w.bin")).unwrap(),
        "weights"
    );
    // the data is no part of the environment
    request.spec.data.clear();
    assert_eq!(build(&request).0.hash, environment.hash);

    for name in ["..", "a/b", "", ".hidden", "/etc"] {
        request.spec.data = vec![name.into()];
        assert!(missing(&request).to_string().contains("plain name"));
    }
}
