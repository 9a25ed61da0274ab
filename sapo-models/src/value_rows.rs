//! Which vocabulary entries carry the value, and what their rows start as.

use burn::module::Param;
use burn::prelude::*;
use sapo_core::value::ValueTokens;
use serde::{Deserialize, Serialize};

use crate::config::ModelConfig;
use crate::decoder::Decoder;

/// How the head's rows of the two value tokens start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueRows {
    /// Both 0: every value starts at exactly 0. Rows that were never trained start far off (a trial: a
    /// mean value of 0.67, explained variance -10).
    #[default]
    Zero,
    /// Both their mean: every value starts at exactly 0 too, with a gradient of the usual size.
    Equal,
    /// As they are.
    Keep,
}

/// Where two value tokens can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// Rows of the logits that the tokenizer never produces.
    Spare(ValueTokens),
    /// There are none to spare: two rows have to be appended, which get these ids.
    Appended(ValueTokens),
}

impl Reservation {
    /// The two tokens.
    pub fn tokens(self) -> ValueTokens {
        match self {
            Reservation::Spare(tokens) | Reservation::Appended(tokens) => tokens,
        }
    }
}

/// Reserves the two highest ids of `vocabulary` logits that lie above `tokenizer_max_id`, the highest id
/// that the tokenizer can produce; the higher is `w+`. Without two such ids, those of two rows that
/// [`append_rows`] adds.
pub fn reserve_value_tokens(vocabulary: usize, tokenizer_max_id: u32) -> Reservation {
    let taken = tokenizer_max_id as usize + 1;
    let is_spare = vocabulary >= taken + 2;
    let after = if is_spare { vocabulary } else { vocabulary.max(taken) + 2 };
    let tokens = ValueTokens::new(after as u32 - 1, after as u32 - 2, after)
        .expect("two different ids of the vocabulary");
    if is_spare { Reservation::Spare(tokens) } else { Reservation::Appended(tokens) }
}

/// A decoder whose embedding and head have further rows, zeroed, up to `vocabulary`; `config` follows.
///
/// A decoder that has as many rows is returned as it is.
pub fn append_rows(mut decoder: Decoder, config: &mut ModelConfig, vocabulary: usize) -> Decoder {
    let missing = vocabulary.saturating_sub(config.vocab_size);
    if missing == 0 {
        return decoder;
    }
    config.vocab_size = vocabulary;
    let embedding = decoder.model.embed_tokens.weight;
    decoder.model.embed_tokens.weight = extend(embedding, 0, missing);
    decoder.lm_head = decoder.lm_head.map(|mut head| {
        head.weight = extend(head.weight, 1, missing);
        head
    });
    decoder
}

/// The parameter's tensor, off the graph: on a leaf, `detach` alone would leave it tracked.
fn constant(param: &Param<Tensor<2>>) -> Tensor<2> {
    param.val().detach().set_require_grad(false)
}

fn extend(param: Param<Tensor<2>>, dim: usize, missing: usize) -> Param<Tensor<2>> {
    let weight = constant(&param);
    let mut shape = weight.dims();
    shape[dim] = missing;
    let zeros = Tensor::zeros(shape, (&weight.device(), weight.dtype()));
    Param::from_tensor(Tensor::cat(vec![weight, zeros], dim))
}

/// A decoder whose head starts the two value rows as asked for.
///
/// With a tied head they are the embedding's rows; the tokens never occur as input.
pub fn start_value_rows(mut decoder: Decoder, tokens: ValueTokens, rows: ValueRows) -> Decoder {
    let (head, dim) = match &mut decoder.lm_head {
        Some(head) => (&mut head.weight, 1),
        None => (&mut decoder.model.embed_tokens.weight, 0),
    };
    *head = start(head.clone(), dim, tokens, rows);
    decoder
}

/// `dim` is the vocabulary's dimension.
fn start(
    param: Param<Tensor<2>>,
    dim: usize,
    tokens: ValueTokens,
    rows: ValueRows,
) -> Param<Tensor<2>> {
    if rows == ValueRows::Keep {
        return param;
    }
    let weight = constant(&param);
    let row = |id: u32| weight.clone().narrow(dim, id as usize, 1);
    let value = match rows {
        ValueRows::Zero => row(tokens.plus()).zeros_like(),
        ValueRows::Equal | ValueRows::Keep => (row(tokens.plus()) + row(tokens.minus())) / 2.0,
    };
    let [height, width] = weight.dims();
    let place = |weight: Tensor<2>, id: u32| {
        let id = id as usize;
        match dim {
            0 => weight.slice_assign([id..id + 1, 0..width], value.clone()),
            _ => weight.slice_assign([0..height, id..id + 1], value.clone()),
        }
    };
    let weight = place(place(weight.clone(), tokens.plus()), tokens.minus());
    Param::from_tensor(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Family;
    use crate::score::score_streams;
    use crate::test_models::{tiny, tiny_config};
    use sapo_core::value::{ActionSoftmax, Readout};

    fn values(decoder: &Decoder, tokens: ValueTokens) -> Vec<f32> {
        let softmax = ActionSoftmax { value_tokens: Some(tokens), temperature: 1.0 };
        score_streams(decoder, &[&[4, 5, 6, 7]], &softmax, Readout::default()).remove(0).values
    }

    /// Qwen2.5: the tokenizer ends at 151664, the logits have 151,936 rows.
    #[test]
    fn the_two_highest_spare_rows_are_reserved() {
        let tokens = ValueTokens::new(151_935, 151_934, 151_936).unwrap();
        assert_eq!(reserve_value_tokens(151_936, 151_664), Reservation::Spare(tokens));
        let tokens = ValueTokens::new(9, 8, 10).unwrap();
        assert_eq!(reserve_value_tokens(10, 7), Reservation::Spare(tokens));
    }

    #[test]
    fn a_full_vocabulary_gets_two_more_rows() {
        for max_id in [8, 9] {
            let tokens = ValueTokens::new(11, 10, 12).unwrap();
            assert_eq!(reserve_value_tokens(10, max_id), Reservation::Appended(tokens));
        }
    }

    #[test]
    fn values_start_at_exactly_zero_unless_rows_are_kept() {
        let tokens = ValueTokens::new(39, 38, 40).unwrap();
        for rows in [ValueRows::Zero, ValueRows::Equal] {
            let decoder = start_value_rows(tiny(Family::Qwen2, 0), tokens, rows);
            assert!(values(&decoder, tokens).iter().all(|value| *value == 0.0));
        }
        let kept = start_value_rows(tiny(Family::Qwen2, 0), tokens, ValueRows::Keep);
        assert_eq!(values(&kept, tokens), values(&tiny(Family::Qwen2, 0), tokens));
        assert!(values(&kept, tokens).iter().any(|value| *value != 0.0));
    }

    #[test]
    fn appended_rows_leave_the_others_as_they_were() {
        for is_tied in [true, false] {
            let mut config = tiny_config(Family::Llama);
            config.tie_word_embeddings = is_tied;
            let residual = crate::init::ResidualInit::Plain;
            let old = crate::init::new_model(&config, residual, 0, &Device::flex()).unwrap();
            let new = append_rows(old.clone(), &mut config, 42);
            assert_eq!(config.vocab_size, 42);
            let tokens = ValueTokens::new(1, 2, 40).unwrap();
            assert_eq!(values(&new, tokens), values(&old, tokens));
            let appended = ValueTokens::new(41, 40, 42).unwrap();
            assert!(values(&new, appended).iter().all(|value| *value == 0.0));
        }
    }
}
