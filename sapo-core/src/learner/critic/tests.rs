use burn::module::Param;
use burn::tensor::{DType, FloatDType};

use super::*;
use crate::algorithm::{Algorithm, Ppo};
use crate::batch::group_by_length;
use crate::episode::Stream;
use crate::learner::LearnerConfig;
use crate::pass::Checkpointing;
use crate::precision::cast;
use crate::seed;
use crate::testing::{
    TinyLm, assert_close, central_differences, config, episode, floats, random_episode, turn,
    uniform,
};

/// A critic that has opinions already.
fn critic(seed: u64) -> Critic<TinyLm> {
    let critic = Critic::new(TinyLm::new(seed));
    let [width, _] = critic.head.dims();
    let head = uniform(seed::derive(seed, &[9]), width);
    Critic { head: weights(&head, &critic), ..critic }
}

fn weights(numbers: &[f32], like: &Critic<TinyLm>) -> Param<Tensor<2>> {
    let data = TensorData::new(numbers.to_vec(), [numbers.len(), 1]);
    Param::from_data(data, &like.head.val().device())
}

fn episodes(count: u64) -> Vec<Episode> {
    (0..count).map(random_episode).collect()
}

/// Streams with the values of one critic, to be learned from by another.
fn streams() -> Vec<TrainStream> {
    let mut episodes = episodes(7);
    Learner::new(critic(1), config(0.0)).appraise(&mut episodes).unwrap();
    TrainStream::collect(&episodes, &ppo().targets(&episodes)).unwrap()
}

fn ppo() -> Ppo {
    Ppo { max_return: 1.0, ..Ppo::default() }
}

/// The value loss and its gradient, head first.
fn loss_and_gradient(
    learner: &Learner<Critic<TinyLm>>,
    streams: &[&TrainStream],
    value_clip: f32,
) -> (f32, Vec<f32>) {
    let (gradients, loss) = learner.value_gradients(streams, value_clip);
    let Critic { backbone, head } = learner.model();
    let gradient = [head, &backbone.words, &backbone.places];
    (loss, gradient.iter().flat_map(|w| floats(&gradients.get::<2>(w.id).unwrap())).collect())
}

#[test]
fn a_new_critic_values_everything_at_zero() {
    let mut episodes = episodes(4);
    episodes[0].turns[0].value = 0.5;
    Learner::new(Critic::new(TinyLm::new(0)), config(0.0)).appraise(&mut episodes).unwrap();
    assert!(episodes.iter().flat_map(|episode| &episode.turns).all(|turn| turn.value == 0.0));
}

/// Off the definition: the hidden state at the last context position times the head.
#[test]
fn each_turn_gets_the_value_at_the_end_of_its_own_context() {
    let critic = critic(2);
    let mut history = episode(vec![1, 2, 3], vec![turn(1..2, 0.0), turn(2..4, 1.0)]);
    history.streams.push(Stream { tokens: vec![4, 0, 1, 2] });
    history.turns[0].stream = 1;
    history.turns[1] = turn(2..3, 1.0);
    let mut all = episodes(5);
    all.push(history);
    let expected = |episode: &Episode| -> Vec<f32> {
        let value = |turn: &crate::episode::Turn| {
            let context = &episode.streams[turn.stream].tokens[..turn.response.start];
            let block = crate::batch::TokenBlock::new(&[context], &critic.head.val().device());
            let last = Tensor::from_ints([context.len() as i32 - 1], &critic.head.val().device());
            floats(&block.hidden(&critic.backbone, last).matmul(critic.head.val()))[0]
        };
        episode.turns.iter().map(value).collect()
    };
    for micro_batch_tokens in [1, 20, 1000] {
        let config = LearnerConfig { micro_batch_tokens, ..config(0.0) };
        Learner::new(critic.clone(), config).appraise(&mut all).unwrap();
        for episode in &all {
            let values: Vec<f32> = episode.turns.iter().map(|turn| turn.value).collect();
            assert_close(&values, &expected(episode), 1e-5);
        }
    }
}

#[test]
fn the_gradient_of_every_weight_is_that_of_finite_differences() {
    let streams = streams();
    let streams: Vec<&TrainStream> = streams.iter().take(4).collect();
    // Out of reach of the clip, whose kinks finite differences do not like.
    let clip = 1e3;
    let critic = critic(2);
    let (_, gradient) =
        loss_and_gradient(&Learner::new(critic.clone(), config(0.0)), &streams, clip);
    let point = [floats(&critic.head.val()), critic.backbone.weights()].concat();
    let width = critic.head.dims()[0];
    let differences = central_differences(&point, |point| {
        let (head, backbone) = point.split_at(width);
        let head = weights(head, &critic);
        let critic = Critic { head, backbone: critic.backbone.clone().with_weights(backbone) };
        Learner::new(critic, config(0.0)).value_gradients(&streams, clip).1
    });
    assert!(gradient.iter().filter(|slope| slope.abs() > 1e-2).count() > width);
    // The head of the backbone, which comes last, has no part in a value.
    let (own, unused) = differences.split_at(gradient.len());
    assert_close(&gradient, own, 2e-3);
    assert!(unused.iter().all(|&slope| slope == 0.0));
}

#[test]
fn micro_batches_in_any_split_and_order_add_up_with_checkpoints_or_without() {
    let streams = streams();
    let whole: Vec<&TrainStream> = streams.iter().collect();
    let learner = |micro_batch_tokens, workers, checkpointing| {
        let config = LearnerConfig { micro_batch_tokens, workers, checkpointing, ..config(0.0) };
        Learner::new(critic(2), config)
    };
    let plain = learner(1000, 1, Checkpointing::None);
    let (loss, gradient) = loss_and_gradient(&plain, &whole, 0.2);
    assert!(loss > 0.0 && gradient.iter().any(|slope| slope.abs() > 1e-2));
    let lengths: Vec<usize> = whole.iter().map(|stream| stream.tokens.len()).collect();
    assert!(group_by_length(&lengths, 20).len() > 2);
    for seed in 0..8 {
        let mut shuffled = whole.clone();
        seed::shuffle(&mut shuffled, seed);
        let checkpointing = [Checkpointing::None, Checkpointing::Layers][seed as usize % 2];
        let tokens = [1, 20, 30, 45][seed as usize % 4];
        let learner = learner(tokens, 1 + seed as usize / 4, checkpointing);
        let (split_loss, split_gradient) = loss_and_gradient(&learner, &shuffled, 0.2);
        assert_close(&[split_loss], &[loss], 1e-5);
        assert_close(&split_gradient, &gradient, 1e-5);
    }
}

// By hand: a head of 0 says v = 0. With v_old = 1, u = -1 and a clip of 0.5, v_clip = 0.5 is farther from u
// than v is: the loss is 1/2 1.5^2, and nothing pulls.
#[test]
fn a_value_that_has_moved_far_enough_is_not_pulled() {
    let mut streams = streams();
    streams.truncate(1);
    for turn in &mut streams[0].turns {
        (turn.old_value, turn.target.value) = (1.0, -1.0);
    }
    let learner = Learner::new(Critic::new(TinyLm::new(3)), config(0.0));
    let streams: Vec<&TrainStream> = streams.iter().collect();
    let (gradients, loss) = learner.value_gradients(&streams, 0.5);
    assert_close(&[loss], &[1.125], 1e-6);
    let slope = gradients.get::<2>(learner.model().head.id).map(|slope| floats(&slope));
    assert!(slope.unwrap_or_default().iter().all(|&slope| slope == 0.0));
    let (gradients, loss) = learner.value_gradients(&streams, 2.0);
    assert_close(&[loss], &[0.5], 1e-6);
    let slope = floats(&gradients.get::<2>(learner.model().head.id).unwrap());
    assert!(slope.iter().any(|&slope| slope != 0.0));
}

#[test]
fn a_critic_of_half_precision_has_a_head_of_it_too() {
    let mut learner =
        Learner::new(Critic::new(cast(TinyLm::new(0), FloatDType::BF16)), config(1e-2));
    assert_eq!(learner.model().head.val().dtype(), DType::BF16);
    let mut episodes = episodes(3);
    learner.appraise(&mut episodes).unwrap();
    let report = learner.fit(&episodes, &ppo().targets(&episodes), 1e3, 0).unwrap();
    assert!(report.steps == 1 && report.gradient_norm > 0.0, "{report:?}");
}

#[test]
fn a_critic_learns_what_turns_are_worth() {
    let mut episodes = episodes(6);
    let settings = LearnerConfig { epochs: 10, max_gradient_norm: 1e3, ..config(3e-2) };
    let mut learner = Learner::new(Critic::new(TinyLm::new(4)), settings);
    learner.appraise(&mut episodes).unwrap();
    let targets = ppo().targets(&episodes);
    let first = learner.fit(&episodes, &targets, 1e3, 0).unwrap();
    assert_eq!((first.steps, first.skipped_steps, first.learning_rate), (10, 0, 3e-2));
    for _ in 0..40 {
        learner.fit(&episodes, &targets, 1e3, 0).unwrap();
    }
    let last = learner.fit(&episodes, &targets, 1e3, 0).unwrap();
    assert!(last.value_loss < 0.1 * first.value_loss, "{first:?} became {last:?}");
}

#[test]
fn a_step_that_is_not_finite_is_left_out() {
    let episodes = episodes(3);
    let mut targets = ppo().targets(&episodes);
    targets.turns[0][0].value = f32::INFINITY;
    let mut learner = Learner::new(critic(5), config(1e-2));
    let before = floats(&learner.model().head.val());
    let report = learner.fit(&episodes, &targets, 0.5, 0).unwrap();
    assert_eq!(report, CriticReport { skipped_steps: 1, ..CriticReport::default() });
    assert_eq!(floats(&learner.model().head.val()), before);
}

#[test]
fn bad_episodes_are_refused_before_anything_is_written() {
    let mut learner = Learner::new(critic(6), config(1e-2));
    assert!(matches!(learner.appraise(&mut []), Err(Error::NoEpisodes)));
    let mut foreign = episodes(2);
    foreign[1].streams[0].tokens[0] = 7;
    let untouched = foreign.clone();
    assert!(matches!(learner.appraise(&mut foreign), Err(Error::TokenOutside { id: 7, .. })));
    assert_eq!(foreign, untouched);
    let targets = ppo().targets(&foreign);
    assert!(learner.fit(&foreign, &targets, 0.5, 0).is_err());
}
