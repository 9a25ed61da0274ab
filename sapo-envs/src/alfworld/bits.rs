//! Sets of small integers as words of bits: the whole mutable world is a few hundred bytes, copied at a
//! reset and read in the order of the raw ids.

/// A table of bits: one row a receptacle or a place, one column an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BitTable {
    words: Vec<u64>,
    stride: usize,
}

impl BitTable {
    /// An empty table.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let stride = columns.div_ceil(64);
        BitTable { words: vec![0; rows * stride], stride }
    }

    /// The words of one row.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride..(row + 1) * self.stride]
    }

    /// Whether the bit is set.
    pub(crate) fn contains(&self, row: usize, column: usize) -> bool {
        self.words[row * self.stride + column / 64] >> (column % 64) & 1 == 1
    }

    /// Sets the bit.
    pub(crate) fn insert(&mut self, row: usize, column: usize) {
        self.words[row * self.stride + column / 64] |= 1 << (column % 64);
    }

    /// Clears the bit.
    pub(crate) fn remove(&mut self, row: usize, column: usize) {
        self.words[row * self.stride + column / 64] &= !(1 << (column % 64));
    }

    /// The columns set in a row, ascending.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = usize> {
        ones(self.row(row))
    }
}

/// A set of objects or receptacles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BitSet(BitTable);

impl BitSet {
    /// An empty set over `0..size`.
    pub(crate) fn new(size: usize) -> Self {
        BitSet(BitTable::new(1, size))
    }

    /// Whether the member is in the set.
    pub(crate) fn contains(&self, member: usize) -> bool {
        self.0.contains(0, member)
    }

    /// Puts a member in.
    pub(crate) fn insert(&mut self, member: usize) {
        self.0.insert(0, member);
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, member: usize) {
        self.0.remove(0, member);
    }

    /// Whether nothing is in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// The words of the set.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0.words
    }
}

/// The positions of the bits set, ascending.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(index * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_ascending_order_across_words() {
        let mut table = BitTable::new(2, 130);
        for column in [129, 0, 64, 63] {
            table.insert(1, column);
        }
        assert_eq!(table.columns(1).collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(table.columns(0).count(), 0);
        table.remove(1, 64);
        assert!(!table.contains(1, 64) && table.contains(1, 63));
    }

    #[test]
    fn a_set_of_nothing_is_empty() {
        let mut set = BitSet::new(3);
        assert!(set.is_empty());
        set.insert(2);
        assert!(set.contains(2) && !set.is_empty());
        assert!(BitSet::new(0).is_empty());
    }
}
