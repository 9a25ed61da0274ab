use proptest::prelude::*;
use sapo_core::env::Message;
use sapo_core::value::{ActionSoftmax, ValueTokens};

use super::*;
use crate::codec::CodecError;
use crate::config::Family;
use crate::score::score_streams;
use crate::test_models::tiny;

const STOP: u32 = 2;
/// Stands for the end of a turn that the model did not write.
const FORCED_END: u32 = 3;

/// Messages are token ids in decimal.
#[derive(Clone, Copy)]
struct Numbers;

impl Codec for Numbers {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        let words = messages.iter().flat_map(|message| message.content.split_whitespace());
        words.map(|word| word.parse().map_err(CodecError::from)).collect()
    }

    fn follow(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        let forced = if last == Finish::Length { vec![FORCED_END] } else { vec![] };
        Ok([forced, self.fresh(messages)?].concat())
    }

    fn decode(&self, tokens: &[u32]) -> String {
        tokens.iter().filter(|id| **id != STOP).map(u32::to_string).collect::<Vec<_>>().join(" ")
    }

    fn stop_ids(&self) -> &[u32] {
        &[STOP]
    }
}

fn value_tokens() -> ValueTokens {
    ValueTokens::new(39, 38, 40).unwrap()
}

fn config() -> GeneratorConfig {
    let value_tokens = Some(value_tokens());
    let sampling = Sampling { temperature: 0.8, value_tokens, ..Sampling::default() };
    GeneratorConfig { sampling, max_new_tokens: 9, ..GeneratorConfig::new(256) }
}

fn generator(decoder: &Decoder) -> Generator<Numbers> {
    Generator::new(decoder, Numbers, config())
}

fn message(ids: &[u32]) -> Vec<Message> {
    let words: Vec<String> = ids.iter().map(u32::to_string).collect();
    vec![Message::user(words.join(" "))]
}

fn act(
    generator: &mut Generator<Numbers>,
    prompts: &[(usize, Prompt)],
    seed: u64,
) -> Result<Vec<Reply>, GenerateError> {
    let requests: Vec<TurnRequest<'_>> = prompts
        .iter()
        .map(|(slot, prompt)| TurnRequest { slot: *slot, prompt, seed: seed + *slot as u64 })
        .collect();
    generator.act(&requests).map(|answers| answers.into_iter().map(Result::unwrap).collect())
}

/// A stream as its replies tell it, and where each reply lies in it.
#[derive(Clone, Debug, Default)]
struct Told {
    tokens: Vec<u32>,
    replies: Vec<(usize, Reply)>,
}

impl Told {
    fn add(&mut self, reply: Reply) {
        self.tokens.extend(&reply.context);
        let start = self.tokens.len();
        self.tokens.extend(&reply.tokens);
        self.replies.push((start, reply));
    }

    /// The obvious twin: the whole stream in one forward pass.
    fn assert_scored_alike(&self, decoder: &Decoder) {
        let softmax = ActionSoftmax { value_tokens: Some(value_tokens()), temperature: 0.8 };
        let scores =
            score_streams(decoder, &[&self.tokens], &softmax, Readout::default()).remove(0);
        let close = |what: &str, one: f32, other: f32| {
            assert!((one - other).abs() < 1e-4, "{what}: {one} generated, {other} scored");
        };
        for (start, reply) in &self.replies {
            close("V", reply.value, scores.values[start - 1]);
            let last = start + reply.tokens.len() - 1;
            close("Q", reply.action_value, scores.values[last]);
            for (offset, log_prob) in reply.log_probs.iter().enumerate() {
                close("log-prob", *log_prob, scores.log_probs[start + offset - 1]);
            }
        }
    }
}

/// What happens to a slot in a turn: nothing, a fresh prompt of some tokens, or more of its stream.
fn turn() -> impl Strategy<Value = Vec<(bool, bool, Vec<u32>)>> {
    let tokens = prop::collection::vec(4..37_u32, 1..12);
    prop::collection::vec((prop::bool::weighted(0.8), prop::bool::weighted(0.2), tokens), 11)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn generation_with_the_cache_scores_as_one_forward_of_the_whole_stream(
        turns in prop::collection::vec(turn(), 1..6),
        seed in 0..1000_u64,
        narrow in any::<bool>(),
        workers in 1..4_usize,
        family in prop::sample::select(vec![Family::Qwen2, Family::Qwen3, Family::Llama]),
    ) {
        let decoder = tiny(family, seed);
        let mut generator =
            Generator::new(&decoder, Numbers, GeneratorConfig { workers, ..config() });
        if narrow {
            generator.config.prefill_scores = 40;
        }
        let mut told: Vec<Option<Told>> = vec![None; 11];
        let mut ended = Vec::new();
        for (number, turn) in turns.iter().enumerate() {
            let mut prompts = Vec::new();
            for (slot, (takes_part, afresh, tokens)) in turn.iter().enumerate() {
                let goes_on = told[slot].is_some() && !afresh;
                if *afresh && !takes_part {
                    generator.release(slot);
                    ended.extend(told[slot].take());
                } else if *takes_part {
                    let prompt = if goes_on { Prompt::Continue } else { Prompt::Fresh };
                    prompts.push((slot, prompt(message(tokens))));
                    if !goes_on {
                        ended.extend(told[slot].replace(Told::default()));
                    }
                }
            }
            let replies = act(&mut generator, &prompts, seed * 100 + number as u64).unwrap();
            for ((slot, _), reply) in prompts.iter().zip(replies) {
                told[*slot].get_or_insert_default().add(reply);
            }
        }
        for told in told.iter().flatten().chain(&ended) {
            told.assert_scored_alike(&decoder);
        }
    }
}

#[test]
fn a_reply_does_not_depend_on_its_neighbours() {
    let decoder = tiny(Family::Qwen3, 1);
    let prompts: Vec<(usize, Prompt)> = (0..20)
        .map(|slot| (slot, Prompt::Fresh(message(&vec![5 + slot as u32; 1 + slot % 7]))))
        .collect();
    let together = act(&mut generator(&decoder), &prompts, 7).unwrap();
    for (prompt, reply) in prompts.iter().zip(together) {
        let alone =
            act(&mut generator(&decoder), std::slice::from_ref(prompt), 7).unwrap().remove(0);
        assert_eq!(
            (alone.tokens, alone.finish, alone.text),
            (reply.tokens, reply.finish, reply.text)
        );
    }
}

#[test]
fn a_reply_ends_with_its_first_stop_token_or_at_the_limit() {
    let decoder = tiny(Family::Llama, 2);
    let prompts: Vec<(usize, Prompt)> =
        (0..40).map(|slot| (slot, Prompt::Fresh(message(&[4 + slot as u32 % 30])))).collect();
    let replies = act(&mut generator(&decoder), &prompts, 3).unwrap();
    assert!(replies.iter().any(|reply| reply.finish == Finish::Stop));
    for Reply { tokens, log_probs, finish, text, .. } in replies {
        assert_eq!(tokens.len(), log_probs.len());
        let stop = tokens.iter().position(|token| *token == STOP);
        assert_eq!(stop, (finish == Finish::Stop).then(|| tokens.len() - 1));
        assert!(finish == Finish::Stop || tokens.len() == 9);
        assert!(!tokens.contains(&38) && !tokens.contains(&39));
        assert_eq!(text, Numbers.decode(&tokens));
    }
}

#[test]
fn an_end_that_was_not_sampled_is_context() {
    let decoder = tiny(Family::Qwen2, 4);
    let mut generator = generator(&decoder);
    generator.config.max_new_tokens = 1;
    let first = act(&mut generator, &[(0, Prompt::Fresh(message(&[7])))], 0).unwrap().remove(0);
    assert_eq!(first.finish, Finish::Length);
    let second = act(&mut generator, &[(0, Prompt::Continue(message(&[8])))], 0).unwrap().remove(0);
    assert_eq!(second.context, [FORCED_END, 8]);
    assert_eq!(second.tokens.len(), 1);
}

#[test]
fn the_value_is_that_of_a_reply_and_reading_it_changes_nothing() {
    let decoder = tiny(Family::Qwen2, 5);
    let (fresh, more) =
        (Prompt::Fresh(message(&[9, 10])), Prompt::Continue(message(&[11, 12, 13])));
    let mut read = generator(&decoder);
    let mut unread = generator(&decoder);
    for prompt in [fresh, more] {
        let request = TurnRequest { slot: 3, prompt: &prompt, seed: 0 };
        let value = read.value(&request).unwrap().unwrap();
        let reply = act(&mut read, &[(3, prompt.clone())], 1).unwrap().remove(0);
        assert!((reply.value - value).abs() < 1e-5);
        assert_eq!(reply, act(&mut unread, &[(3, prompt)], 1).unwrap().remove(0));
    }
}

#[test]
fn conversations_without_room_are_refused_alone() {
    let decoder = tiny(Family::Llama, 6);
    let mut generator = generator(&decoder);
    (generator.config.max_prompt_tokens, generator.config.max_positions) = (4, 20);
    let mut answers = |prompts: [Prompt; 2]| {
        let requests: Vec<TurnRequest<'_>> = prompts
            .iter()
            .enumerate()
            .map(|(slot, prompt)| TurnRequest { slot, prompt, seed: 0 })
            .collect();
        <[_; 2]>::try_from(generator.act(&requests).unwrap()).unwrap()
    };
    let fresh = |tokens| Prompt::Fresh(message(&vec![5; tokens]));
    let [long, fits] = answers([fresh(5), fresh(4)]);
    assert_eq!(long, Err(NoRoom::Prompt { tokens: 5, limit: 4 }));
    let Reply { tokens, finish, .. } = fits.unwrap();
    let stream = 4 + tokens.len() + usize::from(finish == Finish::Length);
    let [fits, full] = answers([fresh(4), Prompt::Continue(message(&[5; 9]))]);
    assert!(fits.is_ok());
    assert_eq!(full, Err(NoRoom::Stream { tokens: stream + 9 + 9, limit: 20 }));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let decoder = tiny(Family::Llama, 6);
    let mut generator = generator(&decoder);
    let refused = |prompts: &[(usize, Prompt)], generator: &mut Generator<Numbers>| {
        act(generator, prompts, 0).unwrap_err()
    };
    let hello = || Prompt::Fresh(message(&[5]));
    let unbegun = refused(&[(0, Prompt::Continue(message(&[5])))], &mut generator);
    assert!(matches!(unbegun, GenerateError::NoStream { slot: 0 }));
    let twice = refused(&[(1, hello()), (1, hello())], &mut generator);
    assert!(matches!(twice, GenerateError::DuplicateSlot { slot: 1 }));
    let outside = refused(&[(2, Prompt::Fresh(message(&[40])))], &mut generator);
    assert!(matches!(outside, GenerateError::TokenOutside { token: 40, vocabulary: 40, .. }));
    let empty = refused(&[(2, Prompt::Fresh(vec![]))], &mut generator);
    assert!(matches!(empty, GenerateError::EmptyContext { slot: 2 }));
    assert!(act(&mut generator, &[], 0).unwrap().is_empty());
}

#[test]
fn a_slot_that_is_released_is_forgotten() {
    let decoder = tiny(Family::Llama, 6);
    let mut generator = generator(&decoder);
    act(&mut generator, &[(0, Prompt::Fresh(message(&[5])))], 0).unwrap();
    generator.release(0);
    let again = act(&mut generator, &[(0, Prompt::Continue(message(&[5])))], 0);
    assert!(matches!(again, Err(GenerateError::NoStream { slot: 0 })));
}

#[test]
fn a_decoder_in_training_plays_as_it_does_at_rest() {
    let device = Device::flex().autodiff();
    let config = crate::test_models::tiny_config(Family::Qwen3);
    let residual = crate::init::ResidualInit::Plain;
    let training = crate::init::new_model(&config, residual, 8, &device).unwrap();
    let prompts = [(0, Prompt::Fresh(message(&[5, 6]))), (1, Prompt::Fresh(message(&[7])))];
    let mut player = generator(&training);
    assert!(!player.device.is_autodiff());
    let resting = act(&mut generator(&tiny(Family::Qwen3, 8)), &prompts, 0).unwrap();
    assert_eq!(act(&mut player, &prompts, 0).unwrap(), resting);
}
