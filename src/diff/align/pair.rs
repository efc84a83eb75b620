//! Which part of one tree stands for which of the other.

use std::collections::{BTreeMap, HashMap};

use super::run::{At, How};
use super::sketch::{KEPT, Sketch, name_likeness};
use super::unit::{SourceFile, UnitKind};

/// A shingle that more parts of a side have says nothing of any of them.
const COMMON: u32 = 12;
/// Likeness, in thousandths: of the text alone, and together with what the names add.
const LEAST: u32 = 120;
const ENOUGH: u32 = 300;
/// Whole files, and the rest of modules, have no name to speak for them.
const ENOUGH_NAMELESS: u32 = 400;
/// What equal names add; names that share words add their share of it.
const NAME: u32 = 200;
/// Shorter texts (in shingles) are alike by chance.
const SHORTEST: usize = 8;
/// Parts of one name on either side that are compared each with each.
const NAMESAKES: usize = 48;

/// A part's place: two parts of a tree never have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a> {
    pub path: &'a str,
    pub kind: UnitKind,
    pub name: &'a str,
    /// Counts what has the same name.
    pub nth: u32,
}

/// One tree.
pub struct Half<'a> {
    pub files: &'a [SourceFile],
    pub keys: Vec<(Key<'a>, At)>,
}

impl<'a> Half<'a> {
    pub fn new(files: &'a [SourceFile]) -> Self {
        let mut seen: HashMap<(&str, UnitKind, &str), u32> = HashMap::new();
        let mut keys = Vec::new();
        for (file, source) in files.iter().enumerate() {
            for (unit, part) in source.units.iter().enumerate() {
                let nth = seen
                    .entry((&source.path, part.kind, &part.name))
                    .or_default();
                let key = Key {
                    path: &source.path,
                    kind: part.kind,
                    name: &part.name,
                    nth: *nth,
                };
                *nth += 1;
                keys.push((key, At { file, unit }));
            }
        }
        Self { files, keys }
    }

    fn sketch(&self, at: usize) -> Sketch {
        let at = self.keys[at].1;
        let file = &self.files[at.file];
        Sketch::new(file.lines_of(at.unit).map(|s| s.text(&file.text)))
    }

    fn same(&self, at: usize, other: &Half<'_>, theirs: usize) -> bool {
        let (mine, theirs) = (self.keys[at].1, other.keys[theirs].1);
        let (file, theirs_file) = (&self.files[mine.file], &other.files[theirs.file]);
        file.same(mine.unit, theirs_file, theirs.unit)
    }
}

/// The state of the search: what has found its partner.
pub struct Search<'a, 'h> {
    left: &'h Half<'a>,
    right: &'h Half<'a>,
    /// By index of the left keys; and whether a right one is taken.
    pub found: Vec<Option<(usize, How)>>,
    pub taken: Vec<bool>,
    sketches: [HashMap<usize, Sketch>; 2],
}

/// A possible pair: its likeness and both indices.
type Candidate = (u32, usize, usize);

impl<'a, 'h> Search<'a, 'h> {
    pub fn new(left: &'h Half<'a>, right: &'h Half<'a>) -> Self {
        Self {
            left,
            right,
            found: vec![None; left.keys.len()],
            taken: vec![false; right.keys.len()],
            sketches: Default::default(),
        }
    }

    pub fn run(&mut self) {
        self.by_place();
        self.sketch_the_rest();
        self.by_name();
        self.by_text();
        self.by_likeness();
    }

    fn by_place(&mut self) {
        let places: HashMap<Key<'a>, usize> = self
            .right
            .keys
            .iter()
            .enumerate()
            .map(|(at, (key, _))| (*key, at))
            .collect();
        for (at, (key, _)) in self.left.keys.iter().enumerate() {
            if let Some(theirs) = places.get(key) {
                self.found[at] = Some((*theirs, How::Place));
                self.taken[*theirs] = true;
            }
        }
    }

    fn free(&self) -> (Vec<usize>, Vec<usize>) {
        let left = (0..self.found.len()).filter(|at| self.found[*at].is_none());
        let right = (0..self.taken.len()).filter(|at| !self.taken[*at]);
        (left.collect(), right.collect())
    }

    fn sketch_the_rest(&mut self) {
        let (left, right) = self.free();
        if left.is_empty() || right.is_empty() {
            return;
        }
        let sketch = |half: &Half<'_>, all: Vec<usize>| {
            all.into_iter().map(|at| (at, half.sketch(at))).collect()
        };
        self.sketches = [sketch(self.left, left), sketch(self.right, right)];
    }

    fn likeness(&self, left: usize, right: usize) -> u32 {
        let [mine, theirs] = &self.sketches;
        match (mine.get(&left), theirs.get(&right)) {
            (Some(a), Some(b)) => a.likeness(b),
            _ => 0,
        }
    }

    /// The same qualified name in another file; of several, the most alike.
    fn by_name(&mut self) {
        let named = |kind| matches!(kind, UnitKind::Function | UnitKind::Class);
        let (left, right) = self.free();
        let mut names: BTreeMap<(UnitKind, &str), [Vec<usize>; 2]> = BTreeMap::new();
        for (side, half, all) in [(0, self.left, left), (1, self.right, right)] {
            for at in all {
                let key = half.keys[at].0;
                if named(key.kind) {
                    names.entry((key.kind, key.name)).or_default()[side].push(at);
                }
            }
        }
        let mut candidates = Vec::new();
        for [left, right] in names.into_values() {
            if left.len() > NAMESAKES || right.len() > NAMESAKES {
                continue;
            }
            for a in &left {
                candidates.extend(right.iter().map(|b| (self.likeness(*a, *b), *a, *b)));
            }
        }
        self.take(candidates, |_| How::Name);
    }

    /// The same text under another name.
    fn by_text(&mut self) {
        let (left, right) = self.free();
        let mut texts: HashMap<(UnitKind, &[u64]), Vec<usize>> = HashMap::new();
        for at in right {
            let sketch = self.sketches[1].get(&at);
            if let Some(sketch) = sketch.filter(|s| s.len() >= SHORTEST) {
                let key = (self.right.keys[at].0.kind, sketch.hashes());
                texts.entry(key).or_default().push(at);
            }
        }
        let mut candidates = Vec::new();
        for at in left {
            let Some(sketch) = self.sketches[0].get(&at) else {
                continue;
            };
            let kind = self.left.keys[at].0.kind;
            let Some(same) = texts.get(&(kind, sketch.hashes())) else {
                continue;
            };
            // copies of one text are no different from one another
            for theirs in same.iter().take(NAMESAKES) {
                if self.left.same(at, self.right, *theirs) {
                    candidates.push((1000, at, *theirs));
                }
            }
        }
        self.take(candidates, How::Likeness);
    }

    fn by_likeness(&mut self) {
        let (left, right) = self.free();
        let mut counts: HashMap<u64, [u32; 2]> = HashMap::new();
        for (side, all) in [&left, &right].into_iter().enumerate() {
            for sketch in all.iter().filter_map(|at| self.sketches[side].get(at)) {
                for hash in sketch.hashes() {
                    counts.entry(*hash).or_default()[side] += 1;
                }
            }
        }
        let telling = |hash: &u64| {
            counts
                .get(hash)
                .is_some_and(|[a, b]| (1..=COMMON).contains(a) && (1..=COMMON).contains(b))
        };
        let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
        for at in &right {
            let hashes = self.sketches[1].get(at).map_or(&[][..], Sketch::hashes);
            for hash in hashes.iter().filter(|h| telling(h)) {
                holders.entry(*hash).or_default().push(*at);
            }
        }
        let mut candidates = Vec::new();
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for at in left {
            let Some(sketch) = self.sketches[0].get(&at) else {
                continue;
            };
            shared.clear();
            for hash in sketch.hashes() {
                for theirs in holders.get(hash).into_iter().flatten() {
                    *shared.entry(*theirs).or_default() += 1;
                }
            }
            for (theirs, count) in &shared {
                let other = self.sketches[1].get(theirs).map_or(0, Sketch::len);
                let shorter = sketch.len().min(other).min(KEPT);
                // few shared ones are not worth a closer look: this bounds the cost
                if shorter >= SHORTEST && *count >= (shorter / 12).max(2) {
                    candidates.extend(self.candidate(at, *theirs));
                }
            }
        }
        self.take(candidates, How::Likeness);
    }

    fn candidate(&self, left: usize, right: usize) -> Option<Candidate> {
        let (a, b) = (self.left.keys[left].0, self.right.keys[right].0);
        if a.kind != b.kind {
            return None;
        }
        let text = self.likeness(left, right);
        let dunder = a.name.ends_with("__") || b.name.ends_with("__");
        let (names, enough) = match a.kind {
            UnitKind::Function | UnitKind::Class if dunder => (0, ENOUGH),
            UnitKind::Function | UnitKind::Class => {
                (name_likeness(a.name, b.name) * NAME / 1000, ENOUGH)
            }
            UnitKind::Rest | UnitKind::File => (0, ENOUGH_NAMELESS),
        };
        let score = (text + names).min(1000);
        (text >= LEAST && score >= enough).then_some((score, left, right))
    }

    /// The best candidates first, each part once. Ties go by the parts' places, in a way that is
    /// the same when the sides are swapped.
    fn take(&mut self, mut candidates: Vec<Candidate>, how: impl Fn(u32) -> How) {
        candidates.sort_by_cached_key(|(score, a, b)| {
            let (a, b) = (self.left.keys[*a].0, self.right.keys[*b].0);
            (std::cmp::Reverse(*score), a.min(b), a.max(b))
        });
        for (score, left, right) in candidates {
            if self.found[left].is_none() && !self.taken[right] {
                self.found[left] = Some((right, how(score)));
                self.taken[right] = true;
            }
        }
    }
}
