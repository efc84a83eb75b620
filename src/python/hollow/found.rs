//! Functions that raise while tests are collected, by the places of a traceback.

use std::collections::BTreeMap;

use super::RAISES;
use super::lambdas::{THROWS, outer};
use super::run::{Hollow, Raised};
use crate::python::encoding::Source;
use crate::python::symbols::Module;

/// Functions that keep their body because a run told that importing needs it: path and qualified
/// name, and the place from which they were called.
pub type Works = BTreeMap<(String, String), String>;

/// Those of hollow's functions that raised at one of these places: path in the tree, and line of
/// the hollow file.
pub fn raised_in<'h>(hollow: &'h Hollow, places: &[(String, usize)]) -> Vec<&'h Raised> {
    let mut found: Vec<&Raised> = Vec::new();
    for (path, line) in places {
        let Some(bytes) = hollow.files.get(path) else {
            continue;
        };
        let Ok(source) = Source::decode(bytes) else {
            continue;
        };
        let own = source.text.lines().nth(line.saturating_sub(1));
        if !own.is_some_and(|l| l.contains(RAISES) || l.contains(THROWS)) {
            continue;
        }
        let Ok(module) = Module::parse(&source.text) else {
            continue;
        };
        let line_of = |at: usize| source.text[..at].matches('\n').count() + 1;
        let function = outer(&module).into_iter().find(|f| {
            let (from, to) = (line_of(f.signature.start), line_of(f.body.end));
            (from..=to).contains(line)
        });
        let Some(function) = function else { continue };
        let raised = hollow.raised.iter();
        found.extend(
            raised
                .filter(|r| r.path == *path && r.function == function.name)
                .filter(|r| !found.contains(r))
                .collect::<Vec<_>>(),
        );
    }
    found
}
