//! Statistics of counts. All are exact or closed forms; nothing is sampled.

/// 97.5 % point of the normal distribution: two-sided 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval of `count` of `of`; `None` of nothing.
pub fn wilson(count: usize, of: usize) -> Option<(f64, f64)> {
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, count as f64 / of as f64);
    let z2 = Z * Z;
    let scale = 1.0 + z2 / n;
    let centre = (p + z2 / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(((centre - half).max(0.0), (centre + half).min(1.0)))
}

/// Standard error of the share `count` of `of`: sqrt(p (1 - p) / n).
pub fn standard_error(count: usize, of: usize) -> Option<f64> {
    let p = share(count, of)?;
    Some((p * (1.0 - p) / of as f64).sqrt())
}

/// Exact McNemar: the two-sided binomial probability of discordant pairs as uneven as these, with
/// either way equally likely. 1 where nothing changed.
pub fn mcnemar(fixed: usize, regressed: usize) -> f64 {
    let n = fixed + regressed;
    // C(n, k) / 2^n in logarithms: counts may be large
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = term.exp();
    for k in 0..fixed.min(regressed) {
        term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        tail += term.exp();
    }
    (2.0 * tail).min(1.0)
}

/// Chance that at least one of `k` runs, drawn from `runs` of which `solved` are, is solved
/// (pass@k), and that all of them are (all-k). `None` where there are fewer runs than `k`.
pub fn at_k(runs: usize, solved: usize, k: usize) -> Option<(f64, f64)> {
    if k > runs || solved > runs {
        return None;
    }
    let none = drawn(runs, runs - solved, k);
    Some((1.0 - none, drawn(runs, solved, k)))
}

/// C(of, k) / C(runs, k): the chance that all `k` drawn are among the `of`.
fn drawn(runs: usize, of: usize, k: usize) -> f64 {
    (0..k)
        .map(|i| of.saturating_sub(i) as f64 / (runs - i) as f64)
        .product()
}

/// `count` of `of`; `None` of nothing.
pub fn share(count: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample variance (by n - 1); `None` of fewer than two.
pub fn variance(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|v| (v - middle).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn known_values() {
        // R: binom.test(1, 10) 0.02148438; mcnemar of (8, 2) 0.109375
        assert!(close(mcnemar(1, 9), 0.021_484_375));
        assert!(close(mcnemar(8, 2), 0.109_375));
        assert!(close(mcnemar(0, 0), 1.0) && close(mcnemar(5, 5), 1.0));
        assert!(mcnemar(2000, 0) < 1e-300);
        // Wilson 1927 as R's prop.test(14, 36, correct = FALSE)
        let (low, high) = wilson(14, 36).unwrap();
        assert!((low - 0.2478).abs() < 1e-3 && (high - 0.5513).abs() < 1e-3);
        assert!((standard_error(14, 36).unwrap() - 0.081).abs() < 5e-4);
        assert_eq!(wilson(0, 0), None);
        let (some, all) = at_k(4, 2, 2).unwrap();
        assert!(close(some, 1.0 - 1.0 / 6.0) && close(all, 1.0 / 6.0));
        assert_eq!(at_k(1, 1, 2), None);
        assert_eq!(variance(&[1.0]), None);
        assert!(close(variance(&[1.0, 0.0]).unwrap(), 0.5));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_rate(of in 1_usize..500, part in 0.0..=1.0_f64) {
            let count = (of as f64 * part) as usize;
            let (low, high) = wilson(count, of).unwrap();
            let p = share(count, of).unwrap();
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= p + 1e-12 && p <= high + 1e-12);
            // the other way round it is the mirror image
            let (other_low, other_high) = wilson(of - count, of).unwrap();
            prop_assert!(close(low, 1.0 - other_high) && close(high, 1.0 - other_low));
        }

        #[test]
        fn mcnemar_is_a_probability_and_has_no_side(b in 0_usize..300, c in 0_usize..300) {
            let p = mcnemar(b, c);
            prop_assert!(p > 0.0 && p <= 1.0);
            prop_assert!(close(p, mcnemar(c, b)));
            // more one-sided is less likely
            let (few, many) = (b.min(c), b.max(c));
            if few > 0 {
                prop_assert!(mcnemar(few - 1, many + 1) <= p + 1e-12);
            }
        }

        #[test]
        fn more_tries_solve_more_and_all_of_them_less(runs in 1_usize..20, part in 0_usize..20) {
            let solved = part.min(runs);
            let each: Vec<(f64, f64)> = (1..=runs).map(|k| at_k(runs, solved, k).unwrap()).collect();
            let p = share(solved, runs).unwrap();
            prop_assert!(close(each[0].0, p) && close(each[0].1, p));
            for pair in each.windows(2) {
                prop_assert!(pair[1].0 >= pair[0].0 - 1e-12 && pair[1].1 <= pair[0].1 + 1e-12);
            }
            prop_assert!(close(each[runs - 1].0, f64::from(u8::from(solved > 0))));
            prop_assert!(close(each[runs - 1].1, f64::from(u8::from(solved == runs))));
        }
    }
}
