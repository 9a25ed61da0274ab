//! Loops that the compiler turns into vector instructions, and the exponential that they need.

use std::sync::LazyLock;

use pulp::{Arch, WithSimd};

/// Sums and maxima are kept in as many parts as the widest registers have lanes.
const LANES: usize = 16;

/// Fewer numbers than this are not worth a second thread.
const PARALLEL_FROM: usize = 1 << 16;

static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Runs `work` compiled for the best instructions that the processor has.
///
/// A closure is compiled so if the compiler inlines it, which a large one is not: that needs a type whose
/// `with_simd` is always inlined.
pub(crate) fn vectorized<W: WithSimd>(work: W) -> W::Output {
    ARCH.dispatch(work)
}

/// How many rows of `width` numbers a thread should take of `rows`.
pub(crate) fn rows_a_thread(rows: usize, width: usize) -> usize {
    let threads = rayon::current_num_threads();
    let worthwhile = PARALLEL_FROM.div_ceil(width.max(1));
    rows.div_ceil(threads).max(worthwhile).max(1)
}

/// `e^x` to two units in the last place. Below -87.3, where the result would hardly be a normal number, it
/// is 0, above 88.4 infinite; a NaN stays one.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LOWEST: f32 = -87.3;
    const HIGHEST: f32 = 88.7;
    // Adding it rounds to a whole number, which then stands in the lowest bits, plus the exponent's 127.
    const ROUNDER: f32 = 12_582_912.0 + 127.0;
    // ln 2 in two parts, the first of which has few enough bits for exact products (Cephes, expf.c).
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let inside = if x < LOWEST { LOWEST } else { x };
    let inside = if inside > HIGHEST { HIGHEST } else { inside };
    let shifted = inside * std::f32::consts::LOG2_E + ROUNDER;
    let power = shifted - ROUNDER;
    let rest = inside - power * LN_2_HIGH - power * LN_2_LOW;
    // The polynomial of Cephes' expf for e^r on |r| <= ln(2) / 2.
    let series = 1.987_569_1e-4;
    let series = series * rest + 1.398_199_9e-3;
    let series = series * rest + 8.333_452e-3;
    let series = series * rest + 4.166_579_6e-2;
    let series = series * rest + 1.666_666_5e-1;
    let series = series * rest + 5e-1;
    let series = series * rest * rest + rest + 1.0;
    let scale = f32::from_bits(shifted.to_bits() << 23);
    if x < LOWEST { 0.0 } else { series * scale }
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The sum of `term` over the elements of two slices.
#[inline(always)]
pub(crate) fn sum_of(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_blocks.remainder(), b_blocks.remainder());
    for (a, b) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    for (lane, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += term(a, b);
    }
    sums.iter().sum()
}

/// The sums of `e^d` and of `d e^d` for `d = scale x - shift`.
#[inline(always)]
pub(crate) fn moments(values: &[f32], scale: f32, shift: f32) -> [f32; 2] {
    let (mut totals, mut firsts) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let mut add = |lane: usize, value: f32| {
        let distance = value * scale - shift;
        let weight = exp(distance);
        totals[lane] += weight;
        firsts[lane] += weight * distance;
    };
    let blocks = values.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &value) in block.iter().enumerate() {
            add(lane, value);
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        add(lane, value);
    }
    [totals.iter().sum(), firsts.iter().sum()]
}

/// The largest number, NaNs left aside.
#[inline(always)]
pub(crate) fn max(values: &[f32]) -> f32 {
    let mut highest = [f32::NEG_INFINITY; LANES];
    let blocks = values.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for lane in 0..LANES {
            highest[lane] = if block[lane] > highest[lane] { block[lane] } else { highest[lane] };
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        highest[lane] = if value > highest[lane] { value } else { highest[lane] };
    }
    highest.into_iter().fold(f32::NEG_INFINITY, f32::max)
}
