use burn::prelude::*;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, contiguous, numbers};
use crate::lanes::vectorized;

/// Products with more rows are left to the general routine, which packs the matrix first.
const MOST_ROWS: usize = 32;

/// So many rows of the product are computed at once, in registers.
const ROWS: usize = 8;

/// Spans of columns begin at multiples of two of the widest registers.
const COLUMNS: usize = 32;

/// Matrices of fewer numbers are not worth a second thread.
const PARALLEL_FROM: usize = 1 << 21;

/// `input weight`, for weights that are read once for all rows, as in decoding.
///
/// Outside of any graph of gradients, few rows are multiplied without packing the matrix, which would be
/// most of the work.
///
/// # Shapes
/// - input: `[rows, inner]`
/// - weight: `[inner, columns]`, or a transposed view of `[columns, inner]`
/// - output: `[rows, columns]`
///
/// # Panics
/// If the inner dimensions differ.
pub fn matmul(input: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    let ([rows, inner], [matching, columns]) = (input.dims(), weight.dims());
    assert_eq!(inner, matching, "the width of the input and the height of the weight");
    if (1..=MOST_ROWS).contains(&rows)
        && inner * columns > 0
        && let Some(Inputs::Plain([few, matrix])) =
            Inputs::gather([Input::of(&input), Input::of(&weight)])
        && let Some(matrix) = Matrix::of(&matrix, [inner, columns])
    {
        let product = matrix.product(numbers(&contiguous(few)), rows);
        let product = FlexTensor::from_data(TensorData::new(product, [rows, columns]));
        return Tensor::from_primitive::<burn::backend::Flex>(product);
    }
    input.matmul(weight)
}

/// How a matrix lies in memory.
enum Layout {
    /// Row after row.
    Rows,
    /// Column after column.
    Columns,
}

struct Matrix {
    /// Contiguous in the order of `layout`.
    stored: FlexTensor,
    layout: Layout,
    inner: usize,
    columns: usize,
}

impl Matrix {
    /// `None` for a view that skips numbers.
    fn of(tensor: &FlexTensor, [inner, columns]: [usize; 2]) -> Option<Self> {
        let (stored, layout) = match tensor.is_contiguous() {
            true => (tensor.clone(), Layout::Rows),
            false => (tensor.transpose(0, 1), Layout::Columns),
        };
        stored.is_contiguous().then_some(Matrix { stored, layout, inner, columns })
    }

    /// `[rows, columns]`
    fn product(&self, input: &[f32], rows: usize) -> Vec<f32> {
        let span = match self.inner * self.columns < PARALLEL_FROM {
            true => self.columns,
            false => self.columns.div_ceil(rayon::current_num_threads()),
        };
        let span = span.next_multiple_of(COLUMNS);
        let starts: Vec<usize> = (0..self.columns).step_by(span).collect();
        let compute = |start: usize| self.span(input, rows, start, span.min(self.columns - start));
        let spans: Vec<Vec<f32>> = match starts[..] {
            [start] => return compute(start),
            _ => starts.par_iter().map(|&start| compute(start)).collect(),
        };
        let mut product = Vec::with_capacity(rows * self.columns);
        for row in 0..rows {
            for span in &spans {
                let width = span.len() / rows;
                product.extend_from_slice(&span[row * width..(row + 1) * width]);
            }
        }
        product
    }

    /// The product's columns from `start` on. `[rows, width]`
    fn span(&self, input: &[f32], rows: usize, start: usize, width: usize) -> Vec<f32> {
        let mut output = vec![0.0; rows * width];
        vectorized(Span { matrix: self, input, start, width, output: &mut output });
        output
    }
}

/// Some columns of a product, to be computed.
struct Span<'a> {
    matrix: &'a Matrix,
    /// `[rows, inner]`
    input: &'a [f32],
    start: usize,
    width: usize,
    /// `[rows, width]`
    output: &'a mut [f32],
}

// Loops stand where closures would be shorter: the compiler does not give a closure this function's
// instructions.
impl WithSimd for Span<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Span { matrix, input, start, width, output } = self;
        let tiles = input.chunks(matrix.inner * ROWS).zip(output.chunks_mut(width * ROWS));
        for (input, output) in tiles {
            match output.len() / width {
                1 => matrix.rows::<S, 1>(simd, input, start, width, output),
                2 => matrix.rows::<S, 2>(simd, input, start, width, output),
                3 | 4 => matrix.rows::<S, 4>(simd, input, start, width, output),
                _ => matrix.rows::<S, ROWS>(simd, input, start, width, output),
            }
        }
    }
}

impl Matrix {
    /// Some columns of at most `R` rows of the product.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(
        &self,
        simd: S,
        input: &[f32],
        start: usize,
        width: usize,
        output: &mut [f32],
    ) {
        match self.layout {
            Layout::Rows => {
                let weight = &numbers(&self.stored)[start..];
                by_rows::<S, R>(simd, input, weight, self.columns, width, output);
            }
            Layout::Columns => {
                let weight = &numbers(&self.stored)[start * self.inner..][..width * self.inner];
                by_columns::<S, R>(simd, input, weight, self.inner, output);
            }
        }
    }
}

/// The product with the first `width` columns of a matrix whose lines begin `columns` numbers apart.
#[inline(always)]
fn by_rows<S: Simd, const R: usize>(
    simd: S,
    input: &[f32],
    weight: &[f32],
    columns: usize,
    width: usize,
    output: &mut [f32],
) {
    let inner = weight.len().div_ceil(columns);
    let mut factors = vec![[0.0; R]; inner];
    for (row, input) in input.chunks_exact(inner).enumerate() {
        for (factors, &number) in factors.iter_mut().zip(input) {
            factors[row] = number;
        }
    }
    let mut offset = 0;
    while offset < width {
        let weight = weight[offset..].chunks(columns);
        if offset + 2 * S::F32_LANES <= width {
            let mut sums = [[simd.splat_f32s(0.0); 2]; R];
            for (line, factors) in weight.zip(&factors) {
                let (line, _) = S::as_simd_f32s(&line[..2 * S::F32_LANES]);
                for row in 0..R {
                    let factor = simd.splat_f32s(factors[row]);
                    for part in 0..2 {
                        sums[row][part] = simd.mul_add_e_f32s(factor, line[part], sums[row][part]);
                    }
                }
            }
            for (line, [first, second]) in output.chunks_exact_mut(width).zip(sums) {
                let (first_place, second_place) =
                    line[offset..][..2 * S::F32_LANES].split_at_mut(S::F32_LANES);
                simd.partial_store_f32s(first_place, first);
                simd.partial_store_f32s(second_place, second);
            }
            offset += 2 * S::F32_LANES;
        } else {
            let taken = S::F32_LANES.min(width - offset);
            let mut sums = [simd.splat_f32s(0.0); R];
            for (line, factors) in weight.zip(&factors) {
                let line = simd.partial_load_f32s(&line[..taken]);
                for row in 0..R {
                    let factor = simd.splat_f32s(factors[row]);
                    sums[row] = simd.mul_add_e_f32s(factor, line, sums[row]);
                }
            }
            for (line, sum) in output.chunks_exact_mut(width).zip(sums) {
                simd.partial_store_f32s(&mut line[offset..][..taken], sum);
            }
            offset += taken;
        }
    }
}

/// The product with a matrix whose columns lie one after the other.
#[inline(always)]
fn by_columns<S: Simd, const R: usize>(
    simd: S,
    input: &[f32],
    weight: &[f32],
    inner: usize,
    output: &mut [f32],
) {
    let width = weight.len() / inner;
    let mut blocks = vec![[simd.splat_f32s(0.0); R]; inner.div_ceil(S::F32_LANES)];
    for (row, input) in input.chunks_exact(inner).enumerate() {
        for (block, part) in blocks.iter_mut().zip(input.chunks(S::F32_LANES)) {
            block[row] = simd.partial_load_f32s(part);
        }
    }
    for (pair, lines) in weight.chunks(2 * inner).enumerate() {
        let (first, second) = lines.split_at(inner);
        // The last column of an odd number is multiplied twice.
        let second = if second.is_empty() { first } else { second };
        let products = inner_products::<S, R>(simd, &blocks, [first, second]);
        for (line, products) in output.chunks_exact_mut(width).zip(products) {
            let places = &mut line[2 * pair..][..lines.len() / inner];
            places.copy_from_slice(&products[..places.len()]);
        }
    }
}

/// The inner products of `R` rows, given block by block, with two lines.
#[inline(always)]
fn inner_products<S: Simd, const R: usize>(
    simd: S,
    blocks: &[[S::f32s; R]],
    [first, second]: [&[f32]; 2],
) -> [[f32; 2]; R] {
    let (first, first_rest) = S::as_simd_f32s(first);
    let (second, second_rest) = S::as_simd_f32s(second);
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    for ((rows, &first), &second) in blocks.iter().zip(first).zip(second) {
        for row in 0..R {
            sums[row][0] = simd.mul_add_e_f32s(rows[row], first, sums[row][0]);
            sums[row][1] = simd.mul_add_e_f32s(rows[row], second, sums[row][1]);
        }
    }
    if let Some(rows) = blocks.get(first.len()) {
        let (first, second) =
            (simd.partial_load_f32s(first_rest), simd.partial_load_f32s(second_rest));
        for row in 0..R {
            sums[row][0] = simd.mul_add_e_f32s(rows[row], first, sums[row][0]);
            sums[row][1] = simd.mul_add_e_f32s(rows[row], second, sums[row][1]);
        }
    }
    let mut products = [[0.0; 2]; R];
    for row in 0..R {
        for column in 0..2 {
            products[row][column] = simd.reduce_sum_f32s(sums[row][column]);
        }
    }
    products
}
