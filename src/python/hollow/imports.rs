//! What a module's imports bring in.

use std::collections::HashMap;

use crate::python::symbols::{Module, children};

/// A module as an import names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Its path, without an end.
    pub stem: String,
    /// From the tree's root; else from wherever Python begins to look.
    pub exact: bool,
}

impl Target {
    pub fn below(&self, name: &str) -> Self {
        let stem = match self.stem.as_str() {
            "" => name.to_owned(),
            stem => format!("{stem}/{name}"),
        };
        Self {
            stem,
            exact: self.exact,
        }
    }
}

/// What stands behind an imported name.
pub(super) enum Wanted<'n> {
    Module(Target),
    /// A name of a module, or a module below it.
    Name(Target, &'n str),
}

#[derive(Default)]
pub(super) struct Imports<'n> {
    names: HashMap<&'n str, Vec<(Target, Option<&'n str>)>>,
    /// Modules of which every name is taken.
    stars: Vec<Target>,
}

impl<'n> Imports<'n> {
    /// Those of a module, wherever they stand in it.
    pub fn of(path: &str, module: &'n Module<'_>) -> Self {
        let mut found = Self::default();
        let mut stack = vec![module.root()];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "import_statement" => {
                    for child in children(node) {
                        let dotted = match child.kind() {
                            "aliased_import" => module.field(child, "name"),
                            "dotted_name" => module.source(child),
                            _ => continue,
                        };
                        // without another name it is the first part that is bound
                        let (name, means) = match module.field(child, "alias") {
                            "" => {
                                let first = dotted.split('.').next().unwrap_or(dotted);
                                (first, first)
                            }
                            alias => (alias, dotted),
                        };
                        found.add(name, absolute(means), None);
                    }
                }
                "import_from_statement" => {
                    let target = target(path, module.field(node, "module_name"));
                    let from = node.child_by_field_name("module_name");
                    for child in children(node) {
                        let (name, original) = match child.kind() {
                            "wildcard_import" => {
                                found.stars.push(target.clone());
                                continue;
                            }
                            "aliased_import" => {
                                (module.field(child, "alias"), module.field(child, "name"))
                            }
                            "dotted_name" if Some(child) != from => {
                                (module.source(child), module.source(child))
                            }
                            _ => continue,
                        };
                        found.add(name, target.clone(), Some(original));
                    }
                }
                _ => stack.extend(children(node)),
            }
        }
        found
    }

    fn add(&mut self, name: &'n str, target: Target, original: Option<&'n str>) {
        self.names.entry(name).or_default().push((target, original));
    }

    /// Where a name may come from.
    pub fn of_name<'s>(&'s self, name: &'s str) -> Vec<Wanted<'s>> {
        let known = self.names.get(name).into_iter().flatten();
        let mut all: Vec<Wanted<'s>> = known
            .map(|(target, original)| match original {
                None => Wanted::Module(target.clone()),
                Some(original) => Wanted::Name(target.clone(), original),
            })
            .collect();
        if all.is_empty() {
            let stars = self.stars.iter();
            all.extend(stars.map(|target| Wanted::Name(target.clone(), name)));
        }
        all
    }
}

fn absolute(dotted: &str) -> Target {
    Target {
        stem: dotted.replace('.', "/"),
        exact: false,
    }
}

/// `.a.b` from the module at `path`.
fn target(path: &str, words: &str) -> Target {
    let dotted = words.trim_start_matches('.');
    let dots = words.len() - dotted.len();
    if dots == 0 {
        return absolute(dotted);
    }
    let mut folder = path;
    for _ in 0..dots {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
    }
    let here = Target {
        stem: folder.to_owned(),
        exact: true,
    };
    match dotted {
        "" => here,
        dotted => here.below(&dotted.replace('.', "/")),
    }
}
