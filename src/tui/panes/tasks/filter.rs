//! What a filter over the tree means: `area:rl status:failed glm`.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::{Source, Task};
use crate::tui::state::App;

use super::state::standing_run;
use super::status;

/// What a word before a colon is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Area,
    Kind,
    Repo,
    Status,
}

/// A filter that was read. All of its words must hold.
#[derive(Debug)]
pub struct Filter {
    wishes: Vec<(About, String)>,
    /// Letters of a name, in their order.
    letters: Option<Pattern>,
    plain: String,
}

impl Filter {
    pub fn read(text: &str) -> Self {
        let mut wishes = Vec::new();
        let mut plain: Vec<&str> = Vec::new();
        for word in text.split_whitespace() {
            let about = word.split_once(':').and_then(|(about, value)| {
                let about = match about {
                    "area" => About::Area,
                    "kind" => About::Kind,
                    "repo" => About::Repo,
                    "status" | "is" => About::Status,
                    _ => return None,
                };
                Some((about, value.to_lowercase()))
            });
            match about {
                // nothing is typed of it yet
                Some((_, value)) if value.is_empty() => {}
                Some(wish) => wishes.push(wish),
                None => plain.push(word),
            }
        }
        let plain = plain.join(" ");
        let pattern = || Pattern::parse(&plain, CaseMatching::Ignore, Normalization::Smart);
        Self {
            wishes,
            letters: (!plain.is_empty()).then(pattern),
            plain: plain.to_lowercase(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty() && self.letters.is_none()
    }

    /// The sources of a task that are left; empty: the task is not shown.
    pub fn left(&self, app: &App, task: &Task, sources: Vec<Source>) -> Vec<Source> {
        let spec = &task.spec;
        let about_task = |about: About, value: &str| match about {
            About::Area => spec.area.name().starts_with(value),
            About::Kind => spec.kind.name().starts_with(value),
            About::Repo => spec.repository.to_lowercase().contains(value),
            About::Status => true,
        };
        if !self
            .wishes
            .iter()
            .all(|(about, value)| about_task(*about, value))
        {
            return Vec::new();
        }
        let own: Vec<&str> = status::of_task(app, task);
        let whole = self.named(task.id()) || spec.title.to_lowercase().contains(&self.plain);
        let keep = |source: &Source| {
            let named = || self.named(&format!("{} {}", task.id(), source.label()));
            let run = standing_run(app, task.id(), source);
            let status = self
                .wishes
                .iter()
                .filter(|(about, _)| *about == About::Status);
            let mut status = status.map(|(_, value)| value);
            (whole || named())
                && status.all(|value| {
                    own.iter().any(|word| word.starts_with(value.as_str()))
                        || status::of_source(app, source, run)
                            .iter()
                            .any(|word| word.starts_with(value.as_str()))
                })
        };
        sources.into_iter().filter(keep).collect()
    }

    /// Whether the letters of the filter stand in a name, in their order.
    pub fn named(&self, name: &str) -> bool {
        let Some(pattern) = &self.letters else {
            return true;
        };
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        pattern
            .score(Utf32Str::new(name, &mut buffer), &mut matcher)
            .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_before_a_colon_are_wishes_and_the_rest_are_letters() {
        let filter = Filter::read("area:RL glm status: dpb is:failed http://x");
        assert_eq!(
            filter.wishes,
            [
                (About::Area, "rl".to_owned()),
                (About::Status, "failed".to_owned())
            ]
        );
        assert_eq!(filter.plain, "glm dpb http://x");
        assert!(Filter::read("  status: ").is_empty());
        assert!(Filter::read("dpb").named("dp-buckets"));
        assert!(Filter::read("dpb gx").named("dp-buckets gpt-x"));
        assert!(!Filter::read("bpd").named("dp-buckets"));
    }
}
