use super::*;
use crate::memory::{FeedForward, Precision};

/// Two layers of width 4, two heads of width 2 and one for keys and values: 40 of embedding, 4 of the last
/// norm, and a layer has 16 + 8 + 8 + 16 of attention, 72 of its MLP and 8 of norms.
fn shape() -> DecoderShape {
    DecoderShape {
        vocabulary: 10,
        hidden: 4,
        layers: 2,
        heads: 2,
        groups: 1,
        head_dim: 2,
        feed_forward: FeedForward::Dense { intermediate: 6 },
        is_tied: true,
        has_qk_norm: false,
        biases: 0,
    }
}

const PARAMETERS: u64 = 40 + 4 + 2 * 128;

fn workload() -> Workload {
    Workload {
        method: Method::Sapo,
        reference: None,
        precision: Precision::Single,
        adapter_rank: None,
        checkpointing: Checkpointing::None,
        kernels: Kernels::Fused,
        stream_tokens: 8,
        reply_tokens: 3,
        turns: 1,
        streams: 2,
        micro_batch_tokens: 16,
        workers: 1,
        slots: 5,
    }
}

fn estimate(change: impl FnOnce(&mut Workload)) -> Estimate {
    let mut workload = workload();
    change(&mut workload);
    Estimate::new(&shape(), &workload)
}

// By hand, of 16 tokens. A layer keeps, a token: 4 x 4 of norms, 4 + 2 + 2 + 4 of attention, 3 x 6 of the
// MLP, and 8 weights of each of 2 heads and 8 of the mask: all of 8 queries are one stretch. Backward in a
// layer: 3 x 6 + 2 x 4 gradients a token.
#[test]
fn every_part_is_what_the_model_keeps() {
    let found = estimate(|_| {});
    assert_eq!(found.weights, 4 * PARAMETERS);
    assert_eq!((found.masters, found.reference, found.critic), (0, 0, 0));
    assert_eq!(found.optimizer, 8 * PARAMETERS);
    assert_eq!(found.gradients, 4 * PARAMETERS);
    assert_eq!(found.activations, 4 * 16 * (2 * (16 + 12 + 18 + 24) + 26));
    assert_eq!(found.logits, 4 * 2 * 4 * 10);
    // 5 slots of 8 tokens, 2 layers, a key and a value of 2 numbers.
    assert_eq!(found.kv_cache, 4 * 5 * 8 * 2 * 4);
    // Beside them logits, here and twice on the host, and packed weights.
    assert_eq!(found.rollout, found.kv_cache + 5 * 10 * 12 + 4 * PARAMETERS);
    // The backward pass begins with all activations, and either the logits or a layer's gradients beside
    // that of the head.
    assert_eq!(found.update.peak(1), 4 * (16 * (140 + 26) + 40));
    assert_eq!(found.peak - found.reserve, 12 * PARAMETERS + found.update.peak(1));
}

#[test]
fn half_precision_halves_weights_and_activations() {
    let (single, mixed) = (
        estimate(|workload| workload.kernels = Kernels::Plain),
        estimate(|workload| {
            workload.precision = Precision::Mixed;
            workload.kernels = Kernels::Plain;
        }),
    );
    assert_eq!(mixed.weights * 2, single.weights);
    assert_eq!(mixed.gradients, single.gradients, "sums are in single precision");
    assert_eq!(mixed.masters, 4 * PARAMETERS);
    assert_eq!(mixed.optimizer, single.optimizer);
    assert!(mixed.activations < single.activations);
    assert_eq!(mixed.logits, single.logits, "scoring is in single precision");
}

#[test]
fn a_critic_is_a_second_model_and_a_reference_its_weights() {
    let ppo = estimate(|workload| workload.method = Method::Ppo);
    assert_eq!(ppo.critic, 12 * (PARAMETERS + 4));
    assert_eq!(estimate(|workload| workload.method = Method::Grpo).critic, 0);
    let held = estimate(|workload| workload.reference = Some(Precision::Single));
    assert_eq!(held.reference, 4 * PARAMETERS);
    let half = estimate(|workload| workload.reference = Some(Precision::Mixed));
    assert_eq!(half.reference, 2 * PARAMETERS);
}

// Rank 1: 8 + 6 + 6 + 8 of attention and 3 x 10 of the MLP, in each of 2 layers.
#[test]
fn adapters_alone_are_trained_and_are_their_own_reference() {
    let adapted = estimate(|workload| {
        workload.adapter_rank = Some(1);
        workload.reference = Some(Precision::Single);
        workload.method = Method::Ppo;
    });
    assert_eq!(adapted.weights, 4 * (PARAMETERS + 116));
    assert_eq!(adapted.optimizer, 8 * 116);
    assert_eq!(adapted.reference, 0);
    assert_eq!(adapted.critic, 12 * (116 + 4));
}

#[test]
fn layer_inputs_are_less_than_all_activations() {
    let layers = estimate(|workload| workload.checkpointing = Checkpointing::Layers);
    // The inputs of both layers, one layer's activations and its gradients.
    assert_eq!(layers.activations, 4 * 16 * (2 * 4 + 70 + 26));
    assert!(layers.peak < estimate(|_| {}).peak);
}

#[test]
fn several_micro_batches_have_two_sets_of_gradients() {
    let several = estimate(|workload| workload.micro_batch_tokens = 8);
    assert_eq!(several.gradients, 8 * PARAMETERS);
    assert_eq!(several.activations * 2, estimate(|_| {}).activations);
    // Two workers have a micro-batch each, and a set of gradients for it.
    let shared = estimate(|workload| {
        workload.micro_batch_tokens = 8;
        workload.workers = 2;
    });
    assert_eq!(shared.gradients, 8 * PARAMETERS);
    assert_eq!(shared.activations, estimate(|_| {}).activations);
}

#[test]
fn a_stream_that_is_longer_than_a_micro_batch_is_one() {
    assert_eq!(estimate(|workload| workload.micro_batch_tokens = 1), {
        estimate(|workload| workload.micro_batch_tokens = 8)
    });
}

#[test]
fn devices_share_what_is_not_their_own() {
    let alone = estimate(|_| {});
    assert_eq!(alone.on_each(1), alone.peak);
    assert_eq!(alone.devices(alone.peak), Some(1));
    let several = alone.devices(alone.peak - 1).unwrap();
    assert!(several > 1 && alone.on_each(several) < alone.peak);
    assert!(alone.on_each(several - 1) >= alone.peak);
    assert_eq!(alone.devices(alone.activations), None, "the reserve alone is more");
}
