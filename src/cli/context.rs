//! What every subcommand works on.

use std::path::PathBuf;

use super::args::Cli;
use super::exit::Failure;
use crate::catalog::Catalog;
use crate::store::{Home, RunDir};
use crate::workspace::Mirrors;

pub struct Context {
    home: PathBuf,
    tasks: PathBuf,
}

impl Context {
    pub fn new(cli: &Cli) -> Self {
        Self {
            home: cli.home.clone(),
            tasks: cli.tasks.clone(),
        }
    }

    /// Where the home is or would be.
    pub fn home_path(&self) -> &std::path::Path {
        &self.home
    }

    pub fn home(&self) -> Result<Home, Failure> {
        Home::open(&self.home).map_err(|e| {
            Failure::input(format!(
                "{e}; give a folder that can be written with --home DIR"
            ))
        })
    }

    /// Where mirrors of repositories are looked for; makes no home.
    pub fn mirrors(&self) -> Mirrors {
        Mirrors::from_env(Home::there(&self.home).map(|home| home.mirrors()))
    }

    pub fn catalog(&self) -> Result<Catalog, Failure> {
        Ok(Catalog::open(&self.tasks)?)
    }

    /// Where tasks are looked for, absolute where it exists.
    pub fn tasks_dir(&self) -> PathBuf {
        self.tasks
            .canonicalize()
            .unwrap_or_else(|_| self.tasks.clone())
    }

    /// The named run, or the newest.
    pub fn run(&self, id: Option<&str>) -> Result<(Home, RunDir), Failure> {
        let home = self.home()?;
        let run = match id {
            Some(id) => home.find(id)?,
            None => home
                .list()?
                .pop()
                .ok_or_else(|| Failure::input("there is no run yet; `infradev grade` makes one"))?,
        };
        Ok((home, run))
    }
}

/// Who works here, as a review names them.
pub fn user() -> String {
    let uid = nix::unistd::getuid();
    match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => user.name,
        _ => format!("uid {uid}"),
    }
}
