//! The suites of a task, and what they leave out.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::class::Class;
use super::find::{Assertion, Assertions, assertions};
use super::helpers::Helper;
use crate::domain::task::{ClaimKind, Kind};
use crate::domain::{Suite, TaskSpec};
use crate::python::code::code;
use crate::python::files::Files;
use crate::python::hollow::Unparsed;
use crate::python::symbols::Module;

/// What is audited: the suites' files by their place in the work tree, and base's own tests.
pub struct AuditInput<'a> {
    pub spec: &'a TaskSpec,
    pub official: &'a Files,
    pub probes: &'a Files,
    pub base_tests: &'a Files,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Audit {
    pub suites: Vec<SuiteAudit>,
    pub flags: Vec<Flag>,
    /// The claims that promise a saving, and what measures it.
    pub savings: Vec<SavingClaim>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteAudit {
    pub suite: Suite,
    pub all: Counts,
    /// Tests that base does not have, or has otherwise: those that came with the change.
    pub of_the_change: Counts,
    pub assertions: Vec<SuiteAssertion>,
    pub helpers: Vec<Helper>,
    /// Tests without an assertion, as `path::name`: they only ask that nothing is raised.
    pub without: Vec<String>,
    pub unparsed: Vec<Unparsed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteAssertion {
    #[serde(flatten)]
    pub assertion: Assertion,
    /// Its test came with the change.
    pub of_the_change: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub tests: usize,
    pub assertions: usize,
    /// By class; every class has its number.
    pub classes: BTreeMap<&'static str, usize>,
}

impl Counts {
    pub fn of(&self, class: Class) -> usize {
        self.classes.get(class.name()).copied().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    NoNumericalAssertion,
    PromisedSavingUnmeasured,
}

impl FlagKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::NoNumericalAssertion => "no numerical assertion",
            Self::PromisedSavingUnmeasured => "promised saving unmeasured",
        }
    }
}

/// A weakness of a suite, measured (METHOD.md section 3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flag {
    pub flag: FlagKind,
    pub suite: Suite,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavingClaim {
    pub claim: String,
    pub text: String,
    /// Resource assertions of the probes that are mapped to it, as `path:line`.
    pub measured_by: Vec<String>,
    pub unmeasured: Option<String>,
}

/// Classes the assertions of a task's suites.
pub fn audit(input: &AuditInput<'_>) -> Audit {
    let known = known(input.base_tests);
    let mut suites = Vec::new();
    for (suite, files) in [
        (Suite::Official, input.official),
        (Suite::Probes, input.probes),
    ] {
        if input.spec.suites.get(suite).is_some() {
            suites.push(of_suite(suite, files, &known));
        }
    }
    for suite in &mut suites {
        bounded_savings(input.spec, suite);
    }
    let savings = savings(input.spec, &suites);
    let flags = flags(input.spec, &suites, &savings);
    Audit {
        suites,
        flags,
        savings,
    }
}

/// Base's test functions: by file and name, what they do.
fn known(base_tests: &Files) -> HashMap<(String, String), String> {
    let mut found = HashMap::new();
    for (path, bytes) in base_tests {
        let Ok(text) = std::str::from_utf8(bytes) else {
            continue;
        };
        let Ok(module) = Module::parse(text) else {
            continue;
        };
        for function in module.functions() {
            let code = code(&module, &function);
            found.insert((path.clone(), function.name), code);
        }
    }
    found
}

fn of_suite(suite: Suite, files: &Files, known: &HashMap<(String, String), String>) -> SuiteAudit {
    let Assertions {
        assertions: found,
        helpers,
        tests,
        unparsed,
    } = assertions(files);
    let mut old: HashSet<(&str, String)> = HashSet::new();
    for (path, bytes) in files {
        let Some(module) = std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| Module::parse(text).ok())
        else {
            continue;
        };
        for function in module.functions() {
            let before = known.get(&(path.clone(), function.name.clone()));
            if before.is_some_and(|b| *b == code(&module, &function)) {
                old.insert((path, function.name));
            }
        }
    }
    let is_old = |path: &str, name: &str| old.contains(&(path, name.to_owned()));
    let assertions: Vec<SuiteAssertion> = found
        .into_iter()
        .map(|assertion| SuiteAssertion {
            of_the_change: !is_old(&assertion.path, &assertion.test),
            assertion,
        })
        .collect();
    let asserting: HashSet<(&str, &str)> = assertions
        .iter()
        .map(|a| (a.assertion.path.as_str(), a.assertion.test.as_str()))
        .collect();
    let without = tests
        .iter()
        .filter(|(path, name)| !asserting.contains(&(path, name)))
        .map(|(path, name)| format!("{path}::{}", name.replace('.', "::")))
        .collect();
    let new_tests = tests.iter().filter(|(p, n)| !is_old(p, n)).count();
    SuiteAudit {
        suite,
        all: counts(tests.len(), assertions.iter()),
        of_the_change: counts(new_tests, assertions.iter().filter(|a| a.of_the_change)),
        without,
        helpers,
        unparsed,
        assertions,
    }
}

/// In a probe that is mapped to a promised saving a bound is one of it, whatever its names.
fn bounded_savings(spec: &TaskSpec, suite: &mut SuiteAudit) {
    if suite.suite != Suite::Probes {
        return;
    }
    for one in &mut suite.assertions {
        let a = &mut one.assertion;
        let plain = matches!(a.class, Class::Functional | Class::Numerical);
        let claim = saving_of(spec, a);
        if let Some(claim) = claim.filter(|_| plain && a.bounds) {
            a.why = format!("bounds an amount in a probe of {claim}");
            a.class = Class::Resource;
        }
    }
    suite.all = counts(suite.all.tests, suite.assertions.iter());
    let of_the_change = suite.assertions.iter().filter(|a| a.of_the_change);
    suite.of_the_change = counts(suite.of_the_change.tests, of_the_change);
}

/// The claim of a saving that the assertion's test is mapped to.
fn saving_of<'s>(spec: &'s TaskSpec, a: &Assertion) -> Option<&'s str> {
    let function = format!("{}::{}", a.path, a.test.replace('.', "::"));
    let mut claims = spec.claims.iter().filter(|c| c.kind == ClaimKind::Resource);
    claims
        .find(|c| c.probes.contains(&function))
        .map(|c| c.id.as_str())
}

fn counts<'a>(tests: usize, of: impl Iterator<Item = &'a SuiteAssertion>) -> Counts {
    let mut found = Counts {
        tests,
        assertions: 0,
        classes: Class::ALL.map(|c| (c.name(), 0)).into(),
    };
    for one in of {
        found.assertions += 1;
        *found.classes.entry(one.assertion.class.name()).or_default() += 1;
    }
    found
}

fn looks_at(one: &SuiteAssertion, class: Class) -> bool {
    one.assertion.class == class || one.assertion.also.contains(&class)
}

fn savings(spec: &TaskSpec, suites: &[SuiteAudit]) -> Vec<SavingClaim> {
    let probes = suites.iter().find(|s| s.suite == Suite::Probes);
    let claims = spec.claims.iter().filter(|c| c.kind == ClaimKind::Resource);
    claims
        .map(|claim| {
            let measured_by = probes
                .into_iter()
                .flat_map(|p| &p.assertions)
                .filter(|a| looks_at(a, Class::Resource))
                .filter(|a| {
                    let name = a.assertion.test.replace('.', "::");
                    claim
                        .probes
                        .contains(&format!("{}::{name}", a.assertion.path))
                })
                .map(|a| format!("{}:{}", a.assertion.path, a.assertion.line))
                .collect();
            SavingClaim {
                claim: claim.id.clone(),
                text: claim.text.clone(),
                measured_by,
                unmeasured: claim.unmeasured.clone(),
            }
        })
        .collect()
}

fn flags(spec: &TaskSpec, suites: &[SuiteAudit], savings: &[SavingClaim]) -> Vec<Flag> {
    let mut found = Vec::new();
    for suite in suites {
        // probes are all of the change: base has none of them
        let of = || suite.assertions.iter().filter(|a| a.of_the_change);
        let tests = suite.of_the_change.tests;
        let has = |class| of().any(|a| looks_at(a, class));
        if !has(Class::Numerical) {
            found.push(Flag {
                flag: FlagKind::NoNumericalAssertion,
                suite: suite.suite,
                why: format!("none in the {tests} tests that came with the change"),
            });
        }
        let promises: Vec<&str> = savings.iter().map(|s| s.claim.as_str()).collect();
        let promised = match (promises.is_empty(), spec.kind) {
            (false, _) => format!("promised by {}", promises.join(", ")),
            (true, Kind::Performance) => "a performance change promises one".to_owned(),
            _ => continue,
        };
        let open: Vec<&str> = savings
            .iter()
            .filter(|s| s.measured_by.is_empty() && s.unmeasured.is_none())
            .map(|s| s.claim.as_str())
            .collect();
        let why = if suite.suite == Suite::Probes && !open.is_empty() {
            format!("no resource assertion in the probes of {}", open.join(", "))
        } else if has(Class::Resource) {
            continue;
        } else {
            format!(
                "{promised}; no resource assertion in the {tests} tests that came with the change"
            )
        };
        found.push(Flag {
            flag: FlagKind::PromisedSavingUnmeasured,
            suite: suite.suite,
            why,
        });
    }
    found
}
