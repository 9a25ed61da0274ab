use super::*;
use crate::env::Status;
use crate::testing::{assert_close, episode, softmax, turn};
use crate::value::{ReadoutKind, ValueTokens};

const GOLDEN_REWARDS: [f32; 3] = [0.0, -0.1, 10.0];

/// SAPO at the paper's discounts with `R_max = 10`, which divides by the bare deviation.
fn golden_sapo() -> Sapo {
    let normalization = Normalization { epsilon: 0.0, ..Normalization::default() };
    Sapo { max_return: 10.0, normalization, ..Sapo::new(softmax()) }
}

/// Without discount, so that a target is a sum of rewards.
fn undiscounted() -> Sapo {
    let discount = Discount { gamma: 1.0, lambda: 1.0 };
    Sapo { discount, max_return: 1.0, ..golden_sapo() }
}

/// An episode whose turns are one context and one response token each.
fn played(rewards: &[f32]) -> Episode {
    let turns = rewards.iter().enumerate().map(|(t, &reward)| turn(2 * t + 1..2 * t + 2, reward));
    episode(vec![0; 2 * rewards.len()], turns.collect())
}

/// The three turns of the golden values: V = [1, 2, 4] and Q = [1.5, 2.5, 6].
fn golden_episode() -> Episode {
    let mut episode = played(&GOLDEN_REWARDS);
    let reads = [(0.1, 0.15), (0.2, 0.25), (0.4, 0.6)];
    for (turn, (value, action_value)) in episode.turns.iter_mut().zip(reads) {
        (turn.value, turn.action_value) = (value, action_value);
    }
    episode
}

fn column(targets: &[TurnTarget], read: fn(&TurnTarget) -> f32) -> Vec<f32> {
    targets.iter().map(read).collect()
}

// By hand, see `advantage`: A = [7.3212875, 7.115, 6], so yV = V + A = [8.3212875, 9.115, 10] and
// yQ = [0.95 2.5, -0.1 + 0.95 6, 10]; mean(A) = 6.8120958, std(A) = 0.5803835. Targets are over R_max.
#[test]
fn targets_of_three_turns_are_those_of_hand_algebra() {
    let targets = golden_sapo().targets(&[golden_episode()]);
    let turns = &targets.turns[0];
    let advantages = column(turns, |t| t.advantage);
    assert_close(&advantages, &[0.877_340, 0.521_906, -1.399_246], 1e-5);
    assert_close(&column(turns, |t| t.value), &[0.832_128_75, 0.911_5, 1.0], 1e-6);
    assert_close(&column(turns, |t| t.action_value), &[0.237_5, 0.56, 1.0], 1e-6);
    let summary = targets.summary;
    assert!((summary.advantage_mean - 6.812_095_8).abs() < 1e-5, "{summary:?}");
    assert!((summary.advantage_std - 0.580_383_5).abs() < 1e-5, "{summary:?}");
    assert!((summary.value_mean - 7.0 / 3.0).abs() < 1e-6, "{summary:?}");
    assert!((summary.action_value_mean - 10.0 / 3.0).abs() < 1e-6, "{summary:?}");
    assert!(!summary.degenerate);
}

// By hand: yV - V = A, so 1 - Var(A)/Var(yV) = 1 - 0.3368450/0.4739158; Var over three numbers.
#[test]
fn explained_variance_compares_a_value_with_its_target() {
    let summary = golden_sapo().targets(&[golden_episode()]).summary;
    let variance = |numbers: [f64; 3]| {
        let mean = numbers.iter().sum::<f64>() / 3.0;
        numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0
    };
    let value = 1.0 - variance([7.321_287_5, 7.115, 6.0]) / variance([8.321_287_5, 9.115, 10.0]);
    let action_value = 1.0 - variance([0.875, 3.1, 4.0]) / variance([2.375, 5.6, 10.0]);
    assert!((summary.value_explained_variance.unwrap() - value).abs() < 1e-5);
    assert!((summary.action_value_explained_variance.unwrap() - action_value).abs() < 1e-5);
}

#[test]
fn an_invalid_action_costs_advantage_and_no_value() {
    let sapo = Sapo { invalid_action_penalty: 3.0, ..golden_sapo() };
    let mut episode = golden_episode();
    let free = sapo.targets(&[episode.clone()]);
    episode.turns[1].valid = false;
    let fined = sapo.targets(&[episode]);
    for read in [|t: &TurnTarget| t.value, |t: &TurnTarget| t.action_value] {
        assert_eq!(column(&fined.turns[0], read), column(&free.turns[0], read));
    }
    // By hand: the mean of A falls by 3 / 3, and turn 2, at 4.115, is now below it.
    let fall = free.summary.advantage_mean - fined.summary.advantage_mean;
    assert!((fall - 1.0).abs() < 1e-5, "{fall}");
    assert!(free.turns[0][1].advantage > 0.0 && fined.turns[0][1].advantage < 0.0);
}

#[test]
fn a_truncated_episode_ends_with_nothing_unless_it_is_bootstrapped() {
    let mut episode = played(&[0.0, 1.0]);
    episode.end = End::Truncated { value: Some(0.5) };
    let terminal = golden_sapo();
    let bootstrap = Sapo { truncation: Truncation::Bootstrap, ..golden_sapo() };
    let ends = |sapo: &Sapo, episode: &Episode| {
        let targets = sapo.targets(std::slice::from_ref(episode));
        let last = targets.turns[0][1];
        [last.value, last.action_value]
    };
    // By hand, with V = Q = 0 and R_max = 10: 1/10, and (1 + 0.95 5)/10.
    assert_close(&ends(&terminal, &episode), &[0.1, 0.1], 1e-6);
    assert_close(&ends(&bootstrap, &episode), &[0.575, 0.575], 1e-6);
    episode.end = End::Truncated { value: None };
    assert_close(&ends(&bootstrap, &episode), &[0.1, 0.1], 1e-6);
    episode.end = End::Terminated;
    assert_close(&ends(&bootstrap, &episode), &[0.1, 0.1], 1e-6);
    assert!(Status::Truncated.is_done());
}

#[test]
fn turns_without_reward_are_kept() {
    let targets = undiscounted().targets(&[played(&[0.0, 0.0, 1.0])]);
    assert_eq!(column(&targets.turns[0], |t| t.value), [1.0, 1.0, 1.0]);
}

// By hand: the sums of the rewards from each turn on.
#[test]
fn the_reward_of_every_turn_counts() {
    let targets = undiscounted().targets(&[played(&[1.0, 0.0, 2.0])]);
    assert_eq!(column(&targets.turns[0], |t| t.value), [3.0, 2.0, 2.0]);
    assert_eq!(column(&targets.turns[0], |t| t.action_value), [1.0, 0.0, 2.0]);
}

#[test]
fn observations_have_no_part_in_the_targets() {
    let plain = golden_episode();
    let mut long = plain.clone();
    long.streams[0].tokens = vec![4; 100];
    for (turn, start) in long.turns.iter_mut().zip([10, 40, 90]) {
        turn.response = start..start + 1;
    }
    assert_eq!(golden_sapo().targets(&[long]), golden_sapo().targets(&[plain]));
}

// By hand: A = [0], [1, 1, 1]; over four turns the mean is 3/4 and the deviation sqrt(3)/4.
#[test]
fn advantages_are_normalized_over_turns_and_not_over_episodes() {
    let targets = undiscounted().targets(&[played(&[0.0]), played(&[0.0, 0.0, 1.0])]);
    let root = 3.0_f32.sqrt();
    assert_close(&column(&targets.turns[0], |t| t.advantage), &[-root], 1e-6);
    assert_close(&column(&targets.turns[1], |t| t.advantage), &[1.0 / root; 3], 1e-6);
}

#[test]
fn each_episode_keeps_its_own_targets_in_any_order() {
    let (a, b) = (golden_episode(), played(&[1.0]));
    let forth = golden_sapo().targets(&[a.clone(), b.clone()]);
    let back = golden_sapo().targets(&[b, a]);
    for (there, here) in forth.turns.iter().zip(back.turns.iter().rev()) {
        for read in [|t: &TurnTarget| t.value, |t: &TurnTarget| t.advantage] {
            assert_close(&column(there, read), &column(here, read), 1e-6);
        }
    }
}

#[test]
fn where_no_turn_differs_there_is_no_advantage_and_the_summary_says_so() {
    for episodes in [vec![played(&[1.0]); 4], vec![played(&[0.7])], vec![played(&[0.0, 0.0])]] {
        let targets = golden_sapo().targets(&episodes);
        assert!(targets.summary.degenerate);
        assert!(targets.turns.iter().flatten().all(|turn| turn.advantage == 0.0));
        assert_eq!(targets.summary.value_explained_variance, None);
    }
}

#[test]
fn no_episodes_have_no_targets() {
    let targets = golden_sapo().targets(&[]);
    assert!(targets.turns.is_empty() && targets.summary.degenerate);
    assert_eq!(targets.summary.saturation, 0.0);
}

// By hand: 1, -1 and 1 of the six reads of three turns are at a bound.
#[test]
fn the_share_of_saturated_reads_is_counted() {
    let mut sapo = golden_sapo();
    let mut episode = golden_episode();
    episode.turns[0].value = 1.0;
    episode.turns[1].action_value = -1.0;
    episode.turns[2].value = 1.0;
    assert_eq!(sapo.targets(&[episode.clone()]).summary.saturation, 0.0);
    sapo.objective.readout.kind = ReadoutKind::Clipped;
    assert_eq!(sapo.targets(&[episode]).summary.saturation, 0.5);
}

#[test]
fn a_reference_is_needed_only_for_a_divergence() {
    let value_tokens = ValueTokens::new(0, 1, 2).unwrap();
    let mut sapo = Sapo::new(ActionSoftmax { value_tokens: Some(value_tokens), temperature: 1.0 });
    assert!(sapo.needs_reference());
    sapo.objective.kl_coefficient = 0.0;
    assert!(!sapo.needs_reference());
}
