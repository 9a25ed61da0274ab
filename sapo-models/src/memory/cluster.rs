//! How many devices share a training run.

use super::estimate::{Estimate, reserve};

/// More devices than anybody has.
const MOST: u64 = 1 << 20;

impl Estimate {
    /// What each of `devices` holds, in bytes: an even share of weights, master copies, gradients, moments,
    /// reference and critic, and the whole of the activations, logits and keys and values of its own
    /// micro-batch and slots.
    pub fn on_each(&self, devices: u64) -> u64 {
        let tensors =
            self.resident().div_ceil(devices) + self.rollout.max(self.update.peak(devices));
        tensors + reserve(tensors)
    }

    /// How many devices of `bytes` it takes; `None` where activations, logits or keys and values alone do
    /// not fit into one.
    pub fn devices(&self, bytes: u64) -> Option<u64> {
        let fits = |devices: u64| self.on_each(devices) <= bytes;
        let (mut low, mut high) = (1, MOST);
        if !fits(high) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if fits(middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }
}
