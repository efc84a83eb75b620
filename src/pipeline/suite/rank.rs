//! One rank of a group: where it stands, as far as its channel tells. Pure.

use std::collections::HashMap;
use std::time::Duration;

use super::record::{Channel, Line, Record, Report};
use crate::domain::{CaseId, Deviation, DiscrepancyKind, Phase};
use crate::engine::ProcessStatus;

/// The last of a rank's standard error that is kept, for the story of a crash or a hang.
const TAIL: usize = 16 << 10;

/// What a rank is doing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doing {
    /// Importing pytest.
    Starting,
    Collecting,
    /// Between cases.
    Idle,
    Running {
        place: usize,
        since: Duration,
    },
}

#[derive(Debug)]
pub(super) struct Rank {
    pub doing: Doing,
    /// Time of its last line.
    pub heard: Duration,
    /// The code that its session ended with; the process may still be there.
    pub ended: Option<i32>,
    pub status: Option<ProcessStatus>,
    /// Its list of cases, complete once `collected`.
    pub list: Vec<CaseId>,
    pub collected: bool,
    /// How many of its list are to run.
    pub selected: usize,
    /// Folders and files whose collection is under way, outermost first.
    pub nodes: Vec<String>,
    /// When the cases began that are not settled yet, by place.
    pub began: HashMap<usize, Duration>,
    /// What was reported about the cases that are not settled yet, by place.
    pub reports: HashMap<usize, Vec<Report>>,
    /// When the cases ended that are not settled yet, by place.
    pub finished: HashMap<usize, Duration>,
    /// Why reports about a case cannot be believed, by place.
    pub tainted: HashMap<usize, String>,
    /// Words that go with the end of its session.
    pub last_words: Option<String>,
    pub internal: Option<String>,
    /// Reports with the outcome `failed`, of phases and of collection.
    pub failed: u64,
    pub reported: u64,
    pub stderr: Vec<u8>,
    pub versions: Option<(String, String)>,
    pub fault: Option<String>,
    channel: Channel,
}

/// What a line meant to the rank; the group makes the rest of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    Collected {
        selected: usize,
    },
    Node(super::record::Node),
    Started(usize),
    /// A case began that had ended before.
    Again(usize),
    Finished(usize),
    Ended {
        aside: Vec<String>,
    },
    Deviated(Deviation),
    Odd {
        kind: DiscrepancyKind,
        place: Option<usize>,
        detail: String,
    },
}

impl Rank {
    pub fn new(nonce: String, now: Duration) -> Self {
        Self {
            doing: Doing::Starting,
            heard: now,
            ended: None,
            status: None,
            list: Vec::new(),
            collected: false,
            selected: 0,
            nodes: Vec::new(),
            began: HashMap::new(),
            reports: HashMap::new(),
            finished: HashMap::new(),
            tainted: HashMap::new(),
            last_words: None,
            internal: None,
            failed: 0,
            reported: 0,
            stderr: Vec::new(),
            versions: None,
            fault: None,
            channel: Channel::new(nonce),
        }
    }

    pub fn running(&self) -> Option<usize> {
        match self.doing {
            Doing::Running { place, .. } => Some(place),
            _ => None,
        }
    }

    pub fn over(&self) -> bool {
        self.status.is_some() || self.ended.is_some()
    }

    /// The phase that the running case is in.
    pub fn phase(&self) -> Phase {
        let last = self
            .running()
            .and_then(|place| self.reports.get(&place)?.last())
            .and_then(|report| Some((report.p.as_deref()?, report.o == "passed")));
        match last {
            None => Phase::Setup,
            Some(("setup", true)) => Phase::Call,
            Some(_) => Phase::Teardown,
        }
    }

    pub fn said_on_stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
        if self.stderr.len() > 2 * TAIL {
            self.stderr.drain(..self.stderr.len() - TAIL);
        }
    }

    /// The tail of its standard error since its case began.
    pub fn stderr_text(&self) -> String {
        let from = self.stderr.len().saturating_sub(TAIL);
        String::from_utf8_lossy(&self.stderr[from..])
            .trim()
            .to_owned()
    }

    pub fn channel(&mut self, bytes: &[u8], now: Duration) -> Vec<Heard> {
        let lines = self.channel.push(bytes);
        self.lines(lines, now)
    }

    pub fn channel_ended(&mut self, now: Duration) -> Vec<Heard> {
        let lines = self.channel.end();
        self.lines(lines, now)
    }

    fn lines(&mut self, lines: Vec<Line>, now: Duration) -> Vec<Heard> {
        let mut heard = Vec::new();
        for line in lines {
            match line {
                Line::Said(record) => {
                    self.heard = now;
                    self.record(record, now, &mut heard);
                }
                Line::Foreign(text) => self.odd(
                    DiscrepancyKind::ForeignLine,
                    format!("on the reporter's channel, but not from the reporter: {text}"),
                    &mut heard,
                ),
                Line::Sequence { expected, got } => self.odd(
                    DiscrepancyKind::Sequence,
                    format!("line {got} of the reporter came where line {expected} was due"),
                    &mut heard,
                ),
            }
        }
        heard
    }

    /// Something that does not fit: what was running cannot be believed any more.
    fn odd(&mut self, kind: DiscrepancyKind, detail: String, heard: &mut Vec<Heard>) {
        let place = self.running();
        if let Some(place) = place {
            self.tainted.entry(place).or_insert_with(|| detail.clone());
        }
        heard.push(Heard::Odd {
            kind,
            place,
            detail,
        });
    }

    fn record(&mut self, record: Record, now: Duration, heard: &mut Vec<Heard>) {
        match record {
            Record::Hello { python, pytest } => {
                self.versions = Some((python, pytest));
                self.doing = Doing::Collecting;
            }
            Record::Fault { m } => self.fault = Some(m),
            Record::Collecting { node } => self.nodes.push(node),
            Record::Node(node) => {
                if let Some(at) = self.nodes.iter().rposition(|n| *n == node.id) {
                    self.nodes.truncate(at);
                }
                if node.o == "failed" {
                    self.failed += 1;
                }
                heard.push(Heard::Node(node));
            }
            Record::Cases { rows } if !self.collected => {
                self.list
                    .extend(rows.into_iter().map(|(id, ..)| CaseId(id)));
            }
            Record::Collected { count, selected } if !self.collected => {
                if count != self.list.len() {
                    let detail = format!("a list of {} cases said to be {count}", self.list.len());
                    self.odd(DiscrepancyKind::Sequence, detail, heard);
                }
                self.collected = true;
                self.doing = Doing::Idle;
                heard.push(Heard::Collected { selected });
            }
            Record::Cases { .. } | Record::Collected { .. } => {
                let detail = "cases were collected a second time".to_owned();
                self.odd(DiscrepancyKind::Sequence, detail, heard);
            }
            Record::Start { c, id } => {
                let known = usize::try_from(c).ok().filter(|c| *c < self.list.len());
                let Some(place) = known else {
                    let detail = format!("a case that was not collected began: {id}");
                    self.odd(DiscrepancyKind::NotCollected, detail, heard);
                    return;
                };
                if self.running().is_some() {
                    let detail = format!("{} began inside another case", self.list[place]);
                    self.odd(DiscrepancyKind::Sequence, detail, heard);
                }
                self.doing = Doing::Running { place, since: now };
                self.stderr.clear();
                if self.finished.contains_key(&place) {
                    let detail = "it ran twice on one rank".to_owned();
                    self.odd(DiscrepancyKind::ReportedTwice, detail, heard);
                    heard.push(Heard::Again(place));
                } else {
                    self.began.insert(place, now);
                    heard.push(Heard::Started(place));
                }
            }
            Record::Report(report) => self.report(report, heard),
            Record::Finish { c } => {
                let Some(place) = self
                    .running()
                    .filter(|place| Ok(*place) == usize::try_from(c))
                else {
                    let detail = format!("case {c} ended, and was not running");
                    self.odd(DiscrepancyKind::NotCollected, detail, heard);
                    return;
                };
                self.doing = Doing::Idle;
                self.finished.insert(place, now);
                heard.push(Heard::Finished(place));
            }
            // the session's end follows; the case stays the one that was running
            Record::Broken { m } => {
                self.last_words.get_or_insert(m);
            }
            Record::Deviation {
                a,
                s,
                f,
                q,
                v,
                h,
                c,
            } => {
                let case = usize::try_from(c).ok().and_then(|c| self.list.get(c));
                heard.push(Heard::Deviated(Deviation {
                    area: a,
                    place: s,
                    file: f,
                    name: q,
                    line: v,
                    digest: h,
                    case: case.cloned(),
                }));
            }
            Record::Interrupt { m } => self.last_words = Some(m),
            Record::Internal { m, t } => {
                self.last_words = Some(format!("pytest failed inside: {m}"));
                self.internal = Some(t);
            }
            Record::End {
                code,
                failed,
                reported,
                aside,
            } => {
                if reported != self.reported {
                    let detail = format!(
                        "pytest made {reported} reports, {} of them came",
                        self.reported
                    );
                    self.odd(DiscrepancyKind::Unreported, detail, heard);
                }
                self.exit_code(code, failed, heard);
                heard.push(Heard::Ended { aside });
                // a case that was running stays known: the end of the session left it
                self.ended = Some(code);
            }
        }
    }

    fn report(&mut self, report: Report, heard: &mut Vec<Heard>) {
        self.reported += 1;
        if report.o == "failed" {
            self.failed += 1;
        }
        let Some(place) = self
            .running()
            .filter(|place| Ok(*place) == usize::try_from(report.c))
        else {
            let detail = format!("a report about case {}, which is not running", report.c);
            self.odd(DiscrepancyKind::NotCollected, detail, heard);
            return;
        };
        self.reports.entry(place).or_default().push(report);
    }

    /// pytest's exit code against what was reported.
    fn exit_code(&mut self, code: i32, failed: u64, heard: &mut Vec<Heard>) {
        let fits = match code {
            0 => self.failed == 0,
            1 => self.failed > 0,
            5 => self.reported == 0,
            // interrupted, failed inside, wrong usage: the session ended early and says so
            _ => true,
        };
        if !fits || failed != self.failed {
            let detail = format!(
                "exit code {code}, {failed} failures counted by pytest, {} reported",
                self.failed
            );
            self.odd(DiscrepancyKind::ExitCode, detail, heard);
        }
    }
}
