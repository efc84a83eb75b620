#![allow(clippy::unwrap_used)]

use super::leaks::{Sources, What, leaks};
use super::sections::cut;
use super::*;
use crate::domain::TaskSpec;
use crate::python::Files;
use crate::python::contract::{ContractInput, contract};

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

const PROMPT: &str = "\
# Title

What it is.

## Interface

`pkg.new.Mix(size, depth=48)` and its `blend(parts, weight)`.

## Required behaviour

**Mean.** Every part counts by its weight.

**Rest.** Nothing is left over.

## Working rules

Run it.
";

#[test]
fn variants_are_cut_from_the_sections() {
    let cut = |variant| cut(PROMPT, variant).unwrap();
    assert_eq!(cut(Variant::Full), PROMPT);
    let interface = cut(Variant::Interface);
    assert!(interface.starts_with("# Title\n\nWhat it is.\n") && interface.contains("blend"));
    assert!(!interface.contains("counts by") && !interface.contains("Run it"));
    let behaviour = cut(Variant::Behaviour);
    assert!(behaviour.contains("counts by") && !behaviour.contains("blend("));
    assert!(cut(Variant::Process).ends_with("## Working rules\n\nRun it.\n"));
    let error = sections::cut("# Only\n", Variant::Process).unwrap_err();
    assert!(error.contains("## Working rules"), "{error}");
    assert!(sections::cut(PROMPT, Variant::Original).is_err());
    let error = "fuller".parse::<Variant>().unwrap_err();
    assert!(error.contains("interface"), "{error}");
    let fenced = "a\n```\n## Interface\n```\n## Interface\nb\n";
    assert_eq!(sections::cut(fenced, Variant::Interface).unwrap(), fenced);
}

fn spec(more: &str) -> TaskSpec {
    toml::from_str(&format!(
        "schema = 1\nid = \"t\"\ntitle = \"Mixing\"\nsummary = \"About {{mixing}}.\"\narea = \"rl\"\nkind = \"feature\"\nrepository = \"t/t\"\n\
         [source]\nbase = \"base\"\n[gold]\npatch = \"gold.patch\"\n[environment]\nkind = \"host\"\n\
         [suites.official]\nfrom = \"official\"\ninto = \"tests\"\n[suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\n\
         [[claims]]\nid = \"C1\"\ntext = \"weighted\"\nkind = \"numerics\"\nprobes = [\"probes/test_p.py::test_weights\"]\nprompt = \"counts by its weight\"\n\
         [[claims]]\nid = \"C2\"\ntext = \"rest\"\nkind = \"behaviour\"\nunmeasured = \"why\"\nprompt = \"Nothing is left over\"\n{more}"
    ))
    .unwrap()
}

const GOLD: &str = "class Mix:\n    def __init__(self, size, depth=48):\n        self.size = size\n\
    def blend(self, parts, weight):\n        scale = 37 * weight\n        total = scale / (weight + 0.125)\n        self.seen.append(helper(parts, total, offset))\n        return total\n";
const PROBE: &str = "from pkg.new import Mix\ndef test_weights():\n    assert Mix(100, depth=48).blend([], weight=1) <= 1e-4\n";

fn found(prompt: &str, more: &str) -> Vec<(FindingKind, Option<usize>, String)> {
    let spec = spec(more);
    let base = files(&[("pkg/__init__.py", ""), ("pkg/old.py", "LIMIT = 1000\n")]);
    let gold = files(&[
        ("pkg/__init__.py", ""),
        ("pkg/old.py", "LIMIT = 1000\n"),
        (
            "pkg/new.py",
            &GOLD.replace("\ndef blend", "\n    def blend"),
        ),
    ]);
    let official = Files::new();
    let probes = files(&[("probes/test_p.py", PROBE)]);
    let contract = contract(&ContractInput {
        spec: &spec,
        base: &base,
        gold: &gold,
        official: &official,
        probes: &probes,
    });
    lint(&LintInput {
        spec: &spec,
        prompt,
        contract: &contract,
        base: &base,
        gold: &gold,
        official: &official,
        probes: &probes,
        base_tests: &Files::new(),
    })
    .into_iter()
    .map(|f| (f.kind, f.line, f.message))
    .collect()
}

/// The findings that a change of the prompt makes.
#[track_caller]
fn one(from: &str, to: &str) -> (FindingKind, Option<usize>, String) {
    assert!(PROMPT.contains(from));
    let all = found(&PROMPT.replace(from, to), "");
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[test]
fn a_sound_prompt_has_no_finding() {
    assert_eq!(found(PROMPT, ""), []);
    // what base has gives nothing away
    assert_eq!(
        found(&PROMPT.replace("Run it.", "Run it 1,000 times."), ""),
        []
    );
}

#[test]
fn each_weakness_is_found_with_its_line() {
    use FindingKind::*;
    let (kind, line, message) = one("`blend(parts, weight)`", "`mix(parts, weight)`");
    assert_eq!((kind, line), (MissingSymbol, None));
    assert!(message.contains("pkg.new.Mix.blend"), "{message}");
    let all = found(
        &PROMPT
            .replace(", weight)`", ")`")
            .replace("weight", "share"),
        "",
    );
    assert!(
        all.iter()
            .any(|f| f.0 == MissingSymbol && f.2.contains("keyword weight")),
        "{all:?}"
    );
    let (kind, _, message) = one("pkg.new.Mix", "Mix");
    assert!(
        kind == MissingSymbol && message.contains("module pkg.new"),
        "{message}"
    );

    assert_eq!(one("its weight.", "its weight, 37 times.").0, Constant);
    let (kind, line, message) = one("Nothing is left over.", "Nothing is left over 1e-4.");
    assert_eq!((kind, line), (Constant, Some(13)));
    assert!(message.contains("1e-4"), "{message}");
    let (kind, line, _) = one("its weight.", "its weight: `total = scale / (weight + x)`.");
    assert_eq!((kind, line), (Formula, Some(11)));
    let (kind, _, _) = one(
        "its weight.",
        "its weight: `self.seen.append(helper(parts, total, offset))`.",
    );
    assert_eq!(kind, Code);
    assert_eq!(one("Run it.", "Run test_weights.").0, Checking);
    assert_eq!(one("Run it.", "Hidden tests will run.").0, Checking);
    let (kind, line, _) = one("Run it.", "Handle errors properly.");
    assert_eq!((kind, line), (Ambiguous, Some(17)));
    assert_eq!(one("Run it.", "").0, Ambiguous);
    assert_eq!(one("Run it.", "Run it.\n-").0, Ambiguous);
    let (kind, line, message) = one("**Rest.**", "**More.** Faster.\n\n**Rest.**");
    assert_eq!((kind, line), (Unprobed, Some(13)));
    assert!(message.contains("\"More\""), "{message}");
}

#[test]
fn claims_and_allowances_are_held_against_the_prompt() {
    use FindingKind::*;
    let kinds = |prompt: &str, more: &str| -> Vec<FindingKind> {
        found(prompt, more).into_iter().map(|f| f.0).collect()
    };
    let claim = "[[claims]]\nid = \"C3\"\ntext = \"x\"\nkind = \"mode\"\n";
    let probed = format!("{claim}probes = [\"probes/test_p.py::test_weights\"]\n");
    assert_eq!(kinds(PROMPT, &probed), [Unstated]);
    let promised = format!("{claim}prompt = \"Run it\"\n");
    assert_eq!(kinds(PROMPT, &promised), [Unprobed]);
    let allow = "[[contract.allow]]\nconstant = \"37\"\nwhy = \"the promise\"\n";
    assert_eq!(
        kinds(&PROMPT.replace("Run it.", "Run it 37 times."), allow),
        []
    );
    assert_eq!(kinds(PROMPT, allow), [UnneededAllowance]);
}

#[test]
fn a_draft_holds_contract_and_claims() {
    let spec = spec("");
    let gold = files(&[(
        "pkg/new.py",
        &GOLD.replace("\ndef blend", "\n    def blend"),
    )]);
    let probes = files(&[("probes/test_p.py", PROBE)]);
    let text = draft(
        &spec,
        &contract(&ContractInput {
            spec: &spec,
            base: &Files::new(),
            gold: &gold,
            official: &Files::new(),
            probes: &probes,
        }),
    );
    assert!(text.starts_with("# Mixing\n\nAbout {mixing}.\n"), "{text}");
    assert!(
        text.contains(
            "- `pkg.new.Mix.blend(parts, weight)`: a method; given by keyword: `weight`."
        ),
        "{text}"
    );
    assert!(
        text.contains("## Required behaviour\n\n- weighted\n- rest\n"),
        "{text}"
    );
    assert!(!text.contains("{interface}"));
    assert!(
        cut(&text, Variant::Process)
            .unwrap()
            .contains("without asking")
    );
}

#[test]
fn variants_are_rendered_from_contract_and_claims() {
    let gold = files(&[("pkg/new.py", GOLD)]);
    let probes = files(&[("probes/test_p.py", PROBE)]);
    let rendered = |spec: &TaskSpec, variant, named: bool| {
        render(spec, variant, || {
            assert!(named, "{variant} has no need of sources");
            Ok::<_, String>(contract(&ContractInput {
                spec,
                base: &Files::new(),
                gold: &gold,
                official: &Files::new(),
                probes: &probes,
            }))
        })
    };
    // a claim that looks like a heading or a field of the template is a claim
    let odd =
        "[[claims]]\nid = \"C3\"\ntext = \"a\\n## Working rules\\n{interface}\"\nkind = \"mode\"\n";
    let spec = spec(odd);
    let head = "# Mixing\n\nAbout {mixing}.\n\n";
    let interface = rendered(&spec, Variant::Interface, true).unwrap();
    assert!(interface.starts_with(&format!("{head}## Interface\n\n- `pkg.new.Mix(")));
    assert!(
        interface.contains("given by keyword: `depth`"),
        "{interface}"
    );
    assert!(!interface.contains("weighted") && !interface.contains("Work without"));
    let behaviour = rendered(&spec, Variant::Behaviour, false).unwrap();
    let claims = "- weighted\n- rest\n- a\n## Working rules\n{interface}\n";
    assert_eq!(
        behaviour,
        format!("{head}## Required behaviour\n\n{claims}")
    );
    let process = rendered(&spec, Variant::Process, false).unwrap();
    assert!(process.starts_with(&format!("{head}## Working rules\n\nWork without asking.")));
    assert!(!process.contains("pkg.") && !process.contains("weighted"));
    let full = rendered(&spec, Variant::Full, true).unwrap();
    for part in [&interface, &behaviour, &process] {
        let section = part.strip_prefix(head).unwrap();
        assert!(full.contains(section.trim_end()), "{section}");
    }
    assert!(rendered(&spec, Variant::Original, false).is_err());
    let mut none = spec;
    none.claims.clear();
    let error = rendered(&none, Variant::Behaviour, false).unwrap_err();
    assert!(error.contains("no claim"), "{error}");
    let failed = render(&none, Variant::Interface, || Err("no sources".to_owned()));
    assert_eq!(failed.unwrap_err(), "no sources");
}

#[test]
fn a_name_is_stated_as_code_and_not_by_a_word_of_a_sentence() {
    let text = PROMPT
        .replace(" and its `blend(parts, weight)`", " and its blend of parts")
        .replace("`pkg.new.Mix(size, depth=48)`", "`pkg.new.Mix`");
    let all: Vec<String> = found(&text, "").into_iter().map(|f| f.2).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(
        all.iter().any(|m| m.contains("pkg.new.Mix.blend")),
        "{all:?}"
    );
    assert!(all.iter().any(|m| m.contains("keyword depth")), "{all:?}");
    // in a fence or an indented block it is
    for block in ["~~~\nblend(parts, weight)\n~~~", "    blend(parts, weight)"] {
        let text = PROMPT.replace(
            " and its `blend(parts, weight)`.",
            &format!(".\n\n{block}\n"),
        );
        assert_eq!(found(&text, ""), [], "{text}");
    }
}

#[test]
fn numbers_are_found_however_they_are_written() {
    let gold = "SIZE = 73\nSHARE = 0.8125\nBITS = 0b1010101\nMODE = 0o755\nMASK = 0xfe\nROOM = 73 * 1\nBIG = 67108864\n";
    let (base, gold) = (Files::new(), files(&[("a.py", gold)]));
    let leaking = |words: &str| -> usize {
        let sources = Sources {
            base: &base,
            of: vec![("gold", &gold)],
            signatures: Vec::new(),
            allowed: Vec::new(),
        };
        leaks(words, &sources).0.len()
    };
    for words in [
        "at most 73MB",
        "in 73ms",
        "a share of .8125",
        "81.25 % of it",
        "81.25% of it",
        "81.25 percent",
        "`0b1010101`",
        "`85`",
        "`0o755`",
        "`493`",
        "`0XFE`",
        "64MiB",
        "64 MiB or 73",
    ] {
        assert_eq!(leaking(words), 1, "{words}");
    }
    for words in [
        "a73 of x.8125",
        "81.25 of it",
        "float73",
        "3d",
        "72ms",
        "64 of it",
        "1073MB",
    ] {
        assert_eq!(leaking(words), 0, "{words}");
    }
}

#[test]
fn strings_formulas_in_prose_and_files_of_other_kinds_leak_too() {
    let gold = files(&[
        (
            "a.py",
            "HEAD = \"sk-magic-header-v7\"\nMODE = 'all_to_all'\nx = (rows - centre) * ratio / (spread + eps)\n",
        ),
        ("table.yaml", "width: 8191\n"),
        ("uv.lock", "version = \"9.77\"\n"),
    ]);
    let base = files(&[("b.py", "OLD = 'sk-old-header-v6'\n")]);
    let leaking = |words: &str, allowed: &[&'static str]| -> Vec<What> {
        let sources = Sources {
            base: &base,
            of: vec![("gold", &gold)],
            signatures: Vec::new(),
            allowed: allowed.to_vec(),
        };
        leaks(words, &sources)
            .0
            .into_iter()
            .map(|l| l.what)
            .collect()
    };
    let formula = "(rows - centre) * ratio / (spread + eps)";
    for words in [
        format!("It is {formula} for each."),
        format!("It is:\n\n    {formula}\n"),
        format!("~~~\n{formula}\n~~~\n"),
    ] {
        assert!(leaking(&words, &[]).contains(&What::Formula), "{words}");
    }
    let head = "Frames begin with sk-magic-header-v7.";
    assert_eq!(leaking(head, &[]), [What::Constant]);
    assert_eq!(leaking(head, &["sk-magic-header-v7"]), []);
    assert_eq!(
        leaking("sk-old-header-v6, `all_to_all`, xsk-magic-header-v7", &[]),
        []
    );
    assert_eq!(leaking("of 8,191 bytes", &[]), [What::Constant]);
    assert_eq!(leaking("of 9.77 bytes", &[]), []);
}

#[test]
fn words_about_the_judge_and_names_of_the_suite_are_found() {
    use FindingKind::*;
    for (words, message) in [
        ("See test_p.", "names the probe test_p"),
        ("Results are compared with gold there.", "compared with"),
        ("Your work is verified by us.", "verified by"),
        ("Your work is\nevaluated.", "evaluated"),
        ("Look into probes/ for more.", "probes/"),
        ("An official test runs it.", "official test"),
        ("The patch is scored.", "scored"),
    ] {
        let all = found(&PROMPT.replace("Run it.", words), "");
        let hit = all.iter().any(|f| f.0 == Checking && f.2.contains(message));
        assert!(hit, "{words}: {all:?}");
    }
    for words in [
        "Bits are compared with bits.",
        "It is evaluated lazily.",
        "The repository's test suite goes on passing.",
    ] {
        assert_eq!(found(&PROMPT.replace("Run it.", words), ""), [], "{words}");
    }
}

#[test]
fn without_topics_each_item_or_sentence_is_a_promise() {
    use FindingKind::*;
    let with = |body: &str| {
        let (head, rest) = PROMPT.split_once("**Mean.**").unwrap();
        let (_, tail) = rest.split_once("## Working").unwrap();
        let all = found(&format!("{head}{body}\n\n## Working{tail}"), "");
        all.into_iter().map(|f| (f.0, f.1)).collect::<Vec<_>>()
    };
    let sound = "All of this holds:\n\n- Every part\n  counts by its weight.\n- Nothing is left over,\n  not even:\n  - this\n";
    assert_eq!(with(sound), []);
    assert_eq!(
        with(&format!("{sound}- It is new.\n")),
        [(Unprobed, Some(18))]
    );
    assert_eq!(
        with(&format!("{sound}\nAnd it is new.\n")),
        [(Unprobed, Some(19))]
    );
    let numbered = "1. Every part counts by its weight.\n2. Nothing is left over.\n3. It is new.";
    assert_eq!(with(numbered), [(Unprobed, Some(13))]);
    let prose = "Every part counts by its weight. Nothing is left over. It is\nnew, e.g. here.";
    assert_eq!(with(prose), [(Unprobed, Some(11))]);
    let vague = "Every part counts by its weight. Nothing is left over.\n\nIt is fast and handles edge cases well.";
    assert_eq!(with(vague), [(Ambiguous, Some(13)), (Unprobed, Some(13))]);
}
