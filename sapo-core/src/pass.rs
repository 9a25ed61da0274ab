//! A forward pass and its backward pass, with the activations of all layers in memory or of one at a time.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::prelude::*;
use burn::tensor::Gradients;
use serde::{Deserialize, Serialize};

use crate::batch::TokenBlock;
use crate::model::CausalLm;
use crate::precision;

/// Which activations are kept for the backward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpointing {
    /// All of them.
    #[default]
    None,
    /// What goes into each layer. The backward pass runs each layer once more, for a third of a pass's
    /// work and a fraction of its memory.
    Layers,
}

/// A model's pass over one micro-batch.
pub(crate) struct Pass<'a, M> {
    model: &'a M,
    checkpointing: Checkpointing,
    tape: Option<Tape>,
}

impl<'a, M: CausalLm + Module> Pass<'a, M> {
    pub(crate) fn new(model: &'a M, checkpointing: Checkpointing) -> Self {
        Pass { model, checkpointing, tape: None }
    }

    pub(crate) fn model(&self) -> &'a M {
        self.model
    }

    /// Final hidden states of `block` at `places`, as [`TokenBlock::hidden`] gives them. Once a pass.
    pub(crate) fn hidden(&mut self, block: &TokenBlock, places: Tensor<1, Int>) -> Tensor<2> {
        match self.checkpointing {
            Checkpointing::None => block.hidden(self.model, places),
            Checkpointing::Layers => {
                let tape = self.tape.insert(Tape::record(self.model, block));
                let [rows, time, width] = tape.output.dims();
                tape.output.clone().reshape([rows * time, width]).select(0, places)
            }
        }
    }

    /// Adds the gradients of `loss` to `sum`.
    pub(crate) fn backward(self, loss: Tensor<1>, sum: &mut GradientsAccumulator<M>) {
        let mut gradients = loss.backward();
        add(self.model, &mut gradients, sum);
        if let Some(tape) = self.tape
            && let Some(gradient) = tape.output.grad_remove(&mut gradients)
        {
            drop(gradients);
            tape.unwind(self.model, gradient, sum);
        }
    }
}

/// Moves the gradients of the weights of `model` into `sum`.
fn add<M: Module>(model: &M, gradients: &mut Gradients, sum: &mut GradientsAccumulator<M>) {
    let mut gradients = GradientsParams::from_module(gradients, model);
    precision::widen(model, &mut gradients);
    sum.accumulate(model, gradients);
}

/// A forward pass in stages of which only the inputs are kept.
struct Tape {
    block: TokenBlock,
    /// What went into each stage but the first, outside of any graph.
    inputs: Vec<Tensor<3>>,
    /// What came out of the last, as a leaf.
    output: Tensor<3>,
}

impl Tape {
    fn record<M: CausalLm + Module>(model: &M, block: &TokenBlock) -> Self {
        let (plain, plain_block) = (model.valid(), block.clone().without_autodiff());
        let run = |stage: usize, input: Option<Tensor<3>>| {
            plain.stage(stage, plain_block.tokens.clone(), &plain_block.placement, input)
        };
        let mut inputs = Vec::with_capacity(model.stages().saturating_sub(1));
        let mut state = run(0, None);
        for stage in 1..model.stages() {
            inputs.push(state.clone());
            state = run(stage, Some(state));
        }
        Tape { block: block.clone(), inputs, output: state.autodiff().require_grad() }
    }

    /// Adds the gradients of all stages to `sum`, from that of the output.
    fn unwind<M: CausalLm + Module>(
        self,
        model: &M,
        mut gradient: Tensor<3>,
        sum: &mut GradientsAccumulator<M>,
    ) {
        let TokenBlock { tokens, placement } = self.block;
        let mut inputs = self.inputs;
        drop(self.output);
        loop {
            let stage = inputs.len();
            let input = inputs.pop().map(|input| input.autodiff().require_grad());
            let output = model.stage(stage, tokens.clone(), &placement, input.clone());
            let mut gradients = (output * gradient.autodiff()).sum().backward();
            add(model, &mut gradients, sum);
            match input.and_then(|input| input.grad_remove(&mut gradients)) {
                Some(of_input) => gradient = of_input,
                None => return,
            }
        }
    }
}
