use super::*;
use crate::algorithm::Sapo;
use crate::learner::{Learner, LearnerConfig};
use crate::testing::{
    TinyLm, assert_close, config, constant, episode, leaf, number, played_by, random_episode, sapo,
    turn, with_numbers_of,
};

/// PPO with the settings of the tests' SAPO.
fn ppo() -> Ppo {
    let Sapo { discount, max_return, invalid_action_penalty, normalization, objective, .. } =
        sapo();
    let temperature = 1.0;
    Ppo { discount, max_return, invalid_action_penalty, normalization, objective, temperature }
}

fn column(targets: &Targets, read: fn(&TurnTarget) -> f32) -> Vec<f32> {
    targets.turns.iter().flatten().map(read).collect()
}

// By hand, see `advantage`: A = [7.3212875, 7.115, 6] of r = [0, -0.1, 10] and V = [1, 2, 4];
// yV = V + A, here over R_max = 10.
#[test]
fn targets_of_three_turns_are_those_of_hand_algebra() {
    let turns = [(0.0, 0.1), (-0.1, 0.2), (10.0, 0.4)].iter().enumerate();
    let turns = turns.map(|(t, &(reward, value))| crate::episode::Turn {
        value,
        ..turn(2 * t + 1..2 * t + 2, reward)
    });
    let episode = episode(vec![0; 6], turns.collect());
    let normalization = Normalization { epsilon: 0.0, ..Normalization::default() };
    let ppo = Ppo { normalization, ..Ppo::default() };
    let targets = ppo.targets(&[episode]);
    let advantages = column(&targets, |target| target.advantage);
    assert_close(&advantages, &[0.877_340, 0.521_906, -1.399_246], 1e-5);
    let values = column(&targets, |target| target.value);
    assert_close(&values, &[0.832_128_75, 0.911_5, 1.0], 1e-6);
    assert_eq!(column(&targets, |target| target.action_value), [0.0; 3]);
}

#[test]
fn advantages_and_value_targets_are_those_of_sapo_where_the_values_are() {
    let mut episodes = played_by(&TinyLm::new(1), 9);
    episodes[2].turns[0].valid = false;
    let (mine, theirs) = (ppo().targets(&episodes), sapo().targets(&episodes));
    for read in [|t: &TurnTarget| t.advantage, |t: &TurnTarget| t.value] {
        assert_eq!(column(&mine, read), column(&theirs, read));
    }
    let summary = TargetSummary { action_value_mean: 0.0, ..theirs.summary };
    let summary = TargetSummary { action_value_explained_variance: None, ..summary };
    assert_eq!(mine.summary, summary);
}

/// A loss batch of two tokens in one turn, whose value is far from its target.
fn batch() -> LossBatch {
    LossBatch {
        old_log_probs: constant(&[-1.0, -0.5]),
        reference_log_probs: None,
        advantages: constant(&[1.0, -2.0]),
        token_weights: constant(&[0.5; 2]),
        old_values: constant(&[0.0]),
        value_targets: constant(&[3.0]),
        old_action_values: constant(&[0.0]),
        action_value_targets: constant(&[3.0]),
        turn_weights: constant(&[1.0]),
    }
}

// By hand, on policy: -(1 - 2)/2 = 0.5, less 0.001 times the mean entropy of 0.4.
#[test]
fn the_loss_reads_no_value_off_the_logits() {
    let value_logits = leaf(&[100.0]);
    let evaluation = Evaluation {
        log_probs: leaf(&[-1.0, -0.5]),
        entropy: constant(&[0.3, 0.5]),
        value_logits: value_logits.clone(),
        action_value_logits: value_logits.clone(),
    };
    let LossOutput { loss, parts } = ppo().loss(evaluation, &batch());
    assert_close(&[number(&loss)], &[0.5 - 0.001 * 0.4], 1e-6);
    assert!(value_logits.grad(&loss.backward()).is_none());
    let statistics = parts.read();
    assert_eq!([statistics.value_loss, statistics.action_value_loss], [0.0; 2]);
    assert_close(&[statistics.policy_loss], &[0.5], 1e-6);
}

/// Episodes whose log-probabilities are those of `model` over the whole vocabulary.
fn played_without_value_tokens(model: &TinyLm) -> Vec<Episode> {
    let whole = Sapo { softmax: ppo().softmax(), ..sapo() };
    (0..5).map(|seed| with_numbers_of(model, &whole, random_episode(seed))).collect()
}

#[test]
fn the_first_ratio_is_one_for_replies_from_the_whole_vocabulary() {
    let model = TinyLm::new(3);
    let first_ratio = |episodes: &[Episode]| {
        let mut learner = Learner::new(model.clone(), config(1e-2));
        learner.update(&ppo(), episodes, None, 0).unwrap().first_step_log_ratio
    };
    let own = first_ratio(&played_without_value_tokens(&model));
    assert!(own < 1e-5, "{own}");
    let restricted = first_ratio(&played_by(&model, 5));
    assert!(restricted > 1e-2, "{restricted}: value tokens take their share of the vocabulary");
}

#[test]
fn values_of_the_critic_stay_where_log_probabilities_are_computed_again() {
    let model = TinyLm::new(4);
    let mut episodes = played_without_value_tokens(&model);
    for (index, turn) in episodes.iter_mut().flat_map(|e| &mut e.turns).enumerate() {
        turn.value = index as f32;
    }
    let value_mean = |recompute_old| {
        let config = LearnerConfig { recompute_old, ..config(1e-2) };
        let mut learner = Learner::new(model.clone(), config);
        learner.update(&ppo(), &episodes, None, 0).unwrap().targets.value_mean
    };
    assert!(value_mean(false) > 1.0);
    assert_eq!(value_mean(true), value_mean(false));
}
