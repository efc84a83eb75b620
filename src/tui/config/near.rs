//! Which name was meant.

/// The nearest of the names, where one is near enough to be a slip of the fingers.
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().map(|known| (distance(name, known), *known));
    let (far, known) = best.min_by_key(|(far, _)| *far)?;
    (far <= name.chars().count().div_ceil(3)).then_some(known)
}

/// Letters to add, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let kept = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = kept.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let names = ["grade", "grade-gold", "quit"];
        assert_eq!(nearest("garde", &names), Some("grade"));
        assert_eq!(nearest("quti", &names), Some("quit"));
        assert_eq!(nearest("teleport", &names), None);
    }
}
