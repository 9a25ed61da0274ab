//! Which streams each optimizer step of an epoch takes.

use serde::{Deserialize, Serialize};

/// How an iteration's streams are split into optimizer steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MiniBatches {
    /// Into this many steps of about equally many streams.
    Count(usize),
    /// Into steps of at least this many turns.
    Turns(usize),
}

impl MiniBatches {
    /// Splits `order`, a list of streams, into the optimizer steps of an epoch; none is empty.
    ///
    /// `turns_of` tells how many turns a stream holds.
    pub fn split(self, order: &[usize], turns_of: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
        match self {
            MiniBatches::Count(count) => split_evenly(order, count),
            MiniBatches::Turns(turns) => split_by_turns(order, turns_of, turns),
        }
    }
}

/// At most `count` parts whose sizes differ by one at most.
fn split_evenly(order: &[usize], count: usize) -> Vec<Vec<usize>> {
    let count = count.max(1).min(order.len());
    let bound = |part: usize| part * order.len() / count;
    (0..count).map(|part| order[bound(part)..bound(part + 1)].to_vec()).collect()
}

/// Parts of at least `turns` turns; what is left over joins the last.
fn split_by_turns(
    order: &[usize],
    turns_of: impl Fn(usize) -> usize,
    turns: usize,
) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut part = Vec::new();
    let mut filled = 0;
    for &stream in order {
        part.push(stream);
        filled += turns_of(stream);
        if filled >= turns {
            parts.push(std::mem::take(&mut part));
            filled = 0;
        }
    }
    match parts.last_mut() {
        Some(last) => last.append(&mut part),
        None if part.is_empty() => {}
        None => parts.push(part),
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // By hand: 7 = 2 + 2 + 3, at the bounds 7/3 and 14/3 rounded down.
    #[test]
    fn a_count_splits_evenly() {
        let order = [6, 5, 4, 3, 2, 1, 0];
        let parts = MiniBatches::Count(3).split(&order, |_| 1);
        assert_eq!(parts, [vec![6, 5], vec![4, 3], vec![2, 1, 0]]);
    }

    #[test]
    fn turns_fill_each_step_and_the_rest_joins_the_last() {
        let turns = [2, 2, 3, 1, 1];
        let split = |least| MiniBatches::Turns(least).split(&[0, 1, 2, 3, 4], |s| turns[s]);
        assert_eq!(split(3), [vec![0, 1], vec![2, 3, 4]]);
        assert_eq!(split(1), [vec![0], vec![1], vec![2], vec![3], vec![4]]);
        assert_eq!(split(100), [vec![0, 1, 2, 3, 4]]);
    }

    proptest! {
        #[test]
        fn every_plan_takes_each_stream_once_and_no_step_is_empty(
            turns in prop::collection::vec(1_usize..5, 0..20),
            size in 0_usize..12,
        ) {
            let order: Vec<usize> = (0..turns.len()).rev().collect();
            for plan in [MiniBatches::Count(size), MiniBatches::Turns(size)] {
                let parts = plan.split(&order, |stream| turns[stream]);
                prop_assert_eq!(parts.concat(), order.clone());
                prop_assert!(parts.iter().all(|part| !part.is_empty()));
                let enough = |part: &Vec<usize>| {
                    part.iter().map(|&stream| turns[stream]).sum::<usize>() >= size
                };
                if matches!(plan, MiniBatches::Turns(_)) && parts.len() > 1 {
                    prop_assert!(parts.iter().all(enough));
                }
            }
        }
    }
}
