use super::*;
use crate::error::Error;
use crate::learner::Learner;
use crate::testing::{
    TinyLm, assert_close, config, episode, random_episode, sapo, turn, with_numbers_of,
};

/// An episode of `task` with one turn a reward.
fn played(task: &str, rewards: &[f32]) -> Episode {
    let turns = rewards.iter().enumerate().map(|(t, &reward)| turn(2 * t + 1..2 * t + 2, reward));
    Episode { task: task.to_owned(), ..episode(vec![0; 2 * rewards.len()], turns.collect()) }
}

fn advantages(targets: &Targets) -> Vec<Vec<f32>> {
    let of_episode = |turns: &Vec<TurnTarget>| turns.iter().map(|t| t.advantage).collect();
    targets.turns.iter().map(of_episode).collect()
}

// By hand: the returns of "a" are 1, 3 (mean 2, sample deviation sqrt 2), those of "b" are 0, 0.
#[test]
fn every_turn_has_the_advantage_of_its_episode_in_its_group() {
    let episodes = [
        played("a", &[0.0, 1.0]),
        played("b", &[0.0]),
        played("a", &[1.0, 1.0, 1.0]),
        played("b", &[1.0, -1.0]),
    ];
    let targets = Grpo::default().targets(&episodes);
    let unit = 0.5_f32.sqrt();
    let [first, second, third, fourth] = &advantages(&targets)[..] else { panic!("4 episodes") };
    assert_close(first, &[-unit; 2], 1e-5);
    assert_close(third, &[unit; 3], 1e-5);
    assert_eq!((&second[..], &fourth[..]), (&[0.0][..], &[0.0; 2][..]));
    assert!(!targets.summary.degenerate);
    // By hand: five of eight turns count, 3 - 2 = 1 of them more for the better episode.
    assert!((targets.summary.advantage_mean - f64::from(unit) / 8.0).abs() < 1e-5);
    let plain = Grpo { scale: GroupScale::One, ..Grpo::default() }.targets(&episodes);
    assert_close(&advantages(&plain)[2], &[1.0; 3], 1e-6);
}

#[test]
fn groups_without_a_difference_are_degenerate() {
    let episodes = [played("a", &[1.0]), played("b", &[0.0]), played("a", &[1.0])];
    let targets = Grpo::default().targets(&[episodes[0].clone(), episodes[2].clone()]);
    assert!(targets.summary.degenerate);
    assert!(Grpo::default().targets(&[]).summary.degenerate);
}

/// Six episodes of two tasks, with the log-probabilities of `model` over the whole vocabulary.
fn two_groups(model: &TinyLm) -> Vec<Episode> {
    let whole = crate::algorithm::Sapo { softmax: Grpo::default().softmax(), ..sapo() };
    let label = |seed: u64| Episode {
        task: (seed % 2).to_string(),
        ..with_numbers_of(model, &whole, random_episode(seed))
    };
    (0..6).map(label).collect()
}

#[test]
fn an_update_makes_the_better_of_a_group_likelier() {
    let model = TinyLm::new(2);
    let mut grpo = Grpo::default();
    (grpo.objective.kl_coefficient, grpo.objective.entropy_coefficient) = (0.0, 0.0);
    let episodes = two_groups(&model);
    let mut learner = Learner::new(model, config(3e-3));
    let before = learner.update(&grpo, &episodes, None, 0).unwrap();
    assert!(before.first_step_log_ratio < 1e-5, "{}", before.first_step_log_ratio);
    let after = learner.update(&grpo, &episodes, None, 0).unwrap();
    assert!(after.loss.policy_loss < before.loss.policy_loss - 1e-3);
    assert_eq!([after.loss.value_loss, after.loss.action_value_loss], [0.0; 2]);
}

#[test]
fn a_divergence_is_measured_against_a_reference_where_it_has_a_weight() {
    let [model, other] = [4, 5].map(TinyLm::new);
    let episodes = two_groups(&model);
    let kl = |reference| {
        let mut learner = Learner::new(model.clone(), config(1e-2));
        learner.update(&Grpo::default(), &episodes, reference, 0).map(|report| report.loss.kl)
    };
    assert!(kl(Some(&model)).unwrap().abs() < 1e-6);
    assert!(kl(Some(&other)).unwrap() > 0.01);
    assert!(matches!(kl(None), Err(Error::NoReference)));
}
