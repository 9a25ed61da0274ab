//! New weights, drawn on the host so that a seed gives the same model on every device.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use burn::prelude::*;

use crate::config::ModelConfig;
use crate::decoder::Decoder;
use crate::error::ModelError;
use crate::source::WeightSource;

/// How wide the projections back into the residual stream start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualInit {
    /// As wide as all other weights, as transformers does.
    #[default]
    Plain,
    /// Narrower by `sqrt(2 * layers)`, as GPT-2 does, so that the stream's variance does not grow with
    /// depth.
    Scaled,
}

/// A new model: weights normal with deviation `initializer_range`, norms 1, biases 0.
///
/// # Errors
/// If the configuration's numbers do not fit each other.
pub fn new_model(
    config: &ModelConfig,
    residual: ResidualInit,
    seed: u64,
    device: &Device,
) -> Result<Decoder, ModelError> {
    let residual_scale = match residual {
        ResidualInit::Plain => 1.0,
        ResidualInit::Scaled => 1.0 / (2.0 * config.num_hidden_layers as f64).sqrt(),
    };
    let mut source = Fresh {
        random: ChaCha12Rng::seed_from_u64(seed),
        deviation: config.initializer_range,
        residual_scale,
    };
    Decoder::build(&mut source, config, device)
}

struct Fresh {
    random: ChaCha12Rng,
    deviation: f64,
    residual_scale: f64,
}

impl WeightSource for Fresh {
    fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let count = shape.iter().product();
        if name.ends_with("norm.weight") {
            return Ok(vec![1.0; count]);
        }
        if name.ends_with(".bias") {
            return Ok(vec![0.0; count]);
        }
        let is_residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
        let scale = if is_residual { self.residual_scale } else { 1.0 };
        Ok(normal(&mut self.random, self.deviation * scale, count))
    }
}

/// Normal numbers by Box and Muller's transform.
pub(crate) fn normal(random: &mut ChaCha12Rng, deviation: f64, count: usize) -> Vec<f32> {
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        // 1 - u lies in (0, 1], where the logarithm is finite.
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt() * deviation;
        let angle = std::f64::consts::TAU * random.random::<f64>();
        values.push((radius * angle.cos()) as f32);
        values.push((radius * angle.sin()) as f32);
    }
    values.truncate(count);
    values
}
