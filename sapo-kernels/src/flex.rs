//! How an operation on plain numbers becomes one on Burn's tensors: out of the flex device, back into
//! it, and into the graph of gradients.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex, TensorMetadata};
use burn::prelude::*;
use burn::tensor::DType;

/// A tensor of the flex device, outside of any graph.
pub(crate) type FlexTensor = FloatTensor<Flex>;
type TrackedTensor = FloatTensor<Autodiff<Flex, NoCheckpointing>>;

/// An operation of `N` inputs whose gradient is known.
pub(crate) trait Kernel<const N: usize>: Clone + std::fmt::Debug + Send + 'static {
    /// What the backward pass needs.
    type Kept: Clone + std::fmt::Debug + Send + 'static;

    /// The result and what to keep, if there may be a backward pass.
    fn forward(&self, inputs: [FlexTensor; N], is_tracked: bool) -> (FlexTensor, Self::Kept);

    /// The gradients of the inputs from that of the result. Where one is not wanted, anything may stand.
    fn backward(
        &self,
        kept: Self::Kept,
        gradient: FlexTensor,
        wanted: [bool; N],
    ) -> [FlexTensor; N];
}

/// The inputs of an operation, where the flex device can take them.
pub(crate) enum Inputs<const N: usize> {
    Plain([FlexTensor; N]),
    Tracked([TrackedTensor; N]),
}

/// One input, its rank forgotten.
pub(crate) enum Input {
    Plain(FlexTensor),
    Tracked(TrackedTensor),
}

impl Input {
    /// `None` for another device or precision.
    pub(crate) fn of<const D: usize>(tensor: &Tensor<D>) -> Option<Input> {
        if tensor.dtype() != DType::F32 {
            return None;
        }
        let tracked = || tensor.clone().try_into_primitive::<Autodiff<Flex>>().map(Input::Tracked);
        let plain = || tensor.clone().try_into_primitive::<Flex>().map(Input::Plain);
        tracked().or_else(|_| plain()).ok()
    }

    /// The numbers alone.
    pub(crate) fn into_plain(self) -> FlexTensor {
        match self {
            Input::Plain(tensor) => tensor,
            Input::Tracked(tensor) => tensor.into_primitive(),
        }
    }
}

impl<const N: usize> Inputs<N> {
    /// `None` if they are not all of one kind.
    pub(crate) fn gather(inputs: [Option<Input>; N]) -> Option<Self> {
        let (mut plain, mut tracked) = (Vec::with_capacity(N), Vec::with_capacity(N));
        for input in inputs {
            match input? {
                Input::Plain(tensor) => plain.push(tensor),
                Input::Tracked(tensor) => tracked.push(tensor),
            }
        }
        let plain = plain.try_into().map(Inputs::Plain);
        plain.ok().or_else(|| tracked.try_into().map(Inputs::Tracked).ok())
    }

    /// Runs `kernel` on them.
    pub(crate) fn run<K: Kernel<N>, const D: usize>(self, kernel: K) -> Tensor<D> {
        match self {
            Inputs::Plain(inputs) => {
                let (output, _) = kernel.forward(inputs, false);
                Tensor::from_primitive::<Flex>(output)
            }
            Inputs::Tracked(inputs) => {
                let mut guards = Vec::with_capacity(N);
                let inputs = inputs.map(|input| {
                    let (primitive, guard) = input.into_parts();
                    guards.push(guard);
                    primitive
                });
                let Ok(guards) = guards.try_into() else { unreachable!("one guard an input") };
                let (output, kept) = kernel.forward(inputs, true);
                let prepared = Derived(kernel).prepare::<NoCheckpointing>(guards);
                let output = match prepared.compute_bound().stateful() {
                    OpsKind::Tracked(prepared) => prepared.finish(kept, output),
                    OpsKind::UnTracked(prepared) => prepared.finish(output),
                };
                Tensor::from_primitive::<Autodiff<Flex>>(output)
            }
        }
    }
}

/// A kernel as a step of Burn's graph of gradients.
#[derive(Clone, Debug)]
struct Derived<K>(K);

impl<K: Kernel<N>, const N: usize> Backward<Flex, N> for Derived<K> {
    type State = K::Kept;

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = gradients.consume::<Flex>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let of_inputs = self.0.backward(ops.state, gradient, wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(of_inputs) {
            if let Some(parent) = parent {
                gradients.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

/// The same tensor with its numbers in order.
pub(crate) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

/// The numbers of a contiguous tensor.
pub(crate) fn numbers(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous f32 tensor")
}

/// A tensor of new numbers in the shape of another.
pub(crate) fn like(tensor: &FlexTensor, numbers: Vec<f32>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(numbers, tensor.shape()))
}
