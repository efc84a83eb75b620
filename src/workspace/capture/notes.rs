//! What is told beside the patch: bounded, and one note for many things of one kind.

use std::collections::BTreeMap;

use super::leftout::Size;
use crate::diff::patch::show;
use crate::domain::CaptureNote;

/// Notes that are listed.
const MOST: usize = 200;
/// Places that one rule may name one by one; with more they become one note.
const SINGLE: usize = 4;
/// Characters of a path.
const MOST_PATH: usize = 400;

/// Kinds in the order in which they are listed: what a reader must know first.
const ORDER: [&str; 8] = [
    "stash",
    "commits",
    "nested-repository",
    "large",
    "outward-link",
    "odd",
    "ignored",
    "cache",
];

#[derive(Default)]
pub(super) struct Notes {
    single: Vec<CaptureNote>,
    /// What a rule left out: by kind and rule.
    left: BTreeMap<(&'static str, String), Vec<Place>>,
}

struct Place {
    path: String,
    is_folder: bool,
    size: Size,
}

impl Notes {
    pub(super) fn add(&mut self, path: &[u8], kind: &str, detail: String) {
        self.single.push(CaptureNote {
            path: shown(path),
            kind: kind.into(),
            detail,
        });
    }

    /// Left out by a rule; `rule` in words.
    pub(super) fn left_out(
        &mut self,
        kind: &'static str,
        rule: &str,
        path: &[u8],
        is_folder: bool,
        size: Size,
    ) {
        let places = self.left.entry((kind, rule.to_owned())).or_default();
        places.push(Place {
            path: shown(path),
            is_folder,
            size,
        });
    }

    /// What is listed, and how many more there are.
    pub(super) fn finish(self) -> (Vec<CaptureNote>, usize) {
        let mut all = self.single;
        for ((kind, rule), places) in self.left {
            let kind = kind.to_owned();
            if places.len() <= SINGLE {
                all.extend(places.into_iter().map(|place| CaptureNote {
                    detail: if place.is_folder {
                        format!("{rule}: {}", place.size.words())
                    } else {
                        format!("{rule}: {}", super::leftout::bytes(place.size.bytes))
                    },
                    path: place.path,
                    kind: kind.clone(),
                }));
                continue;
            }
            let mut size = Size::default();
            for place in &places {
                size.add(place.size);
            }
            all.push(CaptureNote {
                detail: format!("{rule}: {} places, {}", places.len(), size.words()),
                path: format!("{}, …", places[0].path),
                kind,
            });
        }
        let rank = |note: &CaptureNote| ORDER.iter().position(|k| *k == note.kind);
        all.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.path.cmp(&b.path)));
        let more = all.len().saturating_sub(MOST);
        all.truncate(MOST);
        (all, more)
    }
}

/// A path of the work tree; `.` for the tree itself.
fn shown(path: &[u8]) -> String {
    if path.is_empty() {
        return ".".into();
    }
    let text = show(path);
    match text.char_indices().nth(MOST_PATH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
