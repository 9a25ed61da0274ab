//! [`KvCache`]: keys and values of a batch of streams that grow by turns.
//!
//! All rows share their columns. A block of new tokens takes new columns in every row, right-aligned:
//! a row with fewer tokens leaves columns empty at the block's left, and a mask hides them for ever.
//! So appending is one write a layer, whatever the rows' lengths. The empty columns are waste;
//! [`compact`](KvCache::compact) removes it between turns, when rows leave or join as well.

use burn::prelude::*;
use sapo_core::model::Placement;

use crate::decoder::Decoder;

/// Room is made for so many columns at a time, at least.
const COLUMN_STEP: usize = 64;

/// Keys and values of one layer. `[rows, groups, capacity, head_dim]`
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerCache {
    /// `None` before the first block.
    stored: Option<[Tensor<4>; 2]>,
    written: usize,
}

impl LayerCache {
    /// Appends columns and returns all that were ever written, these included.
    ///
    /// # Shapes
    /// - keys and values: `[rows, groups, time, head_dim]`
    /// - outputs: `[rows, groups, written, head_dim]`
    pub(crate) fn append(&mut self, keys: Tensor<4>, values: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        let end = self.written + keys.dims()[2];
        // The old tensors are moved, not cloned: only a sole owner is written in place.
        let [old_keys, old_values] = match self.stored.take() {
            Some([keys, values]) => [Some(keys), Some(values)],
            None => [None, None],
        };
        let keys = write(old_keys, keys, self.written);
        let values = write(old_values, values, self.written);
        let views = (keys.clone().narrow(2, 0, end), values.clone().narrow(2, 0, end));
        self.stored = Some([keys, values]);
        self.written = end;
        views
    }

    /// Keys and values of some columns.
    pub(crate) fn stored(&self, start: usize, columns: usize) -> Option<[Tensor<4>; 2]> {
        let stored = self.stored.as_ref()?;
        Some(stored.clone().map(|tensor| tensor.narrow(2, start, columns)))
    }

    /// Columns named by `index` become a new cache of `columns` columns.
    fn gather(&mut self, index: &Tensor<1, Int>, rows: usize, columns: usize, written: usize) {
        let select = |tensor: Tensor<4>| {
            let [_, groups, _, head_dim] = tensor.dims();
            let flat = tensor.reshape([-1, head_dim as i32]);
            flat.select(0, index.clone()).reshape([rows, groups, columns, head_dim])
        };
        self.stored = self.stored.take().map(|stored| stored.map(select));
        self.written = written;
    }
}

/// Writes a block into the columns from `start`, into a larger copy where there is no room.
fn write(old: Option<Tensor<4>>, block: Tensor<4>, start: usize) -> Tensor<4> {
    let [rows, groups, time, head_dim] = block.dims();
    let end = start + time;
    let capacity = old.as_ref().map_or(0, |old| old.dims()[2]);
    let room = match old {
        Some(old) if end <= capacity => old,
        old => {
            let columns = roomy(end.max(capacity * 3 / 2));
            let options = (&block.device(), block.dtype());
            let room = Tensor::zeros([rows, groups, columns, head_dim], options);
            match old {
                Some(old) => {
                    let old = old.narrow(2, 0, start);
                    room.slice_assign([0..rows, 0..groups, 0..start, 0..head_dim], old)
                }
                None => room,
            }
        }
    };
    room.slice_assign([0..rows, 0..groups, start..end, 0..head_dim], block)
}

/// At least `columns`, in whole steps, with some to spare.
fn roomy(columns: usize) -> usize {
    (columns + COLUMN_STEP / 2).next_multiple_of(COLUMN_STEP)
}

/// What one row has in the shared columns.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Whether a column holds one of the row's tokens, for each column.
    visible: Vec<bool>,
    /// The number of tokens: the position of the next one.
    length: usize,
}

/// Keys and values of a batch of streams, for all layers.
#[derive(Clone, Debug)]
pub struct KvCache {
    layers: Vec<LayerCache>,
    rows: Vec<Row>,
    /// Columns that blocks were placed in.
    placed: usize,
    /// Columns that a model wrote.
    written: usize,
    groups: usize,
}

impl KvCache {
    /// An empty cache for `rows` streams of `decoder`.
    pub fn new(decoder: &Decoder, rows: usize) -> Self {
        KvCache {
            layers: vec![LayerCache::default(); decoder.model.layers.len()],
            rows: vec![Row::default(); rows],
            placed: 0,
            written: 0,
            groups: decoder.groups(),
        }
    }

    /// The number of streams.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of shared columns in use.
    pub fn columns(&self) -> usize {
        self.placed
    }

    /// The number of tokens in a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn length(&self, row: usize) -> usize {
        self.rows[row].length
    }

    /// Columns that would be left by [`compact`](Self::compact) with the rows as they are.
    pub fn needed_columns(&self) -> usize {
        self.rows.iter().map(|row| row.length).max().unwrap_or(0)
    }

    /// Gives the next block its columns: the last `counts[row]` of `time` tokens of each row are the
    /// row's own, those before are padding.
    ///
    /// The next call of the model with this cache must be for that block.
    ///
    /// # Panics
    /// If `counts` has not one number a row, or one is larger than `time`.
    pub fn place(&mut self, counts: &[usize], time: usize, device: &Device) -> Placement {
        assert_eq!(counts.len(), self.rows.len(), "counts of {} rows", self.rows.len());
        let (rows, keys) = (self.rows.len(), self.placed + time);
        let mut positions = Vec::with_capacity(rows * time);
        let mut hidden = Vec::with_capacity(rows * time * keys);
        for (row, &count) in self.rows.iter_mut().zip(counts) {
            assert!(count <= time, "{count} tokens in a block of {time}");
            let padding = time - count;
            let first_own = self.placed + padding;
            for step in 0..time {
                positions.push(row.length as i32 + step.saturating_sub(padding) as i32);
                let column = self.placed + step;
                let is_padding = step < padding;
                // Padding sees itself, so that its softmax is over something.
                hidden.extend(row.visible.iter().map(|&visible| is_padding || !visible));
                hidden.extend((self.placed..keys).map(|key| match is_padding {
                    true => key != column,
                    false => key < first_own || key > column,
                }));
            }
            row.visible.extend((0..time).map(|step| step >= padding));
            row.length += count;
        }
        self.placed = keys;
        Placement {
            positions: Tensor::from_data(TensorData::new(positions, [rows, time]), device),
            hidden: Tensor::from_data(TensorData::new(hidden, [rows, time, keys]), device),
        }
    }

    /// Rebuilds the cache for other rows: each is an old row, which keeps its tokens, or a new and empty
    /// one. All waste is removed, and the rows' tokens end in the same column.
    ///
    /// # Panics
    /// If an old row is not there.
    pub fn compact(&mut self, rows: &[Option<usize>]) {
        let old_capacity = match self.layers.first().and_then(|layer| layer.stored.as_ref()) {
            Some([keys, _]) => keys.dims()[2],
            None => 0,
        };
        let kept: Vec<Row> = rows
            .iter()
            .map(|row| row.map_or_else(Row::default, |row| self.rows[row].clone()))
            .collect();
        let used = kept.iter().map(|row| row.length).max().unwrap_or(0);
        if used == 0 || old_capacity == 0 {
            self.clear(rows.len());
            return;
        }
        let columns = roomy(used);
        let index = self.sources(rows, used, columns, old_capacity);
        if let Some([keys, _]) = self.layers.first().and_then(|layer| layer.stored.as_ref()) {
            let shape = [index.len()];
            let index = Tensor::from_data(TensorData::new(index, shape), &keys.device());
            for layer in &mut self.layers {
                layer.gather(&index, rows.len(), columns, used);
            }
        }
        let right_align = |row: Row| Row {
            visible: (0..used).map(|column| column + row.length >= used).collect(),
            length: row.length,
        };
        self.rows = kept.into_iter().map(right_align).collect();
        (self.placed, self.written) = (used, used);
    }

    /// For each new row, group and column: which of the old ones it is taken from.
    fn sources(
        &self,
        rows: &[Option<usize>],
        used: usize,
        columns: usize,
        old_capacity: usize,
    ) -> Vec<i32> {
        let mut index = Vec::with_capacity(rows.len() * self.groups * columns);
        for row in rows {
            let own: Vec<usize> = match *row {
                Some(row) => visible_columns(&self.rows[row]).collect(),
                None => Vec::new(),
            };
            for group in 0..self.groups {
                let start = (row.unwrap_or(0) * self.groups + group) * old_capacity;
                // Hidden columns take what is in the first one: any finite number will do.
                index.extend(std::iter::repeat_n(start as i32, used - own.len()));
                index.extend(own.iter().map(|column| (start + column) as i32));
                index.extend(std::iter::repeat_n(start as i32, columns - used));
            }
        }
        index
    }

    fn clear(&mut self, rows: usize) {
        self.layers.fill(LayerCache::default());
        self.rows = vec![Row::default(); rows];
        (self.placed, self.written) = (0, 0);
    }

    pub(crate) fn layer(&mut self, index: usize) -> &mut LayerCache {
        &mut self.layers[index]
    }

    pub(crate) fn layers(&self) -> &[LayerCache] {
        &self.layers
    }

    pub(crate) fn layers_mut(&mut self) -> &mut [LayerCache] {
        &mut self.layers
    }

    /// Counts columns that were appended to every layer, as padding of every row.
    pub(crate) fn hide_columns(&mut self, columns: usize) {
        for row in &mut self.rows {
            row.visible.resize(self.placed + columns, false);
        }
        self.placed += columns;
        self.written += columns;
    }

    /// Shows `row` those of its last columns that `other` has in `other_row` from column `start` on.
    pub(crate) fn reveal(&mut self, row: usize, other: &KvCache, other_row: usize, start: usize) {
        let gained = &other.rows[other_row].visible[start..];
        let own = &mut self.rows[row];
        let first = own.visible.len() - gained.len();
        own.visible[first..].copy_from_slice(gained);
        own.length = other.rows[other_row].length;
    }

    /// # Panics
    /// If the block was not placed.
    pub(crate) fn expect_block(&self, time: usize, layers: usize) {
        assert_eq!(self.layers.len(), layers, "the cache of another model");
        let (written, placed) = (self.written, self.placed);
        assert_eq!(written + time, placed, "a block of {time} after {written} of {placed} columns");
    }

    pub(crate) fn finish_block(&mut self, time: usize) {
        self.written += time;
    }
}

fn visible_columns(row: &Row) -> impl Iterator<Item = usize> {
    row.visible.iter().enumerate().filter(|(_, visible)| **visible).map(|(column, _)| column)
}

#[cfg(test)]
mod tests;
