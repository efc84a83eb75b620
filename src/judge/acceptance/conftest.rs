//! A `conftest.py` that cannot be imported: nothing is collected, and all that tells why is what the
//! runner printed.

use std::fmt;

use super::hollow::QUOTED;
use crate::domain::case::CaseDetail;

/// What the story of a whole collection is kept under.
pub const WHOLE: &str = ".";

/// How the runner begins to tell of it.
const HEAD: &str = "while loading conftest '";

/// For evidence only, in untrusted words: no outcome comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConftestFailure<'a> {
    file: &'a str,
    error: String,
    /// Where it was raised: file, line, function.
    raised: (&'a str, usize, &'a str),
}

impl ConftestFailure<'_> {
    /// Whether tests of this file cannot do without it.
    pub fn binds(&self, file: &str) -> bool {
        let folder = self.file.rsplit_once('/').map(|(folder, _)| folder);
        folder.is_none_or(|folder| {
            let rest = file.strip_prefix(folder);
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

impl fmt::Display for ConftestFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line, function) = self.raised;
        let (file, error) = (self.file, &self.error);
        write!(f, "{file}: {error} ({path}:{line} in {function})")
    }
}

/// Of the story of a collection that ended before it had begun.
pub(super) fn conftest_failure(detail: &CaseDetail) -> Option<ConftestFailure<'_>> {
    if detail.id != WHOLE {
        return None;
    }
    let (_, text) = (detail.sections.iter()).find(|(_, text)| text.contains(HEAD))?;
    let told = text.split_once(HEAD)?.1;
    let absolute = told.split('\'').next()?;
    let places = || told.lines().filter_map(printed_place);
    let own = |path: &&str| {
        absolute
            .strip_suffix(*path)
            .is_some_and(|p| p.ends_with('/'))
    };
    let file = places().map(|(path, _, _)| path).find(own)?;
    let error = told.lines().filter_map(|line| line.strip_prefix("E   "));
    let first = error.map(str::trim).find(|line| !line.is_empty());
    Some(ConftestFailure {
        file,
        error: first.unwrap_or_default().chars().take(QUOTED).collect(),
        raised: places().next_back()?,
    })
}

/// `path:line: in function`, as the runner prints a frame.
pub fn printed_place(line: &str) -> Option<(&str, usize, &str)> {
    let (place, function) = line.split_once(": in ")?;
    let (path, line) = place.rsplit_once(':')?;
    Some((path, line.parse().ok()?, function))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn story(id: &str, text: &str) -> CaseDetail {
        CaseDetail {
            id: id.into(),
            rank: 0,
            traceback: String::new(),
            frames: Vec::new(),
            sections: vec![("stderr".into(), text.into())],
        }
    }

    const TEXT: &str = "noise\nImportError while loading conftest '/workspace/t/sub/conftest.py'.\nt/sub/conftest.py:2: in <module>\n    import a\na.py:7: in make\n    b()\nE   ValueError: no b\nE   more";

    #[test]
    fn a_conftest_that_cannot_be_imported_is_named_with_error_and_place() {
        let story = story(WHOLE, TEXT);
        let failure = conftest_failure(&story).expect("it is told");
        let words = "t/sub/conftest.py: ValueError: no b (a.py:7 in make)";
        assert_eq!(failure.to_string(), words);
        assert!(failure.binds("t/sub/test_a.py") && failure.binds("t/sub/x/test_a.py"));
        assert!(!failure.binds("t/test_a.py") && !failure.binds("t/subway/test_a.py"));
    }

    #[test]
    fn other_stories_name_none() {
        assert_eq!(conftest_failure(&story("t/test_a.py", TEXT)), None);
        assert_eq!(conftest_failure(&story(WHOLE, "killed")), None);
        let cut = "ImportError while loading conftest '/workspace/t/conftest.py'.";
        assert_eq!(conftest_failure(&story(WHOLE, cut)), None);
    }
}
