//! A separate critic: a language model of its own under a head with one output.
//!
//! It is what methods with an actor and a critic pay for, and what SAPO does without.

use burn::module::{Module, ModuleDisplay, Param};
use burn::prelude::*;
use burn::tensor::FloatDType;

use crate::batch::{MicroBatch, TokenBlock};
use crate::model::{CausalLm, Placement};
use crate::value::{ActionSoftmax, LogitScores};

/// A network that values states: `V(s_t) / R_max` is a linear function of the hidden state at the last
/// context position of turn `t`.
///
/// As a [`CausalLm`] it is its backbone, whose logits are of no use here. That alone lets it be trained
/// as the policy is: by a [`Learner`](crate::Learner), in the same micro-batches and with the same checkpoints.
#[derive(Module, Debug)]
pub struct Critic<M> {
    /// What reads the stream.
    pub backbone: M,
    /// What turns a hidden state into a value. `[hidden, 1]`
    pub head: Param<Tensor<2>>,
}

impl<M: CausalLm + Module + ModuleDisplay> Critic<M> {
    /// Puts a head on `backbone`. The head starts at 0, so that every value does.
    pub fn new(backbone: M) -> Self {
        let device = backbone.devices().into_iter().next().unwrap_or_default();
        // What a hidden state looks like, a [`CausalLm`] tells by none of its methods.
        let first = Tensor::zeros([1], &device);
        let hidden = TokenBlock::new(&[&[0]], &device).hidden(&backbone, first);
        let [_, width] = hidden.dims();
        let head = Param::from_tensor(Tensor::zeros([width, 1], (&device, hidden.dtype())));
        Critic { backbone, head }
    }

    /// `V / R_max` before each turn of `batch`.
    ///
    /// # Shapes
    /// - output: `[turns]`
    pub fn values(&self, batch: &MicroBatch) -> Tensor<1> {
        self.read(batch.block().hidden(&self.backbone, batch.context_places()))
    }

    /// Values of hidden states, in single precision.
    ///
    /// # Shapes
    /// - hidden: `[positions, hidden]`
    /// - output: `[positions]`
    pub(crate) fn read(&self, hidden: Tensor<2>) -> Tensor<1> {
        hidden.matmul(self.head.val()).squeeze_dim(1).cast(FloatDType::F32)
    }
}

impl<M: CausalLm + Module + ModuleDisplay> CausalLm for Critic<M> {
    type Cache = M::Cache;

    fn hidden(
        &self,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        cache: Option<&mut M::Cache>,
    ) -> Tensor<3> {
        self.backbone.hidden(tokens, placement, cache)
    }

    fn stages(&self) -> usize {
        self.backbone.stages()
    }

    fn stage(
        &self,
        stage: usize,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        input: Option<Tensor<3>>,
    ) -> Tensor<3> {
        self.backbone.stage(stage, tokens, placement, input)
    }

    fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        self.backbone.logits(hidden)
    }

    fn score(
        &self,
        hidden: Tensor<2>,
        tokens: Tensor<1, Int>,
        softmax: &ActionSoftmax,
    ) -> LogitScores {
        self.backbone.score(hidden, tokens, softmax)
    }

    fn vocabulary(&self) -> usize {
        self.backbone.vocabulary()
    }
}
