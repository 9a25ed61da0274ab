use proptest::prelude::*;
use sapo_core::model::CausalLm;

use super::*;
use crate::config::Family;
use crate::test_models::tiny;

/// Runs the next tokens of some rows; the hidden state after each row's last one, if it had any.
fn run(decoder: &Decoder, cache: &mut KvCache, tokens: &[Vec<i32>]) -> Vec<Option<Vec<f32>>> {
    let device = Device::flex();
    let counts: Vec<usize> = tokens.iter().map(Vec::len).collect();
    let time = counts.iter().copied().max().unwrap_or(0);
    let placement = cache.place(&counts, time, &device);
    let padded = |row: &Vec<i32>| [vec![0; time - row.len()], row.clone()].concat();
    let ids: Vec<i32> = tokens.iter().flat_map(padded).collect();
    let ids = Tensor::from_data(TensorData::new(ids, [tokens.len(), time]), &device);
    let hidden = decoder.hidden(ids, &placement, Some(cache)).narrow(1, time - 1, 1);
    let values: Vec<f32> = hidden.to_data().iter::<f32>().collect();
    let width = values.len() / tokens.len();
    let after = values.chunks(width).map(<[f32]>::to_vec);
    after.zip(counts).map(|(state, count)| (count > 0).then_some(state)).collect()
}

fn assert_close(one: &[Option<Vec<f32>>], other: &[Option<Vec<f32>>]) {
    for (one, other) in one.iter().zip(other) {
        for (x, y) in one.iter().flatten().zip(other.iter().flatten()) {
            assert!((x - y).abs() < 1e-5, "{x} compacted, {y} not");
        }
    }
}

/// The tokens of one turn for four rows, of which at least the first has some.
fn turn() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let row = |least| prop::collection::vec(0..40_i32, least..9);
    (row(1), row(0), row(0), row(0)).prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_compacted_cache_goes_on_as_one_that_is_not(
        turns in prop::collection::vec((turn(), any::<bool>()), 1..7),
        seed in 0..100_u64,
    ) {
        let decoder = tiny(Family::Qwen3, seed);
        let (mut plain, mut compacted) = (KvCache::new(&decoder, 4), KvCache::new(&decoder, 4));
        for (tokens, compact) in turns {
            if compact {
                compacted.compact(&[Some(0), Some(1), Some(2), Some(3)]);
                assert_eq!(compacted.columns(), plain.needed_columns());
            }
            let one = run(&decoder, &mut compacted, &tokens);
            assert_close(&one, &run(&decoder, &mut plain, &tokens));
        }
    }

    #[test]
    fn rows_that_leave_and_join_disturb_no_other(
        before in turn(),
        after in turn(),
        row in 0..4_usize,
        seed in 0..100_u64,
    ) {
        let decoder = tiny(Family::Llama, seed);
        let mut cache = KvCache::new(&decoder, 4);
        run(&decoder, &mut cache, &before);
        cache.compact(&[None, Some(row), None]);
        let joined = run(&decoder, &mut cache, &after[..3]);

        let mut alone = KvCache::new(&decoder, 1);
        if !before[row].is_empty() {
            run(&decoder, &mut alone, &before[row..=row]);
        }
        if !after[1].is_empty() {
            assert_close(&joined[1..2], &run(&decoder, &mut alone, &after[1..2]));
        }
        let mut fresh = KvCache::new(&decoder, 1);
        assert_close(&joined[..1], &run(&decoder, &mut fresh, &after[..1]));
    }
}

#[test]
fn the_cache_grows_beyond_its_first_columns() {
    let decoder = tiny(Family::Qwen2, 0);
    let (mut whole, mut by_token) = (KvCache::new(&decoder, 2), KvCache::new(&decoder, 2));
    let tokens: Vec<i32> = (0..200).map(|i| i % 40).collect();
    let one = run(&decoder, &mut whole, &[tokens.clone(), tokens.clone()]);
    let mut last = Vec::new();
    for token in tokens {
        last = run(&decoder, &mut by_token, &[vec![token], vec![token]]);
    }
    assert_close(&one, &last);
    assert_eq!(by_token.columns(), 200);
}

#[test]
#[should_panic(expected = "a block of 2 after 0 of 3 columns")]
fn a_block_must_be_the_one_that_was_placed() {
    let decoder = tiny(Family::Qwen2, 0);
    let mut cache = KvCache::new(&decoder, 1);
    let placement = cache.place(&[3], 3, &Device::flex());
    let tokens = Tensor::zeros([1, 2], &Device::flex());
    decoder.hidden(tokens, &placement, Some(&mut cache));
}
