//! Lines of the reporter's channel (`assets/reporter/infradev_reporter.py` lists their kinds), and
//! their way out of the byte stream.

use serde::Deserialize;

use crate::domain::Area;

/// A longer line is not the reporter's: it cuts every text it sends.
const LONGEST: usize = 8 << 20;

/// What every line starts with.
#[derive(Deserialize)]
struct Envelope {
    n: String,
    i: u64,
}

/// `[path, line, function]`.
pub(super) type FrameRow = (String, u32, String);

/// What the reporter says. Field names are the channel's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "k", rename_all = "lowercase")]
pub(super) enum Record {
    Hello {
        python: String,
        pytest: String,
    },
    Fault {
        m: String,
    },
    Collecting {
        node: String,
    },
    Node(Node),
    Cases {
        rows: Vec<(String, String, String)>,
    },
    Collected {
        count: usize,
        selected: usize,
    },
    Start {
        c: i64,
        #[serde(default)]
        id: String,
    },
    Report(Report),
    Finish {
        c: i64,
    },
    Broken {
        m: String,
    },
    /// Something that decides outcomes is not what it was (`infradev_watch.py`).
    Deviation {
        a: Area,
        s: String,
        f: String,
        q: String,
        v: u32,
        h: String,
        c: i64,
    },
    Interrupt {
        m: String,
    },
    Internal {
        m: String,
        #[serde(default)]
        t: String,
    },
    End {
        code: i32,
        failed: u64,
        reported: u64,
        #[serde(default)]
        aside: Vec<String>,
    },
}

/// The end of the collection of a file, a folder or a class.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Node {
    #[serde(rename = "node")]
    pub id: String,
    /// `passed`, `failed` or `skipped`.
    pub o: String,
    #[serde(default)]
    pub m: String,
    #[serde(default)]
    pub t: String,
    #[serde(default)]
    pub f: Vec<FrameRow>,
}

/// One phase of a case on one rank.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Report {
    pub c: i64,
    /// `setup`, `call`, `teardown`.
    #[serde(default)]
    pub p: Option<String>,
    /// `passed`, `failed`, `skipped`; plugins have more.
    pub o: String,
    pub d: f64,
    #[serde(default)]
    pub m: String,
    #[serde(default)]
    pub t: String,
    #[serde(default)]
    pub f: Vec<FrameRow>,
    #[serde(default)]
    pub s: Vec<(String, String)>,
    /// The reason of an expected failure.
    #[serde(default)]
    pub x: Option<String>,
}

/// What came out of the stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Said(Record),
    /// Somebody else wrote this.
    Foreign(String),
    /// The reporter's, but not the next one.
    Sequence {
        expected: u64,
        got: u64,
    },
}

/// Cuts one rank's channel into lines and refuses what does not carry the nonce.
#[derive(Debug)]
pub(super) struct Channel {
    nonce: String,
    next: u64,
    rest: Vec<u8>,
    /// The line under way is too long: dropped up to its end.
    skipping: bool,
}

impl Channel {
    pub fn new(nonce: String) -> Self {
        Self {
            nonce,
            next: 0,
            rest: Vec::new(),
            skipping: false,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let part = &bytes[from..end];
            from = end + 1;
            if self.skipping {
                self.skipping = false;
                self.rest.clear();
                continue;
            }
            if self.rest.is_empty() {
                self.line(part, &mut lines);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(part);
                self.line(&whole, &mut lines);
            }
        }
        if !self.skipping {
            self.rest.extend_from_slice(&bytes[from..]);
            if self.rest.len() > LONGEST {
                lines.push(Line::Foreign(excerpt(&self.rest)));
                self.rest = Vec::new();
                self.skipping = true;
            }
        }
        lines
    }

    /// What is left at the end of the stream: a line that was never ended.
    pub fn end(&mut self) -> Vec<Line> {
        let rest = std::mem::take(&mut self.rest);
        let mut lines = Vec::new();
        if !self.skipping {
            self.line(&rest, &mut lines);
        }
        lines
    }

    fn line(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        if bytes.is_empty() {
            return; // the newline in front of each line
        }
        let ours = serde_json::from_slice::<Envelope>(bytes)
            .ok()
            .filter(|e| e.n == self.nonce);
        let Some(Envelope { i, .. }) = ours else {
            lines.push(Line::Foreign(excerpt(bytes)));
            return;
        };
        if i != self.next {
            lines.push(Line::Sequence {
                expected: self.next,
                got: i,
            });
        }
        self.next = self.next.max(i.saturating_add(1));
        match serde_json::from_slice(bytes) {
            Ok(record) => lines.push(Line::Said(record)),
            Err(_) => lines.push(Line::Foreign(excerpt(bytes))),
        }
    }
}

fn excerpt(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn said(lines: &[Line]) -> usize {
        lines.iter().filter(|l| matches!(l, Line::Said(_))).count()
    }

    #[test]
    fn lines_come_out_however_they_are_cut() {
        let stream = b"\n{\"n\":\"x\",\"i\":0,\"k\":\"start\",\"c\":0}\n\n{\"n\":\"x\",\"i\":1,\"k\":\"finish\",\"c\":0}\n";
        for step in 1..stream.len() {
            let mut channel = Channel::new("x".into());
            let mut lines = Vec::new();
            for chunk in stream.chunks(step) {
                lines.extend(channel.push(chunk));
            }
            lines.extend(channel.end());
            assert_eq!(lines.len(), 2, "cut every {step} bytes: {lines:?}");
            assert_eq!(said(&lines), 2);
        }
    }

    #[test]
    fn what_the_reporter_did_not_write_is_foreign() {
        let mut channel = Channel::new("x".into());
        for line in [
            "PASSED tests/a.py::t\n",
            "{\"n\":\"y\",\"i\":0,\"k\":\"finish\",\"c\":0}\n",
            "{\"n\":\"x\",\"i\":0,\"k\":\"verdict\"}\n",
            "\u{0}\n",
        ] {
            let lines = channel.push(line.as_bytes());
            assert!(matches!(lines[..], [Line::Foreign(_)]), "{line}: {lines:?}");
        }
    }

    #[test]
    fn a_forged_number_is_seen_at_the_next_true_line() {
        let mut channel = Channel::new("x".into());
        let stream = "{\"n\":\"x\",\"i\":0,\"k\":\"finish\",\"c\":0}\n".repeat(2);
        let lines = channel.push(stream.as_bytes());
        assert!(
            matches!(
                lines[1],
                Line::Sequence {
                    expected: 1,
                    got: 0
                }
            ),
            "{lines:?}"
        );
    }

    #[test]
    fn an_endless_line_is_dropped_and_the_next_one_read() {
        let mut channel = Channel::new("x".into());
        let chunk = vec![b'z'; 64 << 10];
        let mut foreign = 0;
        for _ in 0..300 {
            foreign += channel.push(&chunk).len();
        }
        assert!(channel.rest.len() <= LONGEST);
        assert_eq!(foreign, 1);
        let lines = channel.push(b"zz\n{\"n\":\"x\",\"i\":0,\"k\":\"finish\",\"c\":0}\n");
        assert_eq!(said(&lines), 1, "{lines:?}");
    }
}
