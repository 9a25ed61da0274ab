//! A reply while it is being written.

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use sapo_core::actor::{Finish, Reply};
use sapo_core::value::{Readout, ValueTokens};

use crate::sample::{NotFinite, Sampling};

/// How logits become tokens and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) sampling: Sampling,
    pub(crate) readout: Readout,
    pub(crate) stop_ids: &'a [u32],
    pub(crate) max_new_tokens: usize,
}

impl Reader<'_> {
    /// The value read off one position's logits; 0 without value tokens.
    pub(crate) fn value(&self, logits: &[f32]) -> f32 {
        let difference =
            |tokens: ValueTokens| logits[tokens.plus() as usize] - logits[tokens.minus() as usize];
        self.sampling
            .value_tokens
            .map_or(0.0, |tokens| self.readout.read_scalar(difference(tokens)))
    }
}

/// A reply while it is being written.
#[derive(Debug)]
pub(crate) struct Draft {
    context: Vec<u32>,
    tokens: Vec<u32>,
    log_probs: Vec<f32>,
    value: Option<f32>,
    action_value: f32,
    finish: Option<Finish>,
    random: ChaCha12Rng,
}

impl Draft {
    pub(crate) fn new(context: Vec<u32>, seed: u64) -> Self {
        Draft {
            context,
            tokens: Vec::new(),
            log_probs: Vec::new(),
            value: None,
            action_value: 0.0,
            finish: None,
            random: ChaCha12Rng::seed_from_u64(seed),
        }
    }

    pub(crate) fn context(&self) -> &[u32] {
        &self.context
    }

    /// Takes the logits after the last token of the stream; returns the next token to feed, if any.
    pub(crate) fn advance(
        &mut self,
        logits: &[f32],
        reader: &Reader<'_>,
    ) -> Result<Option<u32>, NotFinite> {
        if self.value.is_none() {
            self.value = Some(reader.value(logits));
        }
        if self.finish.is_some() {
            // The last token was sampled before: these logits are those of Q.
            self.action_value = reader.value(logits);
            return Ok(None);
        }
        let drawn = reader.sampling.draw(logits, &mut self.random)?;
        self.tokens.push(drawn.token);
        self.log_probs.push(drawn.log_prob);
        if reader.stop_ids.contains(&drawn.token) {
            self.finish = Some(Finish::Stop);
        } else if self.tokens.len() >= reader.max_new_tokens {
            self.finish = Some(Finish::Length);
        }
        Ok(Some(drawn.token))
    }

    /// Why the reply ended.
    pub(crate) fn finish(&self) -> Finish {
        self.finish.unwrap_or(Finish::Length)
    }

    /// The whole reply.
    pub(crate) fn reply(self, decode: impl FnOnce(&[u32]) -> String) -> Reply {
        Reply {
            text: decode(&self.tokens),
            finish: self.finish(),
            context: self.context,
            tokens: self.tokens,
            log_probs: self.log_probs,
            value: self.value.unwrap_or(0.0),
            action_value: self.action_value,
        }
    }
}
