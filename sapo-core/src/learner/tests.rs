use std::path::PathBuf;

use burn::tensor::FloatDType;

use super::*;
use crate::advantage::Discount;
use crate::algorithm::Sapo;
use crate::objective::Objective;
use crate::testing::{
    TinyLm, assert_close, central_differences, config, episode, floats, played_by, sapo, turn,
    with_numbers_of,
};

fn streams_of(sapo: &Sapo, episodes: &[Episode]) -> Vec<TrainStream> {
    TrainStream::collect(episodes, &sapo.targets(episodes)).unwrap()
}

/// Numbers played by another model, so that ratios, values and their targets are all in motion.
fn off_policy() -> (Learner<TinyLm>, Sapo, Vec<TrainStream>) {
    let sapo = sapo();
    let streams = streams_of(&sapo, &played_by(&TinyLm::new(1), 7));
    (Learner::new(TinyLm::new(2), config(1e-2)), sapo, streams)
}

fn joint_loss(objective: &Objective, statistics: &LossStatistics) -> f32 {
    statistics.policy_loss
        + objective.value_coefficient * statistics.value_loss
        + objective.action_value_coefficient * statistics.action_value_loss
        + objective.kl_coefficient * statistics.kl
        - objective.entropy_coefficient * statistics.entropy
}

fn loss_and_gradient(
    learner: &Learner<TinyLm>,
    sapo: &Sapo,
    streams: &[&TrainStream],
) -> (f32, Vec<f32>) {
    let (gradients, statistics) = learner.gradients(sapo, streams);
    let model = learner.model();
    let gradient = [&model.words, &model.places, &model.head]
        .iter()
        .flat_map(|weight| floats(&gradients.get::<2>(weight.id).unwrap()))
        .collect();
    (joint_loss(&sapo.objective, &statistics), gradient)
}

#[test]
fn micro_batches_in_any_split_and_order_add_up() {
    let (mut learner, sapo, streams) = off_policy();
    learner.config.micro_batch_tokens = 1000;
    let whole: Vec<&TrainStream> = streams.iter().collect();
    let (loss, gradient) = loss_and_gradient(&learner, &sapo, &whole);
    assert!(gradient.iter().any(|slope| slope.abs() > 1e-2), "{gradient:?}");
    for seed in 0..12 {
        learner.config.micro_batch_tokens = [1, 20, 30, 45][seed as usize % 4];
        let mut shuffled = whole.clone();
        seed::shuffle(&mut shuffled, seed);
        let (split_loss, split_gradient) = loss_and_gradient(&learner, &sapo, &shuffled);
        assert_close(&[split_loss], &[loss], 1e-5);
        assert_close(&split_gradient, &gradient, 1e-5);
    }
}

#[test]
fn more_padding_changes_nothing() {
    let (mut learner, sapo, mut streams) = off_policy();
    learner.config.micro_batch_tokens = 1000;
    let plain = loss_and_gradient(&learner, &sapo, &streams.iter().collect::<Vec<_>>());
    // Tokens behind the last reply of the longest stream pad all the others further.
    let longest = streams.iter_mut().max_by_key(|stream| stream.tokens.len()).unwrap();
    longest.tokens.resize(24, 3);
    let padded = loss_and_gradient(&learner, &sapo, &streams.iter().collect::<Vec<_>>());
    assert_close(&[padded.0], &[plain.0], 1e-5);
    assert_close(&padded.1, &plain.1, 1e-5);
}

#[test]
fn the_gradient_of_every_weight_is_that_of_finite_differences() {
    let (learner, mut sapo, mut streams) = off_policy();
    sapo.objective.entropy_coefficient = 0.1;
    sapo.objective.kl_coefficient = 0.2;
    learner.score_reference(&sapo, &TinyLm::new(3), &mut streams);
    // Out of reach of the clips, whose kinks finite differences do not like.
    sapo.objective.clip = crate::objective::RatioClip { low: 0.99, high: 1e3 };
    (sapo.objective.value_clip, sapo.objective.action_value_clip) = (1e3, 1e3);
    let streams: Vec<&TrainStream> = streams.iter().take(3).collect();
    let (_, gradient) = loss_and_gradient(&learner, &sapo, &streams);
    let model = learner.into_model();
    let differences = central_differences(&model.weights(), |weights| {
        let learner = Learner::new(model.clone().with_weights(weights), config(0.0));
        joint_loss(&sapo.objective, &learner.gradients(&sapo, &streams).1)
    });
    assert_close(&gradient, &differences, 2e-3);
}

#[test]
fn one_step_lowers_the_loss() {
    let sapo = sapo();
    let model = TinyLm::new(4);
    let episodes = played_by(&model, 8);
    let streams = streams_of(&sapo, &episodes);
    let streams: Vec<&TrainStream> = streams.iter().collect();
    let mut learner = Learner::new(model, config(3e-3));
    let (before, _) = loss_and_gradient(&learner, &sapo, &streams);
    let report = learner.update(&sapo, &episodes, None, 0).unwrap();
    let (after, _) = loss_and_gradient(&learner, &sapo, &streams);
    assert!(after < before - 1e-3, "{before} became {after}");
    assert_eq!((report.steps, report.skipped_steps, report.learning_rate), (1, 0, 3e-3));
    assert_close(&[joint_loss(&sapo.objective, &report.loss)], &[before], 1e-5);
}

#[test]
fn the_ratio_of_the_first_step_is_one_however_the_streams_are_batched() {
    for temperature in [1.0, 0.5] {
        let mut sapo = sapo();
        sapo.softmax.temperature = temperature;
        let model = TinyLm::new(5);
        let episodes: Vec<Episode> = (0..6)
            .map(|seed| with_numbers_of(&model, &sapo, crate::testing::random_episode(seed)))
            .collect();
        for micro_batch_tokens in [1, 50, 500] {
            let config = LearnerConfig { micro_batch_tokens, ..config(1e-2) };
            let mut learner = Learner::new(model.clone(), config);
            let report = learner.update(&sapo, &episodes, None, 0).unwrap();
            assert!(report.first_step_log_ratio < 1e-5, "{}", report.first_step_log_ratio);
            assert_eq!(report.loss.clip_fraction, 0.0);
        }
    }
}

#[test]
fn workers_share_the_micro_batches_of_a_step() {
    let model = TinyLm::new(7);
    let episodes = played_by(&model, 6);
    let streams = TrainStream::collect(&episodes, &sapo().targets(&episodes)).unwrap();
    let streams: Vec<&TrainStream> = streams.iter().collect();
    let gradient = |workers| {
        let config = LearnerConfig { workers, micro_batch_tokens: 1, ..config(0.0) };
        loss_and_gradient(&Learner::new(model.clone(), config), &sapo(), &streams)
    };
    let (loss, alone) = gradient(1);
    for workers in [2, 3, 64] {
        let (shared_loss, shared) = gradient(workers);
        assert_close(&[shared_loss], &[loss], 1e-6);
        assert_close(&shared, &alone, 1e-6);
    }
}

#[test]
fn checkpointed_gradients_are_those_of_a_plain_pass() {
    let model = TinyLm::new(7);
    let episodes = played_by(&model, 6);
    let streams = TrainStream::collect(&episodes, &sapo().targets(&episodes)).unwrap();
    let streams: Vec<&TrainStream> = streams.iter().collect();
    let gradient = |checkpointing| {
        let config = LearnerConfig { checkpointing, ..config(0.0) };
        loss_and_gradient(&Learner::new(model.clone(), config), &sapo(), &streams)
    };
    let (plain_loss, plain) = gradient(Checkpointing::None);
    let (loss, checkpointed) = gradient(Checkpointing::Layers);
    assert_close(&[loss], &[plain_loss], 1e-6);
    assert_close(&checkpointed, &plain, 1e-6);
}

#[test]
fn old_numbers_that_are_computed_again_are_the_models_own() {
    let model = TinyLm::new(8);
    let episodes = played_by(&model, 5);
    let mut other_engine = episodes.clone();
    for turn in other_engine.iter_mut().flat_map(|episode| &mut episode.turns) {
        turn.log_probs[0] -= 0.25;
        turn.value += 0.1;
        turn.action_value -= 0.1;
    }
    let learn = |episodes: &[Episode], recompute_old| {
        let config = LearnerConfig { recompute_old, ..config(1e-2) };
        let mut learner = Learner::new(model.clone(), config);
        let report = learner.update(&sapo(), episodes, None, 0).unwrap();
        (report, learner.model().weights())
    };
    let (report, weights) = learn(&episodes, false);
    let (again, weights_again) = learn(&other_engine, true);
    let (_, without) = learn(&other_engine, false);
    assert_close(&weights_again, &weights, 1e-5);
    assert!(without.iter().zip(&weights).any(|(a, b)| (a - b).abs() > 1e-4));
    assert_eq!(report.sampler_deviation, None);
    assert_close(&[again.sampler_deviation.unwrap()], &[0.25], 1e-5);
    assert!(again.first_step_log_ratio < 1e-5, "{}", again.first_step_log_ratio);
    let passes = |report: &UpdateReport| report.costs.forward_passes;
    assert_eq!(passes(&again), 2 * passes(&report));
}

/// Steps of 1e-4 are lost in weights of half precision about 0.3, whose neighbours are 1e-3 apart.
#[test]
fn small_steps_add_up_under_weights_in_half_precision() {
    let model = cast(TinyLm::new(8), FloatDType::BF16);
    let episodes = played_by(&TinyLm::new(8), 5);
    let mut learner = Learner::new(model.clone(), config(1e-4));
    let mut twin = Learner::new(cast(model.clone(), FloatDType::F32), config(1e-4));
    for iteration in 0..20 {
        let report = learner.update(&sapo(), &episodes, None, iteration).unwrap();
        twin.update(&sapo(), &episodes, None, iteration).unwrap();
        assert_eq!(report.skipped_steps, 0);
    }
    let half_weights = learner.model().words.val();
    assert_eq!(half_weights.dtype(), burn::tensor::DType::BF16);
    assert_ne!(floats(&half_weights), floats(&model.words.val()));
    // Within the noise that gradients in half precision have: Adam's step hardly depends on their size.
    let moved = |model: &TinyLm| {
        let pairs = model.weights().into_iter().zip(TinyLm::new(8).weights());
        pairs.map(|(after, before)| after - before).collect::<Vec<f32>>()
    };
    let (ours, theirs) = (moved(learner.masters()), moved(twin.model()));
    let same = ours.iter().zip(&theirs).filter(|(a, b)| (*a - *b).abs() < 5e-4).count();
    assert!(10 * same >= 9 * ours.len(), "{same} of {}", ours.len());
}

#[test]
fn a_rate_of_zero_leaves_the_weights_as_they_are() {
    let model = TinyLm::new(6);
    let before = model.weights();
    let episodes = played_by(&model, 4);
    let config = LearnerConfig { weight_decay: 0.1, ..config(0.0) };
    let mut learner = Learner::new(model, config);
    let report = learner.update(&sapo(), &episodes, None, 0).unwrap();
    assert!(report.gradient_norm > 0.0);
    assert_eq!(learner.model().weights(), before);
}

#[test]
fn a_step_whose_gradient_is_not_finite_is_left_out_and_counted() {
    let model = TinyLm::new(7);
    let before = model.weights();
    // The return of these rewards is beyond the largest number.
    let mut sapo = sapo();
    sapo.discount = Discount { gamma: 1.0, lambda: 1.0 };
    let turns = vec![turn(1..2, f32::MAX), turn(3..4, f32::MAX)];
    let controller = KlController::new(0.01);
    let config = LearnerConfig { epochs: 3, kl_controller: Some(controller), ..config(1e-2) };
    let mut learner = Learner::new(model, config);
    let report = learner.update(&sapo, &[episode(vec![0; 4], turns)], None, 0).unwrap();
    assert_eq!((report.steps, report.skipped_steps), (0, 3));
    assert_eq!(learner.model().weights(), before);
    assert_eq!(learner.rate_scale(), 1.0, "nothing was measured");
}

#[test]
fn what_cannot_be_learned_from_is_an_error_and_changes_nothing() {
    let model = TinyLm::new(8);
    let before = model.weights();
    let mut learner = Learner::new(model, config(1e-2));
    assert!(matches!(learner.update(&sapo(), &[], None, 0), Err(Error::NoEpisodes)));
    let odd = episode(vec![0, 7], vec![turn(1..2, 1.0)]);
    let outside = learner.update(&sapo(), &[odd], None, 0);
    assert!(matches!(outside, Err(Error::TokenOutside { id: 7, vocabulary: 7 })));
    let mut wary = sapo();
    wary.objective.kl_coefficient = 0.1;
    let fine = [episode(vec![0, 1], vec![turn(1..2, 1.0)])];
    assert!(matches!(learner.update(&wary, &fine, None, 0), Err(Error::NoReference)));
    assert_eq!(learner.model().weights(), before);
}

#[test]
fn the_divergence_is_measured_from_the_reference_with_autodiff_or_without() {
    let mut sapo = sapo();
    sapo.objective.kl_coefficient = 0.1;
    let model = TinyLm::new(9);
    let episodes = played_by(&model, 4);
    let kl = |reference: &TinyLm| {
        let mut learner = Learner::new(model.clone(), config(1e-2));
        learner.update(&sapo, &episodes, Some(reference), 0).unwrap().loss.kl
    };
    assert!(kl(&model).abs() < 1e-6);
    assert!(kl(&model.valid()).abs() < 1e-6);
    let other = TinyLm::new(10);
    assert!(kl(&other) > 0.01);
    assert_eq!(kl(&other), kl(&other.valid()));
}

/// A folder of this test's own, empty.
fn without_times(report: UpdateReport) -> UpdateReport {
    UpdateReport { costs: UpdateCosts::default(), ..report }
}

fn scratch_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sapo-core-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn ten_steps_are_five_saved_and_loaded_and_five_more_to_the_last_bit() {
    let sapo = sapo();
    let episodes = played_by(&TinyLm::new(11), 6);
    let config = LearnerConfig { weight_decay: 0.01, epochs: 5, ..config(1e-2) };
    for precision in [FloatDType::F32, FloatDType::BF16] {
        let learner = |seed| Learner::new(cast(TinyLm::new(seed), precision), config.clone());
        let (mut straight, mut first) = (learner(11), learner(11));
        straight.update(&sapo, &episodes, None, 0).unwrap();
        let report = straight.update(&sapo, &episodes, None, 1).unwrap();
        first.update(&sapo, &episodes, None, 0).unwrap();
        let folder = scratch_folder("resume");
        first.save(&folder).unwrap();
        let mut second = learner(99).load(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(second.masters().weights(), first.masters().weights());
        let resumed = second.update(&sapo, &episodes, None, 1).unwrap();
        assert_eq!(without_times(resumed), without_times(report));
        assert_eq!(second.model().weights(), straight.model().weights());
        assert_eq!(second.masters().weights(), straight.masters().weights());
    }
}

#[test]
fn a_missing_or_half_written_file_is_an_error_that_names_it() {
    let folder = scratch_folder("half");
    let learner = Learner::new(TinyLm::new(12), config(1e-2));
    let message = learner.load(&folder).unwrap_err().to_string();
    assert!(message.contains("model.bpk"), "{message}");
    let learner = Learner::new(TinyLm::new(12), config(1e-2));
    learner.save(&folder).unwrap();
    std::fs::remove_file(folder.join("optimizer.bpk")).unwrap();
    let message = learner.load(&folder).unwrap_err().to_string();
    assert!(message.contains("optimizer.bpk"), "{message}");
    let whole = std::fs::read(folder.join("model.bpk")).unwrap();
    std::fs::write(folder.join("model.bpk"), &whole[..whole.len() / 2]).unwrap();
    let learner = Learner::new(TinyLm::new(12), config(1e-2));
    let message = learner.load(&folder).unwrap_err().to_string();
    assert!(message.contains("model.bpk"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn updates_repeat_to_the_last_bit() {
    let episodes = played_by(&TinyLm::new(13), 6);
    let train = || {
        let config =
            LearnerConfig { mini_batches: MiniBatches::Count(3), epochs: 2, ..config(1e-2) };
        let mut learner = Learner::new(TinyLm::new(13), config);
        let report = learner.update(&sapo(), &episodes, None, 0).unwrap();
        (without_times(report), learner.into_model().weights())
    };
    let (report, weights) = train();
    assert_eq!(report.steps, 6);
    assert_eq!((report, weights), train());
}

#[test]
fn the_controller_steers_by_an_iteration_of_several_steps_after_the_warm_up() {
    let episodes = played_by(&TinyLm::new(14), 6);
    let scale_of = |count, rate, target, warmup_iterations| {
        let kl_controller = Some(KlController::new(target));
        let mini_batches = MiniBatches::Count(count);
        let base = config(rate);
        let schedule = Schedule { warmup_iterations, ..base.schedule };
        let config = LearnerConfig { schedule, mini_batches, kl_controller, ..base };
        let mut learner = Learner::new(TinyLm::new(14), config);
        learner.update(&sapo(), &episodes, None, 0).unwrap();
        learner.rate_scale()
    };
    assert_eq!(
        scale_of(1, 1e-2, 0.01, 0.0),
        1.0,
        "a single step moves nothing before it is measured"
    );
    assert!(scale_of(3, 1e-1, 1e-6, 0.0) < 1.0);
    assert!(scale_of(3, 1e-6, 0.01, 0.0) > 1.0);
    assert_eq!(scale_of(3, 1e-6, 0.01, 1.0), 1.0, "a warm-up is slow on purpose");
}

#[test]
fn the_scale_of_the_rate_can_be_restored() {
    let kl_controller = Some(KlController::new(0.01));
    let mut learner =
        Learner::new(TinyLm::new(15), LearnerConfig { kl_controller, ..config(1e-2) });
    learner.set_rate_scale(0.25);
    let report = learner.update(&sapo(), &played_by(&TinyLm::new(15), 2), None, 0).unwrap();
    assert_eq!(report.learning_rate, 0.25e-2);
    let mut plain = Learner::new(TinyLm::new(15), config(1e-2));
    plain.set_rate_scale(0.25);
    assert_eq!(plain.rate_scale(), 1.0);
}

#[test]
fn neither_the_first_nor_the_last_rate_of_a_run_is_zero() {
    let episodes = played_by(&TinyLm::new(16), 2);
    let schedule = Schedule {
        peak: 1.0,
        warmup_iterations: 1.0,
        iterations: 3.0,
        decay: crate::schedule::Decay::Linear,
    };
    let mut learner = Learner::new(TinyLm::new(16), LearnerConfig { schedule, ..config(0.0) });
    let rates = [0, 1, 2].map(|iteration| {
        learner.update(&sapo(), &episodes, None, iteration).unwrap().learning_rate
    });
    // The middles of the iterations: half way up, then a quarter and three quarters of the way down.
    assert_eq!(rates, [0.5, 0.75, 0.25]);
}
