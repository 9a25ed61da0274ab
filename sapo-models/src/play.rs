//! One turn of a batch: contexts are read in, replies written token by token.

use burn::prelude::*;
use sapo_core::model::CausalLm;

use crate::cache::KvCache;
use crate::decoder::Decoder;
use crate::draft::{Draft, Reader};
use crate::part::Part;

/// Rows that have finished go on taking part until so many could be left out at once.
const FEWEST_ROWS_TO_DROP: usize = 8;

/// Why a turn could not be played to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The logits of this draft hold a NaN or an infinity.
    NotFinite { draft: usize },
    /// The device could not hand over the logits.
    Device(String),
}

/// What plays a turn.
pub(crate) struct Player<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) device: &'a Device,
    pub(crate) reader: Reader<'a>,
    /// See [`GeneratorConfig`](crate::GeneratorConfig).
    pub(crate) prefill_scores: usize,
}

impl Player<'_> {
    /// Plays `drafts`, each in its row of `cache`. Other rows rest.
    pub(crate) fn play(
        &self,
        cache: &mut KvCache,
        rows: &[usize],
        drafts: &mut [Draft],
    ) -> Result<(), Failure> {
        let everyone: Vec<usize> = (0..drafts.len()).collect();
        if rows.len() < cache.rows() {
            let mut part = Part::take(cache, rows.to_vec());
            self.begin(&mut part.cache, &everyone, drafts)?;
            part.give_back(cache);
            return Ok(());
        }
        let mut owners = vec![0; rows.len()];
        for (draft, &row) in rows.iter().enumerate() {
            owners[row] = draft;
        }
        self.begin(cache, &owners, drafts)
    }

    /// Reads all contexts in, then writes the replies. Row `i` of `cache` is that of draft `owners[i]`.
    fn begin(
        &self,
        cache: &mut KvCache,
        owners: &[usize],
        drafts: &mut [Draft],
    ) -> Result<(), Failure> {
        let contexts: Vec<&[u32]> = owners.iter().map(|&draft| drafts[draft].context()).collect();
        let logits = self.read_in(cache, &contexts)?;
        self.write(cache, owners, drafts, logits)
    }

    /// Writes token by token until every reply is whole and its last token is in the cache.
    fn write(
        &self,
        cache: &mut KvCache,
        owners: &[usize],
        drafts: &mut [Draft],
        mut logits: Logits,
    ) -> Result<(), Failure> {
        let mut is_open = vec![true; owners.len()];
        loop {
            let mut next = vec![None; owners.len()];
            for (row, &draft) in owners.iter().enumerate() {
                if !is_open[row] {
                    continue;
                }
                let drawn = drafts[draft].advance(logits.row(row), &self.reader);
                next[row] = drawn.map_err(|_| Failure::NotFinite { draft })?;
                is_open[row] = next[row].is_some();
            }
            let open: Vec<usize> = (0..owners.len()).filter(|&row| is_open[row]).collect();
            if open.is_empty() {
                return Ok(());
            }
            if open.len() * 2 <= owners.len() && owners.len() - open.len() >= FEWEST_ROWS_TO_DROP {
                return self.write_on_without_the_rest(cache, owners, drafts, &open, &next);
            }
            logits = self.feed(cache, &next)?;
        }
    }

    fn write_on_without_the_rest(
        &self,
        cache: &mut KvCache,
        owners: &[usize],
        drafts: &mut [Draft],
        open: &[usize],
        next: &[Option<u32>],
    ) -> Result<(), Failure> {
        let mut part = Part::take(cache, open.to_vec());
        let owners: Vec<usize> = open.iter().map(|&row| owners[row]).collect();
        let next: Vec<Option<u32>> = open.iter().map(|&row| next[row]).collect();
        let logits = self.feed(&mut part.cache, &next)?;
        self.write(&mut part.cache, &owners, drafts, logits)?;
        part.give_back(cache);
        Ok(())
    }

    /// The value at the end of `context`, read after row `stream` of `cache`, which stays as it is.
    pub(crate) fn value(
        &self,
        cache: &KvCache,
        stream: Option<usize>,
        context: &[u32],
    ) -> Result<f32, Failure> {
        let mut cache = match stream {
            Some(row) => Part::take(cache, vec![row]).cache,
            None => KvCache::new(self.decoder, 1),
        };
        let logits = self.read_in(&mut cache, &[context])?;
        Ok(self.reader.value(logits.row(0)))
    }

    /// Appends one token to each row that has one, and returns the logits after it.
    fn feed(&self, cache: &mut KvCache, next: &[Option<u32>]) -> Result<Logits, Failure> {
        let tokens: Vec<&[u32]> = next.iter().map(|token| token.as_slice()).collect();
        let hidden = self.append(cache, &tokens, 1);
        self.logits(hidden)
    }

    /// Appends contexts and returns the logits after each.
    fn read_in(&self, cache: &mut KvCache, contexts: &[&[u32]]) -> Result<Logits, Failure> {
        let lengths: Vec<usize> = contexts.iter().map(|context| context.len()).collect();
        let Some(tail) = common_tail(&lengths) else {
            return self.read_together(cache, contexts);
        };
        // What the long contexts have more than the others is read without the others.
        let long: Vec<usize> = (0..contexts.len()).filter(|&row| lengths[row] > tail).collect();
        let heads: Vec<&[u32]> =
            long.iter().map(|&row| &contexts[row][..lengths[row] - tail]).collect();
        let mut part = Part::take(cache, long);
        self.read_in(&mut part.cache, &heads)?;
        part.give_back(cache);
        let tails: Vec<&[u32]> =
            contexts.iter().map(|context| window(context, tail, tail)).collect();
        self.read_together(cache, &tails)
    }

    fn read_together(&self, cache: &mut KvCache, contexts: &[&[u32]]) -> Result<Logits, Failure> {
        let longest = contexts.iter().map(|context| context.len()).max().unwrap_or(0);
        let mut left = longest;
        loop {
            let keys = cache.columns() + left.min(1024);
            let time = (self.prefill_scores / (contexts.len() * keys)).clamp(1, left.max(1));
            // Contexts are right-aligned: short ones begin in a later piece.
            let piece: Vec<&[u32]> =
                contexts.iter().map(|context| window(context, left, time)).collect();
            let hidden = self.append(cache, &piece, time);
            left = left.saturating_sub(time);
            if left == 0 {
                return self.logits(hidden);
            }
        }
    }

    /// Runs a block of `time` columns and returns the hidden states of its last one. `[rows, hidden]`
    fn append(&self, cache: &mut KvCache, tokens: &[&[u32]], time: usize) -> Tensor<2> {
        let counts: Vec<usize> = tokens.iter().map(|tokens| tokens.len()).collect();
        let placement = cache.place(&counts, time, self.device);
        let mut ids = Vec::with_capacity(tokens.len() * time);
        for own in tokens {
            ids.extend(std::iter::repeat_n(0_i32, time - own.len()));
            ids.extend(own.iter().map(|&token| token as i32));
        }
        let ids = TensorData::new(ids, [tokens.len(), time]);
        let ids = Tensor::<2, Int>::from_data(ids, self.device);
        let hidden = self.decoder.hidden(ids, &placement, Some(cache));
        hidden.narrow(1, time - 1, 1).squeeze_dim(1)
    }

    fn logits(&self, hidden: Tensor<2>) -> Result<Logits, Failure> {
        let logits = self.decoder.logits(hidden);
        let width = logits.dims()[1];
        // Moved, not copied, where the device's numbers are the host's.
        let logits = logits.try_into_data().map_err(|error| Failure::Device(error.to_string()))?;
        let values = logits.convert::<f32>().try_into_vec::<f32>();
        let values = values.map_err(|error| Failure::Device(format!("{error:?}")))?;
        Ok(Logits { values, width })
    }
}

/// The length up to which contexts are best read together, if reading what the longer ones have more
/// apart saves a fifth of the padded tokens.
fn common_tail(lengths: &[usize]) -> Option<usize> {
    let longest = lengths.iter().copied().max()?;
    let cost = |tail: usize| {
        let long = lengths.iter().filter(|&&length| length > tail).count();
        tail * lengths.len() + (longest - tail) * long
    };
    let tail =
        lengths.iter().copied().filter(|&length| length > 0).min_by_key(|&tail| cost(tail))?;
    (cost(tail) * 5 <= cost(longest) * 4).then_some(tail)
}

/// Which of a context's tokens fall into a piece of `time`, `left` tokens before the contexts' end.
fn window(context: &[u32], left: usize, time: usize) -> &[u32] {
    let start = context.len().saturating_sub(left);
    let end = (context.len() + time).saturating_sub(left);
    &context[start..end.max(start)]
}

/// Logits on the host, row by row.
struct Logits {
    values: Vec<f32>,
    width: usize,
}

impl Logits {
    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: together 4 x 50 = 200; a tail of 10 costs 4 x 10 + 2 x 40 = 120, one of 12 4 x 12 + 38 = 86.
    #[test]
    fn long_contexts_are_cut_where_that_saves_most() {
        assert_eq!(common_tail(&[10, 50, 10, 12]), Some(12));
        assert_eq!(common_tail(&[50, 50, 48]), None);
        assert_eq!(common_tail(&[]), None);
    }
}
