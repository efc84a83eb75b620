//! Passed values never reach what is written, however the stream is cut.

use std::ffi::OsString;

use infradev::agent::adapter::{Adapters, Passed, Redactor};
use infradev::domain::AgentSpec;
use proptest::prelude::*;

pub fn passed(values: &[(&str, &str)]) -> Passed {
    let adapters = Adapters::new("/nonexistent".into());
    let mut spec: AgentSpec = adapters.find("shell").unwrap().spec;
    spec.env.pass = values.iter().map(|(name, _)| format!("{name}?")).collect();
    let look = |name: &str| {
        let found = values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    };
    Passed::resolve(&spec, look).unwrap()
}

fn whole(redactor: &Redactor, text: &[u8]) -> Vec<u8> {
    let mut redactor = redactor.clone();
    let mut out = redactor.push(text);
    out.extend(redactor.finish());
    out
}

#[test]
fn values_are_replaced_by_their_names() {
    let passed = passed(&[
        ("KEY", "sk-abcdef"),
        ("LONG", "sk-abcdefgh"),
        ("N", "1"),
        ("Q", "a\"b/c d\n"),
    ]);
    let redactor = Redactor::new(&passed);
    for (text, kept) in [
        ("x sk-abcdef y", "x [KEY] y"),
        ("sk-abcdefgh", "[LONG]"),
        ("sk-abcdefg", "[KEY]g"),
        ("sk-abcde", "sk-abcde"),
        ("sk-sk-abcdefsk-abcdef", "sk-[KEY][KEY]"),
        // as JSON and URLs have it, and without its newline
        (r#"{"k":"a\"b/c d\n"}"#, r#"{"k":"[Q]"}"#),
        (r#"a\"b\/c d\n"#, "[Q]"),
        ("?k=a%22b%2Fc%20d%0A", "?k=[Q]"),
        ("<a\"b/c d>", "<[Q]>"),
        // too short to be a secret
        ("1 + 1", "1 + 1"),
    ] {
        assert_eq!(redactor.text(text), kept, "{text}");
        assert_eq!(whole(&redactor, text.as_bytes()), kept.as_bytes());
    }
    assert!(!format!("{passed:?}").contains("sk-"));
}

#[test]
fn what_can_be_kept_is_not_held_back() {
    let mut redactor = Redactor::new(&passed(&[("KEY", "secret-1")]));
    assert_eq!(redactor.push(b"line one\nsec"), b"line one\n");
    assert_eq!(redactor.push(b"ond"), b"second");
    assert_eq!(redactor.push(b"secret-"), b"");
    assert_eq!(redactor.push(b"1\n"), b"[KEY]\n");
    assert_eq!(redactor.push(b"secret-"), b"");
    assert_eq!(redactor.finish(), b"secret-");
    assert!(redactor.finish().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(
        secrets in prop::collection::vec("[ab]{6,9}", 1..4),
        text in "[abc]{0,60}",
        cuts in prop::collection::vec(0..60usize, 0..6),
    ) {
        let names = ["A", "B", "C"];
        let values: Vec<(&str, &str)> = names.iter().copied().zip(secrets.iter().map(String::as_str)).collect();
        let redactor = Redactor::new(&passed(&values));
        let at_once = whole(&redactor, text.as_bytes());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut streaming = redactor.clone();
        let mut out = Vec::new();
        let mut from = 0;
        for cut in cuts {
            out.extend(streaming.push(&text.as_bytes()[from..cut]));
            from = cut;
        }
        out.extend(streaming.finish());
        prop_assert_eq!(&out, &at_once);
        let shown = String::from_utf8(out).unwrap();
        for secret in &secrets {
            prop_assert!(!shown.contains(secret.as_str()), "{shown}");
        }
    }
}
