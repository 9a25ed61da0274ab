//! Some rows of a cache that go on while the others rest.

use burn::prelude::*;

use crate::cache::KvCache;

/// Rows taken out of a cache for a while, so that the rows that rest cost nothing.
#[derive(Debug)]
pub(crate) struct Part {
    /// The rows' own cache, without waste.
    pub(crate) cache: KvCache,
    /// Which rows of the whole they are.
    rows: Vec<usize>,
    /// Columns that came from the whole.
    taken: usize,
}

impl Part {
    /// Copies `rows` out of `whole`.
    pub(crate) fn take(whole: &KvCache, rows: Vec<usize>) -> Self {
        let mut cache = whole.clone();
        let kept: Vec<Option<usize>> = rows.iter().copied().map(Some).collect();
        cache.compact(&kept);
        let taken = cache.columns();
        Part { cache, rows, taken }
    }

    /// Appends to `whole`, which must not have changed, what its rows have gained here.
    pub(crate) fn give_back(self, whole: &mut KvCache) {
        let gained = self.cache.columns() - self.taken;
        if gained == 0 {
            return;
        }
        // A row that rested takes any row's columns: they are hidden from it.
        let mut source = vec![0_i32; whole.rows()];
        for (part_row, &row) in self.rows.iter().enumerate() {
            source[row] = part_row as i32;
        }
        whole.append_columns(&self.cache, self.taken, &source);
        for (part_row, &row) in self.rows.iter().enumerate() {
            whole.reveal(row, &self.cache, part_row, self.taken);
        }
    }
}

impl KvCache {
    /// Appends the columns of `other` from `start`; row `i` gets those of row `source[i]`, hidden.
    fn append_columns(&mut self, other: &KvCache, start: usize, source: &[i32]) {
        let gained = other.columns() - start;
        for (own, other) in self.layers_mut().iter_mut().zip(other.layers()) {
            let Some([keys, values]) = other.stored(start, gained) else { continue };
            let rows = TensorData::new(source.to_vec(), [source.len()]);
            let rows = Tensor::<1, Int>::from_data(rows, &keys.device());
            let (keys, values) = (keys.select(0, rows.clone()), values.select(0, rows));
            own.append(keys, values);
        }
        self.hide_columns(gained);
    }
}
