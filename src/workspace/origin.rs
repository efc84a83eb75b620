//! Where a task's commits come from: a repository on this machine, or a mirror of one elsewhere.
//!
//! Nothing is fetched. What is not here is said with the commands that bring it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::Absent;
use crate::domain::{Address, Task};

const VARIABLE: &str = "INFRADEV_MIRRORS";

/// The folders in which mirrors lie, in the order in which they are looked at.
#[derive(Clone, Debug)]
pub struct Mirrors {
    folders: Vec<PathBuf>,
}

impl Mirrors {
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// Those of `INFRADEV_MIRRORS` (separated by colons), then the home's.
    pub fn from_env(home: Option<PathBuf>) -> Self {
        let listed = std::env::var_os(VARIABLE).unwrap_or_default();
        let listed = std::env::split_paths(&listed).filter(|folder| !folder.as_os_str().is_empty());
        // absolute: a message may be read in another folder
        let absolute = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
        Self::new(listed.chain(home).map(absolute).collect())
    }

    /// The mirrors of a repository that are here. A look at the folders, no repository is opened.
    fn find(&self, address: &Address) -> Vec<PathBuf> {
        let names = names(address);
        self.folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)))
            // bare, or a clone with its work tree
            .filter(|place| place.join("HEAD").is_file() || place.join(".git").exists())
            .collect()
    }
}

/// The names under which a mirror is found in a folder; the first is the one for a new mirror.
fn names(address: &Address) -> [String; 4] {
    let Address {
        host, owner, name, ..
    } = address;
    let flat = owner.replace('/', "+");
    [
        format!("{host}/{owner}/{name}.git"),
        format!("{owner}/{name}.git"),
        format!("{flat}+{name}.git"),
        format!("{flat}+{name}"),
    ]
}

/// A repository, and the commits that a task needs of it.
#[derive(Clone, Debug)]
pub struct Origin {
    place: Place,
    /// "base" or "gold", and the full id.
    needs: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
enum Place {
    Here(PathBuf),
    Elsewhere(Address, Mirrors),
}

impl Origin {
    /// A repository at a path of this machine.
    pub fn here(path: &Path) -> Self {
        Self {
            place: Place::Here(path.to_path_buf()),
            needs: Vec::new(),
        }
    }

    /// The source of a task; `None` where base is a folder of the task.
    pub fn of(task: &Task, mirrors: &Mirrors) -> Option<Self> {
        let spec = &task.spec;
        let git = spec.source.git.as_deref()?;
        let mut origin = Self::new(git, mirrors);
        let commits = [
            ("base", &spec.source.base_commit),
            ("gold", &spec.gold.commit),
        ];
        origin.needs = commits
            .into_iter()
            .filter_map(|(what, commit)| Some((what, commit.as_ref()?.to_ascii_lowercase())))
            .collect();
        Some(origin)
    }

    /// A path or a URL, as `[source] git` holds it.
    fn new(git: &str, mirrors: &Mirrors) -> Self {
        match Address::parse(git) {
            Some(Ok(address)) => Self {
                place: Place::Elsewhere(address, mirrors.clone()),
                needs: Vec::new(),
            },
            // an address that is none is an error of the task, said when it is loaded
            Some(Err(_)) | None => Self::here(Path::new(git)),
        }
    }

    /// The repositories to look into, best first; none: no mirror is here.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        match &self.place {
            Place::Here(path) => vec![path.clone()],
            Place::Elsewhere(address, mirrors) => mirrors.find(address),
        }
    }

    /// In two words, where the repository is not on this machine; as cheap as a look at a folder.
    pub fn missing(&self) -> Option<&'static str> {
        match &self.place {
            Place::Here(path) => (!path.exists()).then_some("no repository"),
            Place::Elsewhere(..) => self.places().is_empty().then_some("no mirror"),
        }
    }

    /// What is wrong where no mirror is here.
    pub(super) fn no_mirror(&self, commit: &str) -> Absent {
        let needs = Needs::of(self, commit);
        let Place::Elsewhere(address, mirrors) = &self.place else {
            return self.absent(format!("no repository has {needs}"), Vec::new());
        };
        let folders: Vec<String> = mirrors.folders.iter().map(|f| shown(f)).collect();
        let what = format!(
            "no mirror of {} is on this machine; needed are {needs}; looked in {} for {}",
            address.url,
            folders.join(", "),
            names(address).join(", ")
        );
        let folder = mirrors.folders.first().cloned().unwrap_or_default();
        let place = folder.join(&names(address)[0]);
        let commands = vec![
            format!("git init --bare {}", word(&place)),
            needs.fetch(&place, "--depth 1 ", &address.url),
        ];
        self.absent(what, commands)
    }

    /// What is wrong where a repository is here and lacks something. `remote`: whence it was
    /// cloned, where the task does not say.
    pub(super) fn lacking(&self, place: &Path, remote: &str, lacks: &Lacks<'_>) -> Absent {
        let needs = Needs::of(self, lacks.commit);
        let (url, whose) = match &self.place {
            Place::Elsewhere(address, _) => {
                (&*address.url, format!(" (a mirror of {})", address.url))
            }
            Place::Here(_) => (remote, String::new()),
        };
        let place_shown = shown(place);
        // a depth would cut the history of a clone that has one
        let depth = if lacks.shallow { "--depth 1 " } else { "" };
        let commit = needs.name(lacks.commit);
        let (what, options) = match lacks.object {
            None => (format!("lacks {commit}"), depth.to_owned()),
            // objects that git takes to be there come only when all are asked for again
            Some(object) => (
                format!("is not whole: {object} of {commit} is missing"),
                format!("--no-filter --refetch {depth}"),
            ),
        };
        let what = format!("{place_shown}{whose} {what}; needed are {needs}");
        self.absent(what, vec![needs.fetch(place, &options, url)])
    }

    fn absent(&self, what: String, commands: Vec<String>) -> Absent {
        Absent {
            what,
            commands,
            elsewhere: matches!(self.place, Place::Elsewhere(..)),
        }
    }
}

/// The commits that one fetch brings: what the task needs, never without the one that is asked for.
struct Needs(Vec<(&'static str, String)>);

impl Needs {
    fn of(origin: &Origin, commit: &str) -> Self {
        let mut needs = origin.needs.clone();
        if needs.iter().all(|(_, id)| id != commit) {
            needs.push(("commit", commit.to_owned()));
        }
        Self(needs)
    }

    fn name(&self, commit: &str) -> String {
        let found = self.0.iter().find(|(_, id)| id == commit);
        format!("{} {commit}", found.map_or("commit", |(what, _)| what))
    }

    fn fetch(&self, place: &Path, options: &str, url: &str) -> String {
        let ids: Vec<&str> = self.0.iter().map(|(_, id)| id.as_str()).collect();
        format!(
            "git -C {} fetch {options}{url} {}",
            word(place),
            ids.join(" ")
        )
    }
}

/// `base <id> and gold <id>`.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self
            .0
            .iter()
            .map(|(what, id)| format!("{what} {id}"))
            .collect();
        f.write_str(&words.join(" and "))
    }
}

/// What a repository does not have.
pub(super) struct Lacks<'a> {
    pub(super) commit: &'a str,
    /// Where the commit is there: the object below it that is not, in words.
    pub(super) object: Option<&'a str>,
    /// The repository holds no history that a fetch with a depth could cut.
    pub(super) shallow: bool,
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A path as one word of a shell.
fn word(path: &Path) -> String {
    let text = shown(path);
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
