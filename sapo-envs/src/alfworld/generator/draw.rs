//! Small draws that several steps share.

use std::ops::RangeInclusive;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// An index, with a chance in proportion to its weight. None if all weights are 0.
pub(super) fn weighted(weights: impl Iterator<Item = f64>, rng: &mut ChaCha8Rng) -> Option<usize> {
    let weights: Vec<f64> = weights.collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut left = rng.random::<f64>() * total;
    let mut last = None;
    for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = Some(index);
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// What two ranges have in common; the second one if that is nothing.
pub(super) fn overlap(
    usual: RangeInclusive<usize>,
    wanted: &RangeInclusive<usize>,
) -> RangeInclusive<usize> {
    let common = *usual.start().max(wanted.start())..=*usual.end().min(wanted.end());
    if common.is_empty() { wanted.clone() } else { common }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_weight_of_zero_is_never_drawn() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..200 {
            assert_eq!(weighted([0.0, 2.0, 0.0].into_iter(), &mut rng), Some(1));
        }
        assert_eq!(weighted([0.0].into_iter(), &mut rng), None);
    }

    #[test]
    fn a_wish_outside_of_the_usual_is_granted() {
        assert_eq!(overlap(20..=46, &(6..=10)), 6..=10);
        assert_eq!(overlap(6..=24, &(10..=54)), 10..=24);
    }
}
