//! Variables that are passed by name, and the hosts that some of them hold.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use crate::agent::{HostRule, Hosts};
use crate::domain::AgentSpec;

/// Values of the environment that an agent is given. They are printed by nothing here.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Passed(BTreeMap<String, String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PassError(String);

impl Passed {
    /// Looks up what the adapter passes; `look` is usually [`std::env::var_os`]. One that is not
    /// set or empty is an error, all of them in one, unless its name ends with `?`.
    pub fn resolve(
        spec: &AgentSpec,
        look: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, PassError> {
        let mut values = BTreeMap::new();
        let mut missing = Vec::new();
        for entry in &spec.env.pass {
            let (name, needed) = split(entry);
            match look(name).map(OsString::into_string) {
                Some(Ok(value)) if !value.is_empty() => {
                    values.insert(name.to_owned(), value);
                }
                Some(Err(_)) => {
                    let message = format!("the variable {name} is not UTF-8; set it anew");
                    return Err(PassError(message));
                }
                _ if needed => missing.push(name),
                _ => {}
            }
        }
        if missing.is_empty() {
            return Ok(Self(values));
        }
        let (are, them) = if missing.len() == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        Err(PassError(format!(
            "agent {} is passed {}, which {are} not set: export {them} where you start the run, or drop {them} from `pass` in {}.toml",
            spec.name,
            missing.join(", "),
            spec.name
        )))
    }

    /// Names of what is passed, sorted.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// For the sandbox, and for nothing that is written down.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl fmt::Debug for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Passed").field(&self.names()).finish()
    }
}

/// Name of an entry of `pass`, and whether it must be set.
pub(super) fn split(entry: &str) -> (&str, bool) {
    match entry.strip_suffix('?') {
        Some(name) => (name, false),
        None => (entry, true),
    }
}

/// The variable of `${NAME}`.
pub(super) fn variable(host: &str) -> Option<&str> {
    host.strip_prefix("${")?.strip_suffix('}')
}

/// The adapter's hosts; `${NAME}` is the host in that variable, and nothing where that is not set.
pub fn allow_list(spec: &AgentSpec, passed: &Passed) -> Result<Hosts, PassError> {
    let mut rules = Vec::new();
    for host in &spec.network.hosts {
        let rule = match variable(host) {
            None => HostRule::parse(host).map_err(PassError)?,
            Some(name) => {
                let value = passed.0.get(name).or_else(|| spec.env.set.get(name));
                let Some(value) = value else { continue };
                // the value may hold a password
                HostRule::of_url(value).ok_or_else(|| {
                    PassError(format!(
                        "the variable {name} holds no address with a host (https://host/path, host:port)"
                    ))
                })?
            }
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    Ok(Hosts::new(rules))
}
