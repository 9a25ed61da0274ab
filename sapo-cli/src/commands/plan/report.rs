//! A plan as a table, and as JSON.

use std::path::Path;

use sapo_models::memory::{DecoderShape, Estimate, Method};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::size::MemorySize;
use crate::output::{bytes, grouped, table};

/// What each method takes.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    model: String,
    parameters: u64,
    /// Bytes of each part, by method.
    bytes: Map<String, Value>,
    /// How many GPUs share it, by method; `null` where no number of them would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpus: Option<Map<String, Value>>,
    #[serde(skip)]
    estimates: Vec<(Method, Estimate)>,
    #[serde(skip)]
    gpu_memory: Option<MemorySize>,
}

impl Report {
    pub(super) fn new(
        model: &Path,
        shape: &DecoderShape,
        estimates: Vec<(Method, Estimate)>,
        gpu_memory: Option<MemorySize>,
    ) -> Self {
        let by_method = |value: &dyn Fn(&Estimate) -> Value| -> Map<String, Value> {
            let pair =
                |(method, estimate): &(Method, Estimate)| (method.name().into(), value(estimate));
            estimates.iter().map(pair).collect()
        };
        Report {
            model: model.display().to_string(),
            parameters: shape.parameters(),
            bytes: by_method(&|estimate| {
                let stages = [("rollout", estimate.rollout), ("update", estimate.update.peak(1))];
                parts(estimate)
                    .into_iter()
                    .chain(stages)
                    .map(|(name, bytes)| (name.replace(' ', "_"), json!(bytes)))
                    .collect()
            }),
            gpus: gpu_memory
                .as_ref()
                .map(|size| by_method(&|estimate| json!(estimate.devices(size.bytes)))),
            estimates,
            gpu_memory,
        }
    }

    /// The table, a line a method.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{}: {} parameters\n", self.model, grouped(self.parameters));
        let mut lines: Vec<Vec<String>> = Vec::new();
        for (method, estimate) in &self.estimates {
            let parts = parts(estimate);
            if lines.is_empty() {
                let names = parts.iter().map(|(name, _)| (*name).to_owned());
                let gpus = self.gpu_memory.iter().map(|size| format!("GPUs of {}", size.text));
                lines.push(std::iter::once(String::new()).chain(names).chain(gpus).collect());
            }
            let sizes = parts.iter().map(|(_, size)| bytes(*size));
            let gpus = self.gpu_memory.iter().map(|size| gpus(estimate, size));
            let name = std::iter::once(method.name().to_owned());
            lines.push(name.chain(sizes).chain(gpus).collect());
        }
        text += &table(&lines);
        text
    }
}

fn gpus(estimate: &Estimate, size: &MemorySize) -> String {
    estimate.devices(size.bytes).map_or("none do".to_owned(), grouped)
}

/// The columns. Their sum is more than the peak: rollout and update do not overlap, nor do all parts of the
/// update.
fn parts(estimate: &Estimate) -> [(&'static str, u64); 11] {
    [
        ("weights", estimate.weights),
        ("masters", estimate.masters),
        ("gradients", estimate.gradients),
        ("optimizer", estimate.optimizer),
        ("reference", estimate.reference),
        ("critic", estimate.critic),
        ("activations", estimate.activations),
        ("logits", estimate.logits),
        ("KV cache", estimate.kv_cache),
        ("reserve", estimate.reserve),
        ("peak", estimate.peak),
    ]
}
