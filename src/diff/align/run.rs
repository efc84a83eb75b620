//! The parts that either change touches, beside each other.

use std::collections::HashMap;

use super::pair::{Half, Key, Search};
use super::unit::SourceFile;

/// Where a part stands: indices of the file in its tree and of the part in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    pub file: usize,
    pub unit: usize,
}

/// What makes two parts a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// The same name in the same file.
    Place,
    /// The same qualified name in another file.
    Name,
    /// Likeness in thousandths: of the text, and a little of the name.
    Likeness(u32),
}

/// Which change touches a part, against base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touched {
    Left,
    Right,
    Both,
}

impl Touched {
    pub fn of(left: bool, right: bool) -> Option<Self> {
        Some(match (left, right) {
            (true, true) => Self::Both,
            (true, false) => Self::Left,
            (false, true) => Self::Right,
            (false, false) => return None,
        })
    }

    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
            Self::Both => Self::Both,
        }
    }
}

/// A pair, or a part without a counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligned {
    pub left: Option<At>,
    pub right: Option<At>,
    /// `None`: one of them is missing.
    pub how: Option<How>,
    pub touched: Touched,
}

/// Aligns the files that either change touches, each as it is in base and on both sides; files
/// that a tree does not have are left out of it. Pairs come first, then what only the left has,
/// then what only the right has, each in the order of paths and lines. What neither change
/// touches is left out.
pub fn align(base: &[SourceFile], left: &[SourceFile], right: &[SourceFile]) -> Vec<Aligned> {
    let (base, left, right) = (Half::new(base), Half::new(left), Half::new(right));
    let mut search = Search::new(&left, &right);
    search.run();
    let before: HashMap<Key<'_>, At> = base.keys.iter().copied().collect();
    let changed = |half: &Half<'_>, key: &Key<'_>, at: At| {
        before
            .get(key)
            .is_none_or(|was| !half.files[at.file].same(at.unit, &base.files[was.file], was.unit))
    };
    let mut found = Vec::new();
    for (index, partner) in search.found.iter().enumerate() {
        let (key, at) = left.keys[index];
        let theirs = partner.map(|(theirs, how)| (right.keys[theirs], how));
        let touched = match &theirs {
            Some(((other, there), _)) => {
                Touched::of(changed(&left, &key, at), changed(&right, other, *there))
            }
            // it was there: the other change took it away
            None => Touched::of(changed(&left, &key, at), before.contains_key(&key)),
        };
        if let Some(touched) = touched {
            found.push(Aligned {
                left: Some(at),
                right: theirs.map(|((_, there), _)| there),
                how: theirs.map(|(_, how)| how),
                touched,
            });
        }
    }
    for (index, (key, at)) in right.keys.iter().enumerate() {
        if search.taken[index] {
            continue;
        }
        let touched = Touched::of(before.contains_key(key), changed(&right, key, *at));
        if let Some(touched) = touched {
            found.push(Aligned {
                left: None,
                right: Some(*at),
                how: None,
                touched,
            });
        }
    }
    let place = |half: &Half<'_>, at: At| {
        let file = &half.files[at.file];
        (file.path.clone(), file.first_line(at.unit))
    };
    found.sort_by_cached_key(|a| match (a.left, a.right) {
        (Some(at), Some(_)) => (0, place(&left, at)),
        (Some(at), None) => (1, place(&left, at)),
        (None, at) => (2, at.map(|at| place(&right, at)).unwrap_or_default()),
    });
    found
}

/// Which removed file became which added one, by the likeness of their texts: indices of both.
/// The paths of the two must differ.
pub fn renames(removed: &[SourceFile], added: &[SourceFile]) -> Vec<(usize, usize)> {
    let (left, right) = (Half::new(removed), Half::new(added));
    let mut search = Search::new(&left, &right);
    search.run();
    let pairs = search.found.iter().enumerate();
    pairs
        .filter_map(|(index, partner)| {
            let (theirs, _) = (*partner)?;
            Some((left.keys[index].1.file, right.keys[theirs].1.file))
        })
        .collect()
}
