//! Work shared out among the processor's threads.

use std::panic::resume_unwind;
use std::thread;

/// Calls `work` for each of `parts`, each on a thread of its own; results are in the order of the parts.
///
/// # Panics
/// If `work` does.
pub fn map<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.into_iter().map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || work(part))).collect();
        let result = |thread: thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().map(result).collect()
    })
}

/// Deals `items` out to at most `hands` hands, as cards are dealt; no hand is empty.
pub fn deal<T>(items: Vec<T>, hands: usize) -> Vec<Vec<T>> {
    let hands = hands.clamp(1, items.len().max(1));
    let mut dealt: Vec<Vec<T>> = (0..hands).map(|_| Vec::new()).collect();
    for (index, item) in items.into_iter().enumerate() {
        dealt[index % hands].push(item);
    }
    dealt.retain(|hand| !hand.is_empty());
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_parts() {
        assert_eq!(map(vec![3, 1, 2], |part| part * 10), [30, 10, 20]);
        assert_eq!(map(Vec::<u8>::new(), |part| part), [0_u8; 0]);
    }

    #[test]
    fn hands_are_even_and_never_empty() {
        assert_eq!(deal(vec![0, 1, 2, 3, 4], 2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(deal(vec![0, 1], 5), [vec![0], vec![1]]);
        assert_eq!(deal(vec![7], 0), [vec![7]]);
        assert!(deal(Vec::<u8>::new(), 3).is_empty());
    }

    #[test]
    #[should_panic(expected = "part 1")]
    fn a_panic_comes_through() {
        map(vec![0, 1], |part| assert!(part == 0, "part {part}"));
    }
}
