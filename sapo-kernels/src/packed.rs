use std::sync::Arc;

use burn::backend::Flex;
use burn::prelude::*;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, contiguous, numbers};
use crate::lanes::vectorized;

/// Columns of a panel.
const COLUMNS: usize = 32;

/// So many rows of the product are computed at once, in registers.
const ROWS: usize = 8;

/// Products of fewer multiplications are not worth a second thread.
const PARALLEL_FROM: usize = 1 << 21;

/// A matrix laid out for products with few rows, as in decoding, where reading the matrix is most of the
/// work: in panels of columns, each read from its first number to its last.
///
/// It takes as much memory as the matrix itself, and does not follow its changes.
#[derive(Clone)]
pub struct PackedMatrix {
    /// `[panels, inner, COLUMNS]`, the last panel filled up with zeros.
    panels: Arc<Vec<f32>>,
    inner: usize,
    columns: usize,
}

impl std::fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedMatrix({} x {})", self.inner, self.columns)
    }
}

impl PackedMatrix {
    /// A copy of `matrix`, `[inner, columns]`. `None` where the device has no use for it.
    pub fn new(matrix: &Tensor<2>) -> Option<Self> {
        let [inner, columns] = matrix.dims();
        let plain = Input::of(matrix)?.into_plain();
        let panels = match plain.is_contiguous() {
            true => pack_rows(numbers(&plain), inner, columns),
            false => pack_columns(numbers(&contiguous(plain.transpose(0, 1))), inner, columns),
        };
        Some(PackedMatrix { panels: Arc::new(panels), inner, columns })
    }

    /// `input` times the matrix, outside of any graph of gradients.
    ///
    /// # Shapes
    /// - input: `[rows, inner]`
    /// - output: `[rows, columns]`
    ///
    /// # Panics
    /// If the shapes do not fit or `input` is on another device than the matrix was.
    pub fn multiply(&self, input: Tensor<2>) -> Tensor<2> {
        let [rows, width] = input.dims();
        assert_eq!(width, self.inner, "an input as wide as the matrix is high");
        let input = Input::of(&input).expect("an input on the device of the matrix").into_plain();
        let product = self.product(numbers(&contiguous(input)), rows);
        let product = FlexTensor::from_data(TensorData::new(product, [rows, self.columns]));
        Tensor::from_primitive::<Flex>(product)
    }

    /// `[rows, columns]`
    fn product(&self, input: &[f32], rows: usize) -> Vec<f32> {
        let mut output = vec![0.0; rows * self.columns];
        if output.is_empty() || self.inner == 0 {
            return output;
        }
        let tiles: Vec<Tile> =
            input.chunks(ROWS * self.inner).map(|rows| Tile::new(rows, self.inner)).collect();
        let panel = self.inner * COLUMNS;
        let is_shared = rows * self.panels.len() >= PARALLEL_FROM;
        let threads = if is_shared { rayon::current_num_threads() } else { 1 };
        let share = (self.panels.len() / panel).div_ceil(threads);
        let spans = self.panels.chunks(share * panel).zip(self.columns_of(&mut output, share));
        let mut spans: Vec<Span<'_>> = spans
            .map(|(panels, rows)| Span { panels, inner: self.inner, tiles: &tiles, rows })
            .collect();
        match spans.len() {
            1 => spans.into_iter().for_each(vectorized),
            _ => spans.par_drain(..).for_each(vectorized),
        }
        output
    }

    /// The places of a product by spans of `share` panels: for each the rows, cut to its columns.
    fn columns_of<'a>(&self, output: &'a mut [f32], share: usize) -> Vec<Vec<&'a mut [f32]>> {
        let width = share * COLUMNS;
        let mut spans: Vec<Vec<&mut [f32]>> = Vec::new();
        spans.resize_with(self.columns.div_ceil(width), Vec::new);
        for row in output.chunks_exact_mut(self.columns) {
            for (span, piece) in spans.iter_mut().zip(row.chunks_mut(width)) {
                span.push(piece);
            }
        }
        spans
    }
}

/// A matrix that lies row after row, in panels.
fn pack_rows(matrix: &[f32], inner: usize, columns: usize) -> Vec<f32> {
    let mut panels = vec![0.0; columns.div_ceil(COLUMNS) * inner * COLUMNS];
    for (panel, place) in panels.chunks_exact_mut(inner.max(1) * COLUMNS).enumerate() {
        let start = panel * COLUMNS;
        let width = COLUMNS.min(columns - start);
        for (line, row) in place.chunks_exact_mut(COLUMNS).zip(matrix.chunks_exact(columns)) {
            line[..width].copy_from_slice(&row[start..start + width]);
        }
    }
    panels
}

/// A matrix that lies column after column, in panels.
fn pack_columns(matrix: &[f32], inner: usize, columns: usize) -> Vec<f32> {
    let mut panels = vec![0.0; columns.div_ceil(COLUMNS) * inner * COLUMNS];
    let panel = inner.max(1) * COLUMNS;
    for (place, lines) in panels.chunks_exact_mut(panel).zip(matrix.chunks(panel)) {
        for (column, line) in lines.chunks_exact(inner).enumerate() {
            for (place, &number) in place.iter_mut().skip(column).step_by(COLUMNS).zip(line) {
                *place = number;
            }
        }
    }
    panels
}

/// Some rows of an input, number by number side by side.
struct Tile {
    /// 1, 2, 4 or 8; those that the input has not are zeros.
    rows: usize,
    /// `[inner, rows]`
    factors: Vec<f32>,
}

impl Tile {
    fn new(input: &[f32], inner: usize) -> Self {
        let rows = (input.len() / inner).next_power_of_two();
        let mut factors = vec![0.0; inner * rows];
        for (row, input) in input.chunks_exact(inner).enumerate() {
            for (place, &number) in factors.iter_mut().skip(row).step_by(rows).zip(input) {
                *place = number;
            }
        }
        Tile { rows, factors }
    }
}

/// Some panels of a product, to be computed.
struct Span<'a> {
    panels: &'a [f32],
    inner: usize,
    tiles: &'a [Tile],
    /// The product's rows, cut to the columns of these panels.
    rows: Vec<&'a mut [f32]>,
}

impl WithSimd for Span<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for (index, panel) in self.panels.chunks_exact(self.inner * COLUMNS).enumerate() {
            for (tile, rows) in self.tiles.iter().zip(self.rows.chunks_mut(ROWS)) {
                let start = index * COLUMNS;
                match tile.rows {
                    1 => multiply::<S, 1>(simd, &tile.factors, panel, rows, start),
                    2 => multiply::<S, 2>(simd, &tile.factors, panel, rows, start),
                    4 => multiply::<S, 4>(simd, &tile.factors, panel, rows, start),
                    _ => multiply::<S, ROWS>(simd, &tile.factors, panel, rows, start),
                }
            }
        }
    }
}

/// Writes the product of `R` rows with a panel into `output`, rows of which it is to begin at `start`.
///
/// Loops stand where closures would be shorter: the compiler does not give a closure this function's
/// instructions.
#[inline(always)]
fn multiply<S: Simd, const R: usize>(
    simd: S,
    factors: &[f32],
    panel: &[f32],
    output: &mut [&mut [f32]],
    start: usize,
) {
    let (factors, _) = factors.as_chunks::<R>();
    let width = 2 * S::F32_LANES;
    for offset in (0..COLUMNS).step_by(width) {
        let mut sums = [[simd.splat_f32s(0.0); 2]; R];
        for (factors, line) in factors.iter().zip(panel.chunks_exact(COLUMNS)) {
            let (line, _) = S::as_simd_f32s(&line[offset..offset + width]);
            for row in 0..R {
                let factor = simd.splat_f32s(factors[row]);
                sums[row][0] = simd.mul_add_e_f32s(factor, line[0], sums[row][0]);
                sums[row][1] = simd.mul_add_e_f32s(factor, line[1], sums[row][1]);
            }
        }
        for (row, sums) in output.iter_mut().zip(&sums) {
            let places = row.get_mut(start + offset..).unwrap_or_default();
            for (place, &sum) in places.chunks_mut(S::F32_LANES).zip(sums) {
                simd.partial_store_f32s(place, sum);
            }
        }
    }
}
