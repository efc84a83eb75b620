//! What a suite leaves in the run directory: `cases/<subject>-<suite>.jsonl` with the long stories
//! and `output/<subject>-<suite>-<rank>.log` with what the ranks printed.

use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::spec::{SuiteError, SuiteRun};
use crate::domain::case::CaseDetail;

/// Open files of one suite run. Nothing is written when the run records nothing.
#[derive(Debug)]
pub(super) struct Files {
    cases: Option<(PathBuf, File, u64)>,
    outputs: Vec<Output>,
    /// Bytes of output that were not kept, here or in the sandbox.
    pub dropped: u64,
}

#[derive(Debug)]
struct Output {
    file: Option<(PathBuf, File)>,
    room: u64,
}

impl Files {
    pub fn create(run: &SuiteRun) -> Result<Self, SuiteError> {
        let name = format!("{}-{}", run.subject.name(), run.suite.name());
        let open = |folder: &str, file: String| -> Result<Option<(PathBuf, File)>, SuiteError> {
            let Some(dir) = &run.record else {
                return Ok(None);
            };
            let folder = dir.join(folder);
            create_dir_all(&folder).map_err(|e| io("making", &folder, e))?;
            let path = folder.join(file);
            let file = File::create(&path).map_err(|e| io("making", &path, e))?;
            Ok(Some((path, file)))
        };
        let cases = open("cases", format!("{name}.jsonl"))?.map(|(path, file)| (path, file, 0));
        let mut outputs = Vec::new();
        for rank in 0..run.ranks {
            outputs.push(Output {
                file: open("output", format!("{name}-{rank}.log"))?,
                room: run.output_bytes,
            });
        }
        Ok(Self {
            cases,
            outputs,
            dropped: 0,
        })
    }

    /// Appends the stories of a case; the offset of the first.
    pub fn details(&mut self, details: &[CaseDetail]) -> Result<Option<u64>, SuiteError> {
        let Some((path, file, at)) = &mut self.cases else {
            return Ok(None);
        };
        if details.is_empty() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for detail in details {
            serde_json::to_writer(&mut lines, detail).map_err(|e| io("writing", path, e.into()))?;
            lines.push(b'\n');
        }
        file.write_all(&lines).map_err(|e| io("writing", path, e))?;
        let offset = *at;
        *at += lines.len() as u64;
        Ok(Some(offset))
    }

    /// Appends what a rank printed, up to its bound.
    pub fn output(&mut self, rank: usize, bytes: &[u8]) -> Result<(), SuiteError> {
        let output = &mut self.outputs[rank];
        let keep = bytes
            .len()
            .min(usize::try_from(output.room).unwrap_or(usize::MAX));
        self.dropped += (bytes.len() - keep) as u64;
        output.room -= keep as u64;
        let Some((path, file)) = &mut output.file else {
            return Ok(());
        };
        file.write_all(&bytes[..keep])
            .map_err(|e| io("writing", path, e))
    }

    /// A line of our own in a rank's output.
    pub fn note(&mut self, rank: usize, text: &str) -> Result<(), SuiteError> {
        let Some((path, file)) = &mut self.outputs[rank].file else {
            return Ok(());
        };
        let line = format!("\n[infradev] {text}\n");
        file.write_all(line.as_bytes())
            .map_err(|e| io("writing", path, e))
    }
}

pub(super) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> SuiteError {
    SuiteError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
