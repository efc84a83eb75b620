//! Runs a suite: starts groups of ranks in a sandbox, listens, enforces the limits from outside,
//! and goes on with a fresh group after a hang, a crash or an early exit.

use std::time::{Duration, Instant};

use super::command::{nonce, processes};
use super::ending::{Blame, Ending};
use super::files::Files;
use super::fold::{detail, first_line};
use super::group::{Group, GroupLimits, Told};
use super::record::Node;
use super::spec::{Sandboxes, SuiteError, SuiteOutcome, SuiteRun};
use super::tally::{Plan, Tally};
use super::waiting::{Waiting, start};
use crate::domain::case::CaseDetail;
use crate::domain::{CaseResult, Event, Level, Outcome, Phase};
use crate::engine::{Loss, Sandbox, SandboxEvent, Stream};

/// A kill that is not answered by then has failed: the sandbox is given up.
const KILL_PATIENCE: Duration = Duration::from_secs(3);
/// So many groups may end because their ranks got out of step; later ones go on regardless.
const STEPPED_GROUPS: u32 = 30;

/// Runs one suite on one subject. Events reach `sink` as soon as they are known; the run
/// directory's files are complete when this returns.
pub async fn run_suite(
    sandboxes: &mut impl Sandboxes,
    run: &SuiteRun,
    sink: impl FnMut(Event),
) -> Result<SuiteOutcome, SuiteError> {
    let mut suite = Running {
        run,
        sink,
        clock: Instant::now(),
        tally: Tally::new(run.expected.clone(), run.only.clone()),
        files: Files::create(run)?,
        sandbox: None,
        groups: 0,
        killed: 0,
    };
    let ended = suite.all(sandboxes).await;
    if let Some(sandbox) = suite.sandbox.take() {
        sandboxes.over(sandbox).await;
    }
    ended?;
    for result in suite.tally.finish() {
        suite.finished(result);
    }
    let outcome = SuiteOutcome {
        results: suite.tally.results(),
        collected: std::mem::take(&mut suite.tally.known),
        discrepancies: std::mem::take(&mut suite.tally.odd),
        deviations: std::mem::take(&mut suite.tally.deviations),
        groups: suite.groups,
        killed: suite.killed,
        duration_s: suite.clock.elapsed().as_secs_f64(),
        output_dropped: suite.files.dropped,
    };
    suite.emit(Event::SuiteFinished {
        subject: run.subject,
        suite: run.suite,
        collected: outcome.collected.len(),
        passed: outcome.passed(),
        duration_s: outcome.duration_s,
        killed: outcome.killed,
    });
    Ok(outcome)
}

struct Running<'a, S> {
    run: &'a SuiteRun,
    sink: S,
    clock: Instant,
    tally: Tally,
    files: Files,
    sandbox: Option<Sandbox>,
    groups: u32,
    killed: u32,
}

/// What a sandbox's event meant for the group.
enum Heard {
    Nothing,
    /// Answer to a kill.
    Killed(u32),
    /// The group cannot go on.
    End(Ending),
}

impl<S: FnMut(Event)> Running<'_, S> {
    async fn all(&mut self, sandboxes: &mut impl Sandboxes) -> Result<(), SuiteError> {
        let mut reason: Option<String> = None;
        let mut waiting = sandboxes.waiting();
        while let Some(plan) = self.tally.plan() {
            self.groups = self.tally.group_started();
            if let Some(reason) = reason.take() {
                self.emit(Event::Continued {
                    subject: self.run.subject,
                    suite: self.run.suite,
                    group: self.groups,
                    reason,
                    remaining: plan.remaining,
                });
            }
            let next = match (waiting.take(), self.sandbox.take()) {
                (Some(waiting), _) => waiting,
                (None, Some(sandbox)) => sandbox.into(),
                (None, None) => sandboxes.start().await?.into(),
            };
            let ending = self.group(next, &plan).await?;
            reason = Some(ending.told(self.run.ranks as usize));
        }
        Ok(())
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    async fn group(&mut self, next: Waiting, plan: &Plan) -> Result<Ending, SuiteError> {
        let (mut sandbox, orders) = (next.sandbox, next.orders);
        let nonces = (0..self.run.ranks)
            .map(|_| nonce())
            .collect::<Result<Vec<_>, _>>()?;
        let limits = GroupLimits {
            collect: self.run.collect_limit,
            case: self.run.case_limit,
            keep_step: self.groups <= STEPPED_GROUPS,
        };
        let specs = processes(self.run, plan, self.groups, &nonces, &sandbox)?;
        let first = specs.first().map_or(0, |p| p.id);
        let mut group = Group::new(
            self.groups,
            nonces,
            plan.only.as_deref(),
            limits,
            self.now(),
        );
        for rank in (0..specs.len()).filter(|_| self.groups > 1) {
            self.files.note(rank, &format!("group {}", self.groups))?;
        }
        start(&sandbox, orders, specs).await?;
        let mut ending = self.listen(&mut sandbox, &mut group, first).await?;
        let suite_over = self.now() >= self.run.limit;
        let usable = self
            .clear(&mut sandbox, &mut group, first, &mut ending)
            .await?;
        if usable {
            self.sandbox = Some(sandbox);
        } else {
            sandbox.close().await;
        }
        let now = self.now();
        group.pay(&ending, now);
        self.tell(&mut group)?;
        self.settle_ending(&group, &ending)?;
        if suite_over {
            let reason = format!(
                "not run: the suite's limit of {:.0} s was reached before it",
                self.run.limit.as_secs_f64()
            );
            self.tally.close(Outcome::Missing, Phase::Collect, reason);
        }
        Ok(ending)
    }

    /// Until the group ends by itself or by a limit.
    async fn listen(
        &mut self,
        sandbox: &mut Sandbox,
        group: &mut Group,
        first: u32,
    ) -> Result<Ending, SuiteError> {
        loop {
            self.tell(group)?;
            let now = self.now();
            if let Some(ending) = group.ending(now) {
                return Ok(ending);
            }
            if now >= self.run.limit {
                let limit = self.run.limit.as_secs_f64();
                let reason = format!("the suite's limit of {limit:.0} s was reached");
                return Ok(group.cut_short(Outcome::Timeout, reason));
            }
            let until = self.clock + group.deadline().0.min(self.run.limit);
            match tokio::time::timeout_at(until.into(), sandbox.next()).await {
                Err(_) => {}
                Ok(None) => return Err(SuiteError::SandboxDied("without a word".into())),
                Ok(Some(event)) => {
                    if let Heard::End(ending) = self.event(event, group, first)? {
                        return Ok(ending);
                    }
                }
            }
        }
    }

    fn event(
        &mut self,
        event: SandboxEvent,
        group: &mut Group,
        first: u32,
    ) -> Result<Heard, SuiteError> {
        let now = self.now();
        let rank_of = |id: u32| {
            let rank = id.checked_sub(first)? as usize;
            (rank < self.run.ranks as usize).then_some(rank)
        };
        match event {
            SandboxEvent::Output { id, stream, bytes } => match (rank_of(id), stream) {
                (None, _) => {}
                (Some(rank), Stream::Channel) => group.channel(rank, &bytes, now),
                (Some(rank), Stream::Stdout) => self.files.output(rank, &bytes)?,
                (Some(rank), Stream::Stderr) => {
                    group.ranks[rank].said_on_stderr(&bytes);
                    self.files.output(rank, &bytes)?;
                }
            },
            SandboxEvent::Exited {
                id,
                status,
                dropped_bytes,
            } => {
                self.files.dropped += dropped_bytes;
                if let Some(rank) = rank_of(id) {
                    group.exited(rank, status, now);
                }
            }
            SandboxEvent::NotStarted { id, message } => {
                let python = self.run.python.display();
                return Ok(match rank_of(id) {
                    Some(_) => Heard::End(Ending::environment(format!("{python}: {message}"))),
                    None => Heard::Nothing,
                });
            }
            SandboxEvent::LimitHit { limit, detail } => {
                let reason = format!("{limit} limit: {detail}");
                let outcome = if limit == "wall" {
                    Outcome::Timeout
                } else {
                    Outcome::Error
                };
                return Ok(Heard::End(group.cut_short(outcome, reason)));
            }
            SandboxEvent::Killed { processes } => return Ok(Heard::Killed(processes)),
            SandboxEvent::Closed {
                reason: Some(Loss::Inside(reason)),
            } => {
                let reason = format!("the sandbox was ended from inside: {reason}");
                return Ok(Heard::End(group.cut_short(Outcome::Error, reason)));
            }
            SandboxEvent::Closed { reason } => {
                return Err(SuiteError::SandboxDied(Loss::told(reason)));
            }
            SandboxEvent::Truncated { id, .. } => {
                if let Some(rank) = rank_of(id) {
                    self.files
                        .note(rank, "the output limit was reached: the rest is dropped")?;
                }
            }
            SandboxEvent::Started { .. } => {}
        }
        Ok(Heard::Nothing)
    }

    /// Kills what is left in the sandbox and counts what nobody expected to be there. False: the
    /// sandbox cannot be used again.
    async fn clear(
        &mut self,
        sandbox: &mut Sandbox,
        group: &mut Group,
        first: u32,
        ending: &mut Ending,
    ) -> Result<bool, SuiteError> {
        let ranks_alive = group.ranks.iter().filter(|r| r.status.is_none()).count() as u32;
        if sandbox.kill_all().is_err() {
            return Ok(false);
        }
        let until = tokio::time::Instant::now() + KILL_PATIENCE;
        loop {
            let event = match tokio::time::timeout_at(until, sandbox.next()).await {
                Err(_) | Ok(None | Some(SandboxEvent::Closed { .. })) => return Ok(false),
                Ok(Some(event)) => event,
            };
            if matches!(
                &event,
                SandboxEvent::Output {
                    stream: Stream::Channel,
                    ..
                }
            ) {
                continue; // the verdict on this group stands
            }
            match self.event(event, group, first)? {
                Heard::Killed(processes) => {
                    self.killed += processes.saturating_sub(ranks_alive);
                    return Ok(true);
                }
                // it was the limit that ended the rank
                Heard::End(limit) if ending.outcome == Outcome::Error => {
                    ending.reason = limit.reason;
                }
                Heard::End(_) | Heard::Nothing => {}
            }
        }
    }

    /// What the end of a group costs beyond the case that it is put down to.
    fn settle_ending(&mut self, group: &Group, ending: &Ending) -> Result<(), SuiteError> {
        if ending.outcome == Outcome::Timeout {
            self.tally.hung();
        }
        let reason = ending.told(self.run.ranks as usize);
        match &ending.blame {
            Blame::Node(node) if node != "." && !node.is_empty() => {
                let offset = self.story(group, node, ending)?;
                let message = format!("{reason} (in its collection)");
                self.tally.fatal_node(node, ending.outcome, message, offset);
            }
            Blame::Node(_) | Blame::Collection => {
                let message = format!("collection ended: {reason}");
                let offset = self.story(group, ".", ending)?;
                self.tally
                    .fatal_node(".", ending.outcome, message.clone(), offset);
                self.tally.close(ending.outcome, Phase::Collect, message);
            }
            // the environment had its say in the first group: what is left behind by the cases
            // keeps the next one from starting
            Blame::Environment if self.groups > 1 => {
                let message = format!("not run: no new group of processes: {reason}");
                self.tally.close(Outcome::Error, Phase::Collect, message);
            }
            Blame::Environment => return Err(SuiteError::Environment(reason)),
            Blame::Nobody | Blame::Case(_) | Blame::Id(_) | Blame::Session => {}
        }
        for result in self.tally.settle_nodes() {
            self.finished(result);
        }
        Ok(())
    }

    /// Keeps what the rank said when its collection ended.
    fn story(
        &mut self,
        group: &Group,
        node: &str,
        ending: &Ending,
    ) -> Result<Option<u64>, SuiteError> {
        let rank = ending.rank.unwrap_or(0);
        let of = &group.ranks[rank];
        let said = [("stderr".to_owned(), of.stderr_text())];
        let mut story = detail(of.internal.as_deref().unwrap_or_default(), &[], &said);
        node.clone_into(&mut story.id);
        story.rank = rank as u32;
        self.files.details(&[story])
    }

    /// Passes on what the group has to tell.
    fn tell(&mut self, group: &mut Group) -> Result<(), SuiteError> {
        let (subject, suite) = (self.run.subject, self.run.suite);
        for told in group.take_told() {
            match told {
                Told::Collected(mut cases) => {
                    if self.tally.collected(&cases) {
                        cases.retain(|id| self.run.chosen(id));
                        self.emit(Event::Collected {
                            subject,
                            suite,
                            cases,
                            group: group.number,
                        });
                    }
                }
                Told::Agreed(cases) => {
                    for result in self.tally.settle_nodes() {
                        self.finished(result);
                    }
                    for result in self.tally.absent(group.only(), &cases) {
                        self.finished(result);
                    }
                }
                Told::Started { id, rank } => self.emit(Event::CaseStarted {
                    subject,
                    suite,
                    id,
                    rank,
                }),
                Told::Settled {
                    mut result,
                    details,
                } => {
                    result.detail_offset = self.files.details(&details)?;
                    if let Some(result) = self.tally.settle(result) {
                        self.finished(result);
                    }
                }
                Told::Node { rank, node } => self.node(rank, &node)?,
                Told::Tainted { id, reason } => {
                    if let Some(result) = self.tally.taint(&id, &reason) {
                        self.finished(result);
                    }
                }
                Told::Odd(discrepancy) => self.tally.odd(discrepancy),
                Told::Deviated(deviation) => self.tally.deviated(deviation),
                Told::Aside(words) if group.number == 1 => {
                    let words = first_line(&words.join(" ")).unwrap_or_default();
                    let level = Level::Info;
                    let text = format!(
                        "{suite}: options of the project's pytest configuration set aside: {words}"
                    );
                    self.emit(Event::Log { level, text });
                }
                Told::Aside(_) => {}
            }
        }
        Ok(())
    }

    fn node(&mut self, rank: u32, node: &Node) -> Result<(), SuiteError> {
        let mut offset = None;
        if node.o == "failed" {
            let story = CaseDetail {
                id: node.id.clone(),
                rank,
                ..detail(&node.t, &node.f, &[])
            };
            offset = self.files.details(&[story])?;
        }
        let who = if self.run.ranks > 1 {
            format!("rank {rank}: ")
        } else {
            String::new()
        };
        self.tally.node(node, &who, offset);
        Ok(())
    }

    fn finished(&mut self, result: CaseResult) {
        let (subject, suite) = (self.run.subject, self.run.suite);
        self.emit(Event::CaseFinished {
            subject,
            suite,
            result,
        });
    }

    fn emit(&mut self, event: Event) {
        (self.sink)(event);
    }
}
