//! What a calibration and a grade are keyed by (DESIGN.md, The judge's mechanics): change any of
//! it, and gold runs again.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::domain::task::{BuildSpec, EnvironmentSpec, HardwareSpec, LimitsSpec, SuiteSpec};
use crate::domain::{EngineKind, Suite, hex};
use crate::judge::JUDGE_VERSION;

/// The inputs of one suite's calibration.
#[derive(Serialize)]
pub struct KeyParts<'a> {
    pub suite: Suite,
    /// Git tree ids of base and of gold.
    pub base: &'a str,
    pub gold: &'a str,
    /// Content hash of the suite's own tree.
    pub tests: &'a str,
    /// Of probes: the official suite's, which lies in the tree beside them.
    pub beside: Option<&'a str>,
    pub spec: &'a SuiteSpec,
    pub environment: &'a str,
    pub environment_spec: &'a EnvironmentSpec,
    pub build: Option<&'a BuildSpec>,
    pub limits: &'a LimitsSpec,
    pub hardware: &'a HardwareSpec,
    /// What the GPUs are that the run holds; none where it needs none.
    pub gpu_type: Option<&'a str>,
    /// The node's settings of its GPUs and their links: they may change numbers.
    pub settings: &'a BTreeMap<String, String>,
    pub engine: EngineKind,
    /// What names the content of its image, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<&'a str>,
    /// Content hash of the reporter.
    pub reporter: &'a str,
}

impl KeyParts<'_> {
    /// 64 hexadecimal digits.
    pub fn hash(&self) -> Result<String, serde_json::Error> {
        let text = serde_json::to_vec(&(JUDGE_VERSION, self))?;
        Ok(hex(&Sha256::digest(&text)))
    }
}
