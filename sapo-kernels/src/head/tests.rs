use burn::tensor::Distribution;

use super::*;

/// Hidden states, head and the scores' gradient decide the gradients of the first two.
fn gradients(kept: usize, leaves: &[Tensor<2>; 2]) -> [TensorData; 2] {
    let [hidden, head] = leaves;
    let inputs = Inputs::gather([Input::of(hidden), Input::of(head)]).expect("tensors on flex");
    let tokens = (0..hidden.dims()[0]).map(|position| position * 31 % 600).collect();
    let reads = HeadReads { temperature: 0.7, value_tokens: Some([599, 255]) };
    let scores: Tensor<2> = inputs.run(Head { tokens, reads, kept });
    let gradients = (scores.clone() * scores).sum().backward();
    leaves.each_ref().map(|leaf| leaf.grad(&gradients).expect("a gradient").into_data())
}

#[test]
fn logits_computed_again_give_the_gradients_of_those_kept() {
    let device = Device::flex().autodiff();
    let random = |shape: [usize; 2]| {
        Tensor::<2>::random(shape, Distribution::Default, &device).require_grad()
    };
    // Parts of 256 of the 600 entries, the last one shorter.
    let leaves = [random([9_000, 3]), random([600, 3])];
    assert_eq!(gradients(0, &leaves), gradients(KEPT, &leaves));
}
