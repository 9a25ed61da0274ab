//! The estimate of `sapo plan` against the measured peaks of real updates, each in a process of its own.

use std::process::Command;

use sapo_core::Checkpointing;
use sapo_models::ModelConfig;
use sapo_models::memory::{DecoderShape, Estimate, Kernels, Method, Precision, Workload};
use serde_json::Value;

/// How far the estimate may be from what was measured.
const TOLERANCE: f64 = 0.15;

/// An update of `rows` streams in one micro-batch, with the loss on every position.
fn workload(method: Method, rows: u64, time: u64) -> Workload {
    Workload {
        method,
        reference: None,
        precision: Precision::Single,
        adapter_rank: None,
        checkpointing: Checkpointing::None,
        kernels: Kernels::Fused,
        stream_tokens: time,
        reply_tokens: time - 1,
        turns: 1,
        streams: rows,
        micro_batch_tokens: rows * time,
        workers: 1,
        slots: 0,
    }
}

/// The peak of a workload of `measure`, in bytes; `None` where the system does not tell.
fn measured(line: &str) -> Option<f64> {
    if !std::path::Path::new("/proc/self/status").exists() {
        eprintln!("skipped: this system does not tell the peak of a process");
        return None;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_measure"))
        .args(line.split_whitespace())
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let cost: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    Some(cost["peak_mib"].as_f64().expect("a peak") * 1024.0 * 1024.0)
}

fn assert_estimated(line: &str, config: &ModelConfig, workload: Workload) {
    let Some(measured) = measured(line) else { return };
    let estimate = Estimate::new(&DecoderShape::of(config), &workload);
    let ratio = estimate.peak as f64 / measured;
    eprintln!("{line}: estimated {} of {measured} bytes, {ratio:.3}", estimate.peak);
    assert!((ratio - 1.0).abs() <= TOLERANCE, "{line}: {ratio:.3} of what was measured");
}

// Activations, and the logits that are kept: half of the peak is in neither weights nor moments.
#[test]
fn a_step_with_many_tokens_takes_what_was_estimated() {
    let config = sapo_benches::shape("small").expect("a known shape");
    assert_estimated("train small 4 512", &config, workload(Method::Sapo, 4, 512));
}

// The inputs of layers, logits, and one layer's activations.
#[test]
fn a_checkpointed_step_takes_what_was_estimated() {
    let config = sapo_benches::shape("mid").expect("a known shape");
    let workload =
        Workload { checkpointing: Checkpointing::Layers, ..workload(Method::Sapo, 4, 256) };
    assert_estimated("train mid 4 256 --checkpointing", &config, workload);
}

// A second model. Of 4 turns a stream 7/8 are replies.
#[test]
fn an_update_with_a_critic_takes_what_was_estimated() {
    let config = sapo_benches::shape("mid").expect("a known shape");
    let workload = Workload { turns: 4, reply_tokens: 56, ..workload(Method::Ppo, 4, 256) };
    assert_estimated("update ppo mid 4 256", &config, workload);
}

// Weights and moments.
#[test]
fn a_step_with_few_tokens_takes_what_was_estimated() {
    let config = sapo_benches::shape("mid").expect("a known shape");
    assert_estimated("train mid 2 128", &config, workload(Method::Sapo, 2, 128));
}

// More logits than are kept: a head in parts.
#[test]
fn a_step_over_a_wide_vocabulary_takes_what_was_estimated() {
    let config = sapo_benches::shape("small-49k").expect("a known shape");
    assert_estimated("train small-49k 3 480", &config, workload(Method::Sapo, 3, 480));
}
