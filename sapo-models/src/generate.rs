//! [`Generator`]: a decoder that plays, a batch of conversations at a time.

use std::collections::{BTreeMap, BTreeSet};

use burn::prelude::*;
use sapo_core::actor::{Actor, Finish, NoRoom, Reply, TurnRequest};
use sapo_core::env::Prompt;
use sapo_core::parallel;
use sapo_core::value::Readout;

use crate::cache::KvCache;
use crate::codec::Codec;
use crate::decoder::Decoder;
use crate::draft::{Draft, Reader};
use crate::play::{Failure, Player};
use crate::sample::Sampling;

mod error;

pub use error::GenerateError;

/// How replies are generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorConfig {
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// How values are read off the logits of the sampling's value tokens.
    pub readout: Readout,
    /// A reply of so many tokens ends by [`Finish::Length`].
    pub max_new_tokens: usize,
    /// The longest fresh prompt, in tokens.
    pub max_prompt_tokens: usize,
    /// The longest stream, in tokens: `max_position_embeddings` of the model.
    pub max_positions: usize,
    /// How many attention scores of one head a forward pass may hold, over all rows: long prompts are
    /// read in pieces that keep to it.
    pub prefill_scores: usize,
    /// How many batches the conversations are dealt into, each with a thread of its own. More than 1 is
    /// for processors; it changes log-probabilities by rounding alone.
    pub workers: usize,
}

impl GeneratorConfig {
    /// Temperature 1, no value tokens, replies of up to 256 tokens, prompts as long as then fit.
    pub fn new(max_positions: usize) -> Self {
        GeneratorConfig {
            sampling: Sampling::default(),
            readout: Readout::default(),
            max_new_tokens: 256.min(max_positions / 2).max(1),
            max_prompt_tokens: max_positions - (max_positions / 2).min(256),
            max_positions,
            prefill_scores: 4 << 20,
            workers: 1,
        }
    }
}

/// A conversation's stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    row: usize,
    last: Finish,
}

/// What a request asks for, as tokens.
struct Wish {
    slot: usize,
    is_fresh: bool,
    seed: u64,
    context: Vec<u32>,
}

/// Conversations that are played together.
#[derive(Debug)]
struct Batch {
    cache: KvCache,
    streams: BTreeMap<usize, Stream>,
}

/// A decoder that plays: each slot's stream stays in the KV cache between its turns, and only what is
/// new is ever read.
#[derive(Debug)]
pub struct Generator<C> {
    decoder: Decoder,
    codec: C,
    config: GeneratorConfig,
    device: Device,
    /// Slot `i` is in batch `i` modulo their number.
    batches: Vec<Batch>,
}

impl<C: Codec> Generator<C> {
    /// A generator without streams. `decoder` may be one that is trained: it plays without gradients.
    pub fn new(decoder: &Decoder, codec: C, config: GeneratorConfig) -> Self {
        let decoder = decoder.packed();
        let device = decoder.device();
        let batches = (0..config.workers.max(1)).map(|_| Batch::new(&decoder)).collect();
        Generator { decoder, codec, config, device, batches }
    }

    fn forget_all(&mut self) {
        self.batches.fill_with(|| Batch::new(&self.decoder));
    }

    fn batch(&self, slot: usize) -> &Batch {
        &self.batches[slot % self.batches.len()]
    }

    /// A request as tokens, unless its stream has no room for them and a reply of `reply` tokens.
    fn wish(
        &self,
        request: &TurnRequest<'_>,
        reply: usize,
    ) -> Result<Result<Wish, NoRoom>, GenerateError> {
        let slot = request.slot;
        let refused = |source| GenerateError::Codec { slot, source };
        let (context, stream) = match request.prompt {
            Prompt::Fresh(messages) => (self.codec.fresh(messages).map_err(refused)?, 0),
            Prompt::Continue(messages) => {
                let Batch { cache, streams } = self.batch(slot);
                let stream = streams.get(&slot).ok_or(GenerateError::NoStream { slot })?;
                let context = self.codec.follow(stream.last, messages).map_err(refused)?;
                (context, cache.length(stream.row))
            }
        };
        let is_fresh = matches!(request.prompt, Prompt::Fresh(_));
        self.check(slot, &context)?;
        let GeneratorConfig { max_prompt_tokens, max_positions, .. } = self.config;
        let (prompt, tokens) = (context.len(), stream + context.len() + reply);
        Ok(if is_fresh && prompt > max_prompt_tokens {
            Err(NoRoom::Prompt { tokens: prompt, limit: max_prompt_tokens })
        } else if tokens > max_positions {
            Err(NoRoom::Stream { tokens, limit: max_positions })
        } else {
            Ok(Wish { slot, is_fresh, seed: request.seed, context })
        })
    }

    fn check(&self, slot: usize, context: &[u32]) -> Result<(), GenerateError> {
        let vocabulary = self.decoder.rows();
        if context.is_empty() {
            return Err(GenerateError::EmptyContext { slot });
        }
        if let Some(&token) = context.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(GenerateError::TokenOutside { slot, token, vocabulary });
        }
        Ok(())
    }

    fn player(&self) -> Player<'_> {
        Player {
            decoder: &self.decoder,
            device: &self.device,
            prefill_scores: self.config.prefill_scores,
            reader: Reader {
                sampling: self.config.sampling,
                readout: self.config.readout,
                stop_ids: self.codec.stop_ids(),
                max_new_tokens: self.config.max_new_tokens,
            },
        }
    }

    /// Plays all wishes, each batch on its thread; the replies come in no particular order.
    fn play(&mut self, wishes: Vec<Wish>) -> Result<Vec<(usize, Draft)>, GenerateError> {
        let mut batches = std::mem::take(&mut self.batches);
        let mut shares: Vec<Vec<Wish>> = batches.iter().map(|_| Vec::new()).collect();
        for wish in wishes {
            let batch = wish.slot % shares.len();
            shares[batch].push(wish);
        }
        let player = self.player();
        let busy = batches.iter_mut().zip(shares).filter(|(_, share)| !share.is_empty());
        let played = parallel::map(busy.collect(), |(batch, share)| batch.play(&player, share));
        self.batches = batches;
        let played: Result<Vec<_>, _> = played.into_iter().collect();
        match played {
            Ok(drafts) => Ok(drafts.into_iter().flatten().collect()),
            Err(error) => {
                // Half a turn is in a cache: no stream can go on from it.
                self.forget_all();
                Err(error)
            }
        }
    }
}

impl Batch {
    fn new(decoder: &Decoder) -> Self {
        Batch { cache: KvCache::new(decoder, 0), streams: BTreeMap::new() }
    }

    /// Makes a row for each wish, and drops rows and waste where that is due.
    fn arrange(&mut self, wishes: &[Wish]) {
        for wish in wishes.iter().filter(|wish| wish.is_fresh) {
            self.streams.remove(&wish.slot);
        }
        let mut rows: Vec<Option<usize>> = Vec::new();
        for stream in self.streams.values_mut() {
            rows.push(Some(stream.row));
            stream.row = rows.len() - 1;
        }
        for wish in wishes.iter().filter(|wish| wish.is_fresh) {
            let stream = Stream { row: rows.len(), last: Finish::Stop };
            self.streams.insert(wish.slot, stream);
            rows.push(None);
        }
        let unchanged = rows.len() == self.cache.rows()
            && rows.iter().enumerate().all(|(row, old)| *old == Some(row));
        if !unchanged || is_wasteful(&self.cache) {
            self.cache.compact(&rows);
        }
    }

    /// Plays its wishes; the cache is left with the whole replies in it.
    fn play(
        &mut self,
        player: &Player<'_>,
        wishes: Vec<Wish>,
    ) -> Result<Vec<(usize, Draft)>, GenerateError> {
        self.arrange(&wishes);
        let rows: Vec<usize> = wishes.iter().map(|wish| self.streams[&wish.slot].row).collect();
        let slots: Vec<usize> = wishes.iter().map(|wish| wish.slot).collect();
        let mut drafts: Vec<Draft> =
            wishes.into_iter().map(|wish| Draft::new(wish.context, wish.seed)).collect();
        let played = player.play(&mut self.cache, &rows, &mut drafts);
        played.map_err(|failure| explain(failure, &slots))?;
        for (slot, draft) in slots.iter().zip(&drafts) {
            if let Some(stream) = self.streams.get_mut(slot) {
                stream.last = draft.finish();
            }
        }
        Ok(slots.into_iter().zip(drafts).collect())
    }
}

/// Whether more than a fifth of the columns, and more than a few, could be done without.
fn is_wasteful(cache: &KvCache) -> bool {
    let needed = cache.needed_columns();
    cache.columns() > needed + needed / 4 + 16
}

fn explain(failure: Failure, slots: &[usize]) -> GenerateError {
    match failure {
        Failure::NotFinite { draft } => GenerateError::NotFinite { slot: slots[draft] },
        Failure::Device(problem) => GenerateError::Device(problem),
    }
}

impl<C: Codec> Actor for Generator<C> {
    type Error = GenerateError;

    fn act(
        &mut self,
        requests: &[TurnRequest<'_>],
    ) -> Result<Vec<Result<Reply, NoRoom>>, GenerateError> {
        let mut seen = BTreeSet::new();
        if let Some(request) = requests.iter().find(|request| !seen.insert(request.slot)) {
            return Err(GenerateError::DuplicateSlot { slot: request.slot });
        }
        let reply = self.config.max_new_tokens;
        let (mut wishes, mut refusals) = (Vec::new(), BTreeMap::new());
        for request in requests {
            match self.wish(request, reply)? {
                Ok(wish) => wishes.push(wish),
                Err(full) => _ = refusals.insert(request.slot, full),
            }
        }
        let mut drafts: BTreeMap<usize, Draft> = self.play(wishes)?.into_iter().collect();
        let answers = requests.iter().filter_map(|request| match drafts.remove(&request.slot) {
            Some(draft) => Some(Ok(draft.reply(|tokens| self.codec.decode(tokens)))),
            None => refusals.remove(&request.slot).map(Err),
        });
        Ok(answers.collect())
    }

    fn release(&mut self, slot: usize) {
        let batch = slot % self.batches.len();
        self.batches[batch].streams.remove(&slot);
    }

    fn value(&mut self, request: &TurnRequest<'_>) -> Result<Result<f32, NoRoom>, GenerateError> {
        let wish = match self.wish(request, 0)? {
            Ok(wish) => wish,
            Err(full) => return Ok(Err(full)),
        };
        let Batch { cache, streams } = self.batch(wish.slot);
        let stream = match wish.is_fresh {
            true => None,
            false => streams.get(&wish.slot).map(|stream| stream.row),
        };
        let played = self.player().value(cache, stream, &wish.context);
        played.map(Ok).map_err(|failure| explain(failure, &[wish.slot]))
    }
}

#[cfg(test)]
mod tests;
