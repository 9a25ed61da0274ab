//! Returns, advantages and value targets over the turns of an episode, on plain slices.
//!
//! Everything here is pure arithmetic on the host. A position is a turn: observations between turns do
//! not exist at this level, so no estimate can run over them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Discounting over turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Discount {
    /// The discount `gamma` of a turn.
    pub gamma: f32,
    /// The decay `lambda` of generalised advantage estimation.
    pub lambda: f32,
}

impl Default for Discount {
    /// The paper's 0.95 for both.
    fn default() -> Self {
        Discount { gamma: 0.95, lambda: 0.95 }
    }
}

/// Turn-level generalised advantage estimates of one episode.
///
/// ```text
/// delta_t = r_t + gamma V_{t+1} - V_t
/// A_t     = delta_t + gamma lambda A_{t+1},   A_{T+1} = 0
/// ```
/// `V_{T+1}` is `bootstrap`: 0 at a terminal state. Schulman et al., arXiv 1506.02438, eq. 16.
///
/// # Panics
/// If `rewards` and `values` differ in length.
pub fn generalized_advantages(
    rewards: &[f32],
    values: &[f32],
    bootstrap: f32,
    discount: Discount,
) -> Vec<f32> {
    assert_eq!(rewards.len(), values.len(), "one reward and one value a turn");
    let (gamma, lambda) = (f64::from(discount.gamma), f64::from(discount.lambda));
    let mut advantages = vec![0.0; rewards.len()];
    let (mut next_value, mut next_advantage) = (f64::from(bootstrap), 0.0);
    for turn in (0..rewards.len()).rev() {
        let value = f64::from(values[turn]);
        let delta = f64::from(rewards[turn]) + gamma * next_value - value;
        next_advantage = delta + gamma * lambda * next_advantage;
        next_value = value;
        advantages[turn] = next_advantage as f32;
    }
    advantages
}

/// One-step on-policy targets for action values: `yQ_t = r_t + gamma Q_{t+1}`, where `Q_{T+1}` is
/// `bootstrap`.
///
/// # Panics
/// If `rewards` and `action_values` differ in length.
pub fn sarsa_targets(
    rewards: &[f32],
    action_values: &[f32],
    bootstrap: f32,
    gamma: f32,
) -> Vec<f32> {
    assert_eq!(rewards.len(), action_values.len(), "one reward and one action value a turn");
    let following = action_values.iter().skip(1).copied().chain([bootstrap]);
    rewards.iter().zip(following).map(|(reward, next)| reward + gamma * next).collect()
}

/// Which standard deviation a batch is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// Divides the squares by `n`.
    #[default]
    Population,
    /// Divides the squares by `n - 1`.
    Sample,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The arithmetic mean; 0 of nothing.
    pub mean: f64,
    /// The standard deviation; 0 of fewer than two numbers.
    pub std: f64,
}

impl Moments {
    /// The moments of `numbers`.
    pub fn of(numbers: &[f32], deviation: Deviation) -> Self {
        let count = numbers.len() as f64;
        if numbers.is_empty() {
            return Moments { mean: 0.0, std: 0.0 };
        }
        let mean = numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        if numbers.len() < 2 {
            return Moments { mean, std: 0.0 };
        }
        let squares = numbers.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>();
        let divisor = match deviation {
            Deviation::Population => count,
            Deviation::Sample => count - 1.0,
        };
        Moments { mean, std: (squares / divisor).sqrt() }
    }

    /// Whether the numbers are all equal, up to a few roundings of single precision.
    pub fn is_constant(self) -> bool {
        self.std <= 8.0 * f64::from(f32::EPSILON) * self.mean.abs().max(1.0)
    }
}

/// Shifts and scales `numbers` to mean 0 and deviation 1: `(x - mean) / (std + epsilon)`.
///
/// Where there is nothing to compare (fewer than two numbers, or all equal up to rounding) the result is
/// 0 throughout. Returns whether that was so.
pub fn normalize(numbers: &mut [f32], deviation: Deviation, epsilon: f64) -> bool {
    let moments = Moments::of(numbers, deviation);
    if moments.is_constant() {
        numbers.fill(0.0);
        return true;
    }
    for number in numbers {
        *number = ((f64::from(*number) - moments.mean) / (moments.std + epsilon)) as f32;
    }
    false
}

/// What the distance of a return from its group's mean is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupScale {
    /// The group's sample standard deviation and 1e-6 (GRPO, arXiv 2402.03300, as verl computes it).
    #[default]
    Deviation,
    /// Nothing (Dr. GRPO, arXiv 2503.20783).
    One,
}

/// Returns compared inside groups: those with equal labels.
///
/// ```text
/// A = (R - mean_g) / (std_g + 1e-6)
/// ```
/// A group of one has nothing to be compared with: its mean counts as 0 and its deviation as 1, as in
/// verl. In a group of equal returns, up to rounding, all advantages are 0.
///
/// # Panics
/// If there is not one label a return.
pub fn group_advantages<L: Ord>(returns: &[f32], labels: &[L], scale: GroupScale) -> Vec<f32> {
    const EPSILON: f64 = 1e-6;
    assert_eq!(returns.len(), labels.len(), "one group a return");
    let mut groups: BTreeMap<&L, Vec<f32>> = BTreeMap::new();
    for (label, &number) in labels.iter().zip(returns) {
        groups.entry(label).or_default().push(number);
    }
    let advantage = |(label, &number): (&L, &f32)| {
        let moments = match &groups[label][..] {
            [_] => Moments { mean: 0.0, std: 1.0 },
            group => Moments::of(group, Deviation::Sample),
        };
        let distance = f64::from(number) - moments.mean;
        match scale {
            _ if moments.is_constant() => 0.0,
            GroupScale::Deviation => (distance / (moments.std + EPSILON)) as f32,
            GroupScale::One => distance as f32,
        }
    };
    labels.iter().zip(returns).map(advantage).collect()
}

/// The share of the targets' variance that the predictions account for:
/// `1 - Var(target - prediction) / Var(target)`; 1 is perfect, 0 is no better than the mean.
///
/// `None` where the targets do not vary.
pub fn explained_variance(predictions: &[f32], targets: &[f32]) -> Option<f64> {
    let errors: Vec<f32> = targets.iter().zip(predictions).map(|(y, v)| y - v).collect();
    let [error, total] = [&errors, targets].map(|n| Moments::of(n, Deviation::Population));
    (!total.is_constant()).then(|| 1.0 - (error.std / total.std).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REWARDS: [f32; 3] = [0.0, -0.1, 10.0];

    fn assert_close(actual: &[f32], expected: &[f32]) {
        assert_eq!(actual.len(), expected.len());
        for (a, e) in actual.iter().zip(expected) {
            assert!((a - e).abs() <= 1e-5 * e.abs().max(1.0), "{actual:?} is not {expected:?}");
        }
    }

    // By hand: A_3 = 10 - 4 = 6; delta_2 = -0.1 + 0.95 * 4 - 2 = 1.7, A_2 = 1.7 + 0.9025 * 6 = 7.115;
    // delta_1 = 0.95 * 2 - 1 = 0.9, A_1 = 0.9 + 0.9025 * 7.115 = 7.3212875.
    #[test]
    fn advantages_of_three_turns_are_those_of_hand_algebra() {
        let advantages =
            generalized_advantages(&REWARDS, &[1.0, 2.0, 4.0], 0.0, Discount::default());
        assert_close(&advantages, &[7.321_287_5, 7.115, 6.0]);
    }

    // By hand: [0.95 * 2.5, -0.1 + 0.95 * 6, 10].
    #[test]
    fn sarsa_looks_one_turn_ahead() {
        assert_close(&sarsa_targets(&REWARDS, &[1.5, 2.5, 6.0], 0.0, 0.95), &[2.375, 5.6, 10.0]);
    }

    #[test]
    fn a_bootstrap_enters_the_last_turn_only() {
        // By hand: 1 + 0.5 * 4 = 3 for both; the first SARSA target is 0 + 0.5 * 2.
        assert_close(&sarsa_targets(&[0.0, 1.0], &[0.0, 2.0], 4.0, 0.5), &[1.0, 3.0]);
        let discount = Discount { gamma: 0.5, lambda: 0.0 };
        assert_close(&generalized_advantages(&[0.0, 1.0], &[0.0; 2], 4.0, discount), &[0.0, 3.0]);
    }

    #[test]
    fn with_lambda_one_and_no_values_an_advantage_is_the_return() {
        let discount = Discount { gamma: 1.0, lambda: 1.0 };
        assert_close(
            &generalized_advantages(&[1.0, 0.0, 2.0], &[0.0; 3], 0.0, discount),
            &[3.0, 2.0, 2.0],
        );
    }

    #[test]
    fn normalizing_golden_advantages_gives_golden_values() {
        let mut numbers = [7.321_287_5, 7.115, 6.0];
        assert!(!normalize(&mut numbers, Deviation::Population, 0.0));
        assert_close(&numbers, &[0.877_340, 0.521_906, -1.399_246]);
    }

    #[test]
    fn nothing_to_compare_normalizes_to_zero() {
        for numbers in [&mut [][..], &mut [3.0], &mut [0.1; 7]] {
            assert!(normalize(numbers, Deviation::Population, 1e-8));
            assert!(numbers.iter().all(|&x| x == 0.0));
        }
    }

    #[test]
    fn the_sample_deviation_divides_by_one_less() {
        assert_eq!(Moments::of(&[1.0, 3.0], Deviation::Population).std, 1.0);
        assert_eq!(Moments::of(&[1.0, 3.0], Deviation::Sample).std, 2.0_f64.sqrt());
    }

    // By hand: group a is [1, 3] with mean 2 and sample deviation sqrt(2), group b [0, 0, 3] with mean 1 and
    // sample deviation sqrt(3); c is alone.
    #[test]
    fn a_return_is_compared_with_those_of_its_group() {
        let (returns, groups) = ([1.0, 0.0, 3.0, 0.0, 5.0, 3.0], ["a", "b", "a", "b", "c", "b"]);
        let [a, b] = [1.0 / 2.0_f32.sqrt(), 1.0 / 3.0_f32.sqrt()];
        let scaled = group_advantages(&returns, &groups, GroupScale::Deviation);
        assert_close(&scaled, &[-a, -b, a, -b, 5.0, 2.0 * b]);
        let plain = group_advantages(&returns, &groups, GroupScale::One);
        assert_close(&plain, &[-1.0, -1.0, 1.0, -1.0, 5.0, 2.0]);
    }

    #[test]
    fn a_group_of_equal_returns_has_nothing_to_tell() {
        for scale in [GroupScale::Deviation, GroupScale::One] {
            assert_eq!(group_advantages(&[0.1; 3], &[0; 3], scale), [0.0; 3]);
        }
        assert!(group_advantages::<u8>(&[], &[], GroupScale::One).is_empty());
    }

    #[test]
    fn explained_variance_is_one_for_the_target_and_zero_for_its_mean() {
        let targets = [1.0, 2.0, 6.0];
        assert_eq!(explained_variance(&targets, &targets), Some(1.0));
        assert_eq!(explained_variance(&[3.0; 3], &targets), Some(0.0));
        assert_eq!(explained_variance(&[1.0, 2.0], &[5.0, 5.0]), None);
        assert_eq!(explained_variance(&[1.0, 2.0], &[5.0, 5.0 + 1e-6]), None, "mere rounding");
    }
}
