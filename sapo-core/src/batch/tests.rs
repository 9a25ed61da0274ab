use burn::prelude::*;
use proptest::prelude::*;

use super::*;
use crate::algorithm::{Algorithm, TargetSummary};
use crate::model::CausalLm;
use crate::testing::{
    TinyLm, assert_close, episode, evaluate, floats, played_by, random_episode, sapo, turn, uniform,
};

fn collect(episodes: &[Episode]) -> Result<Vec<TrainStream>, Error> {
    TrainStream::collect(episodes, &sapo().targets(episodes))
}

/// Two turns in one stream: replies at 2..4 and 6..7 of eight tokens.
fn well_formed() -> Episode {
    episode(vec![0, 1, 2, 3, 4, 0, 1, 2], vec![turn(2..4, 0.0), turn(6..7, 1.0)])
}

#[test]
fn streams_are_collected_in_order_with_their_turns() {
    let mut history = episode(vec![1, 2], vec![turn(1..2, 0.0), turn(1..3, 1.0)]);
    history.streams.push(Stream { tokens: vec![9, 9] });
    history.streams.push(Stream { tokens: vec![3, 4, 0] });
    history.turns[1].stream = 2;
    let streams = collect(&[well_formed(), history]).unwrap();
    // The stream of two nines holds no turn and is left out.
    let tokens: Vec<usize> = streams.iter().map(|stream| stream.tokens.len()).collect();
    let turns: Vec<usize> = streams.iter().map(|stream| stream.turns.len()).collect();
    assert_eq!((tokens, turns), (vec![8, 2, 3], vec![2, 1, 1]));
    assert_eq!(StepTotals::of(&streams), StepTotals { tokens: 6, turns: 4 });
}

#[test]
fn malformed_turns_are_errors_that_name_the_fault() {
    type Spoil = fn(&mut Episode);
    let faults: [(&str, Spoil); 9] = [
        ("stream does not exist", |e| e.turns[1].stream = 1),
        ("inside its stream", |e| e.turns[0] = turn(0..2, 0.0)),
        ("inside its stream", |e| e.turns[1] = turn(6..9, 0.0)),
        ("earlier turn", |e| e.turns[1] = turn(3..5, 0.0)),
        ("one log-probability a token", |e| e.turns[0] = turn(2..2, 0.0)),
        ("one log-probability a token", |e| e.turns[0].response = 2..5),
        ("not finite", |e| e.turns[0].log_probs[1] = f32::NEG_INFINITY),
        ("not finite", |e| e.turns[0].value = f32::NAN),
        ("not finite", |e| e.turns[1].reward = f32::INFINITY),
    ];
    assert!(collect(&[well_formed()]).is_ok());
    for (words, spoil) in faults {
        let mut episode = well_formed();
        spoil(&mut episode);
        let message = collect(&[episode]).expect_err(words).to_string();
        assert!(message.contains(words) && message.contains("\"task\""), "{message}");
    }
}

#[test]
#[should_panic(expected = "1 episodes have targets for 0")]
fn targets_of_other_episodes_are_refused() {
    let none = Targets { turns: Vec::new(), summary: TargetSummary::default() };
    let _ = TrainStream::collect(&[well_formed()], &none);
}

proptest! {
    #[test]
    fn groups_hold_each_stream_once_and_respect_the_budget(
        lengths in prop::collection::vec(1_usize..40, 0..30),
        budget in 0_usize..100,
    ) {
        let groups = group_by_length(&lengths, budget);
        let mut seen: Vec<usize> = groups.iter().flatten().copied().collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
        for group in groups {
            let longest = group.iter().map(|&index| lengths[index]).max().unwrap();
            prop_assert!(group.len() == 1 || longest * group.len() <= budget);
        }
    }
}

// By hand: 5 * 1 fits 8 and 5 * 2 does not; 4 * 2 fits; 1 * 2 fits.
#[test]
fn streams_of_similar_length_share_a_group() {
    assert_eq!(group_by_length(&[1, 4, 5, 4, 1], 8), [vec![2], vec![1, 3], vec![0, 4]]);
}

#[test]
fn padding_is_on_the_right_and_hidden_from_all_before_it() {
    let block = TokenBlock::new(&[&[3, 1], &[4, 1, 5]], &Device::flex());
    let ids: Vec<i32> = block.tokens.to_data().iter::<i32>().collect();
    assert_eq!(ids, [3, 1, 0, 4, 1, 5]);
    let positions: Vec<i32> = block.placement.positions.to_data().iter::<i32>().collect();
    assert_eq!(positions, [0, 1, 2, 0, 1, 2]);
    let hidden: Vec<bool> = block.placement.hidden.to_data().iter::<bool>().collect();
    let causal = [false, true, true, false, false, true, false, false, false];
    assert_eq!(hidden, [causal, causal].concat());
}

/// What the loss reads, obtained the plain way: one stream at a time, all its logits, then a choice.
fn plain_twin(model: &TinyLm, streams: &[TrainStream]) -> [Tensor<1>; 4] {
    let softmax = sapo().softmax();
    let device = model.head.val().device();
    let (mut log_probs, mut entropy, mut values, mut action_values) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for TrainStream { tokens, turns } in streams {
        let block = TokenBlock::new(&[tokens], &device);
        let logits: Tensor<2> =
            model.logits(model.hidden(block.tokens, &block.placement, None).squeeze_dim(0));
        let following: Vec<i32> =
            tokens.iter().skip(1).chain(&[0]).map(|&token| token as i32).collect();
        let scores = softmax.score(logits.clone(), int_tensor(following, &device));
        let reads = softmax.value_tokens.unwrap().difference(logits);
        for Range { start, end } in turns.iter().map(|turn| turn.response.clone()) {
            log_probs.push(scores.log_probs.clone().narrow(0, start - 1, end - start));
            entropy.push(scores.entropy.clone().narrow(0, start - 1, end - start));
            values.push(reads.clone().narrow(0, start - 1, 1));
            action_values.push(reads.clone().narrow(0, end - 1, 1));
        }
    }
    [log_probs, entropy, values, action_values].map(|parts| Tensor::cat(parts, 0))
}

fn weighted(tensors: [Tensor<1>; 4]) -> Tensor<1> {
    let terms = tensors.into_iter().enumerate().map(|(seed, tensor)| {
        let weights = uniform(seed as u64, tensor.dims()[0]);
        (tensor.clone() * float_tensor(weights, &tensor.device())).sum()
    });
    terms.reduce(|sum, term| sum + term).unwrap()
}

#[test]
fn the_loss_reads_the_sampled_tokens_and_the_turn_boundaries_and_nothing_else() {
    let model = TinyLm::new(1);
    let episodes: Vec<Episode> = (0..6).map(random_episode).collect();
    let streams = collect(&episodes).unwrap();
    let now = evaluate(&model, &sapo(), &streams.iter().collect::<Vec<_>>());
    let fast = [now.log_probs, now.entropy, now.value_logits, now.action_value_logits];
    let slow = plain_twin(&model, &streams);
    let sampled: usize = episodes.iter().map(Episode::response_tokens).sum();
    assert_eq!(fast[0].dims(), [sampled]);
    for (fast, slow) in fast.iter().zip(&slow) {
        assert_close(&floats(fast), &floats(slow), 1e-5);
    }
    let (fast, slow) = (weighted(fast).backward(), weighted(slow).backward());
    for weight in [&model.words, &model.places, &model.head] {
        let gradient = |of| floats(&weight.val().grad(of).unwrap());
        assert_close(&gradient(&fast), &gradient(&slow), 1e-5);
    }
}

#[test]
fn a_stream_scores_the_same_alone_and_padded_among_others() {
    let model = TinyLm::new(2);
    let streams = collect(&played_by(&model, 4)).unwrap();
    let together = evaluate(&model, &sapo(), &streams.iter().collect::<Vec<_>>());
    let alone: Vec<f32> = streams
        .iter()
        .flat_map(|stream| floats(&evaluate(&model, &sapo(), &[stream]).log_probs))
        .collect();
    assert_close(&floats(&together.log_probs), &alone, 1e-5);
    let old: Vec<f32> = streams
        .iter()
        .flat_map(|stream| stream.turns.iter().flat_map(|turn| turn.old_log_probs.clone()))
        .collect();
    assert_close(&alone, &old, 1e-5);
}

#[test]
fn a_method_without_value_tokens_reads_no_values() {
    let model = TinyLm::new(3);
    let mut method = sapo();
    method.softmax.value_tokens = None;
    let streams = collect(&[well_formed()]).unwrap();
    let evaluation = evaluate(&model, &method, &[&streams[0]]);
    assert_eq!(floats(&evaluation.value_logits), [0.0, 0.0]);
    assert_eq!(floats(&evaluation.action_value_logits), [0.0, 0.0]);
}
