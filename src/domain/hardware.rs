//! What GPUs a task needs, in words and against those of a machine.

use super::task::HardwareSpec;

/// Of a machine's GPUs, those that would do for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitting {
    /// Their name, without the maker's.
    pub name: String,
    pub there: u32,
    pub free: u32,
}

impl HardwareSpec {
    /// `1 GPU`, `2 GPUs H200`; absent: the task needs none.
    pub fn need(&self) -> Option<String> {
        let count = match self.gpus {
            0 => return None,
            1 => "1 GPU".to_owned(),
            n => format!("{n} GPUs"),
        };
        Some(match &self.gpu_type {
            Some(kind) => format!("{count} {}", short(kind)),
            None => count,
        })
    }

    /// Of GPUs, each with its name and whether it is free, those that would do; of several kinds
    /// the one that has most, since a run gets GPUs of one kind. Absent: there is none.
    pub fn among<'a>(&self, gpus: impl Iterator<Item = (&'a str, bool)>) -> Option<Fitting> {
        // the name as the driver gives it, as for taking them
        let wanted = self.gpu_type.as_deref().map(str::trim);
        let mut kinds: Vec<Fitting> = Vec::new();
        for (name, free) in gpus {
            if wanted.is_some_and(|wanted| !wanted.eq_ignore_ascii_case(name.trim())) {
                continue;
            }
            let name = short(name);
            let at = kinds.iter().position(|kind| kind.name == name);
            let at = at.unwrap_or_else(|| {
                kinds.push(Fitting {
                    name: name.to_owned(),
                    there: 0,
                    free: 0,
                });
                kinds.len() - 1
            });
            kinds[at].there += 1;
            kinds[at].free += u32::from(free);
        }
        kinds
            .into_iter()
            .max_by_key(|k| (k.there.min(self.gpus), k.free))
    }
}

/// A GPU's name without its maker's.
pub fn short(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("NVIDIA ").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(gpus: u32, kind: Option<&str>) -> HardwareSpec {
        HardwareSpec {
            gpus,
            gpu_type: kind.map(str::to_owned),
        }
    }

    #[test]
    fn a_need_is_said_in_a_few_words() {
        assert_eq!(spec(0, Some("NVIDIA H200")).need(), None);
        assert_eq!(spec(1, None).need().as_deref(), Some("1 GPU"));
        let kind = spec(8, Some("NVIDIA H200")).need();
        assert_eq!(kind.as_deref(), Some("8 GPUs H200"));
    }

    #[test]
    fn gpus_that_would_do_are_of_one_kind() {
        let here = [
            ("NVIDIA L4", true),
            ("NVIDIA H200", true),
            ("NVIDIA H200", false),
        ];
        let among = |spec: HardwareSpec| {
            let found = spec.among(here.into_iter())?;
            Some((found.name, found.there, found.free))
        };
        let h200 = Some(("H200".to_owned(), 2, 1));
        assert_eq!(among(spec(1, Some("nvidia h200"))), h200);
        assert_eq!(among(spec(2, None)), h200);
        assert_eq!(among(spec(1, Some("H200"))), None);
        assert_eq!(spec(1, None).among(std::iter::empty()), None);
    }
}
