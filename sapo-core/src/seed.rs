//! Seeds derived from seeds, so that no random state has to be carried or saved.

/// Mixes `path` into `seed`: an independent seed for each path, the same on every machine.
///
/// The steps are those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub fn derive(seed: u64, path: &[u64]) -> u64 {
    path.iter().fold(mix(seed), |state, &part| mix(state ^ mix(part)))
}

/// Shuffles `items` (Fisher and Yates) in an order that `seed` alone decides.
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    for last in (1..items.len()).rev() {
        let choices = last as u128 + 1;
        let draw = u128::from(derive(seed, &[last as u64]));
        items.swap(last, ((draw * choices) >> 64) as usize);
    }
}

fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first output of the reference generator for state 0 (Vigna's splitmix64.c).
    #[test]
    fn mixing_is_splitmix64() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn paths_and_their_order_matter() {
        assert_ne!(derive(1, &[2, 3]), derive(1, &[3, 2]));
        assert_ne!(derive(1, &[0]), derive(1, &[0, 0]));
    }

    #[test]
    fn a_shuffle_reaches_every_order() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, seed);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 24);
    }
}
