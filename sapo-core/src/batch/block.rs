//! Token sequences of unequal length as one padded block on a device.

use burn::prelude::*;

use crate::model::{CausalLm, Placement};

/// Groups streams of similar length so that each group, padded, holds at most `budget` tokens; a longer
/// stream is a group of its own. The result lists indices into `lengths`.
pub fn group_by_length(lengths: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(lengths[index]), index));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match groups.last_mut() {
            Some(group) if lengths[group[0]] * (group.len() + 1) <= budget => group.push(index),
            _ => groups.push(vec![index]),
        }
    }
    groups
}

/// A padded block of token sequences on a device, with the mask of a causal model.
#[derive(Clone, Debug)]
pub struct TokenBlock {
    /// Token ids, padded on the right. `[rows, time]`
    pub tokens: Tensor<2, Int>,
    /// Positions and mask.
    pub placement: Placement,
}

impl TokenBlock {
    /// Pads `rows` on the right. Padding stands behind every real token, so causality alone hides it.
    pub fn new(rows: &[&[u32]], device: &Device) -> Self {
        let (count, time) = (rows.len(), rows.iter().map(|row| row.len()).max().unwrap_or(0));
        let mut ids = vec![0_i32; count * time];
        for (row, tokens) in rows.iter().enumerate() {
            for (slot, &token) in ids[row * time..].iter_mut().zip(*tokens) {
                *slot = token as i32;
            }
        }
        let tokens = Tensor::from_data(TensorData::new(ids, [count, time]), device);
        let positions =
            Tensor::arange(0..time as i64, device).unsqueeze::<2>().expand([count, time]);
        let hidden = Tensor::<2, Bool>::tril_mask([time, time], 0, device)
            .unsqueeze::<3>()
            .expand([count, time, time]);
        TokenBlock { tokens, placement: Placement { positions, hidden } }
    }

    /// The same outside of autodiff.
    pub(crate) fn without_autodiff(self) -> Self {
        let Placement { positions, hidden } = self.placement;
        let placement = Placement {
            positions: positions.without_autodiff(),
            hidden: hidden.without_autodiff(),
        };
        TokenBlock { tokens: self.tokens.without_autodiff(), placement }
    }

    /// The final hidden states of `model` at `places` alone: indices into the block's tokens, row after
    /// row.
    ///
    /// # Shapes
    /// - places: `[places]`
    /// - output: `[places, hidden]`
    pub fn hidden<M: CausalLm>(&self, model: &M, places: Tensor<1, Int>) -> Tensor<2> {
        let hidden = model.hidden(self.tokens.clone(), &self.placement, None);
        let [rows, time, width] = hidden.dims();
        hidden.reshape([rows * time, width]).select(0, places)
    }
}

pub(crate) fn int_tensor(numbers: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), device)
}

pub(crate) fn float_tensor(numbers: Vec<f32>, device: &Device) -> Tensor<1> {
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), device)
}
