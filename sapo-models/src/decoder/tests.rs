use burn::module::{ModuleVisitor, Param};
use burn::optim::GradientsParams;
use sapo_core::Checkpointing;
use sapo_core::algorithm::{Sapo, TurnTarget};
use sapo_core::batch::{TrainStream, TrainTurn};
use sapo_core::learner::{Learner, LearnerConfig, MiniBatches};
use sapo_core::schedule::{Decay, Schedule};
use sapo_core::value::ValueTokens;

use super::*;
use crate::config::Family;
use crate::init::{ResidualInit, new_model};

const VOCABULARY: usize = 40;

fn decoder(family: Family, is_tied: bool) -> Decoder {
    let mut config = ModelConfig::new(family, VOCABULARY, 16, 24, 3, [4, 2]);
    config.tie_word_embeddings = is_tied;
    // Large enough weights for gradients that differ in more than rounding.
    config.initializer_range = 0.3;
    new_model(&config, ResidualInit::Plain, 5, &Device::flex().autodiff()).unwrap()
}

fn stream(length: u32, response: std::ops::Range<usize>) -> TrainStream {
    let turn = TrainTurn {
        old_log_probs: vec![-3.0; response.len()],
        response,
        reference_log_probs: Vec::new(),
        old_value: 0.1,
        old_action_value: -0.1,
        target: TurnTarget { advantage: 0.7, value: 0.5, action_value: -0.5 },
    };
    let tokens = (0..length).map(|place| (place * place + length) % 37).collect();
    TrainStream { tokens, turns: vec![turn] }
}

fn learner(decoder: Decoder, checkpointing: Checkpointing) -> Learner<Decoder> {
    let schedule =
        Schedule { peak: 0.1, warmup_iterations: 0.0, iterations: 1.0, decay: Decay::Constant };
    let config = LearnerConfig {
        schedule,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.0,
        max_gradient_norm: 1.0,
        epochs: 1,
        mini_batches: MiniBatches::Count(1),
        micro_batch_tokens: 30,
        recompute_old: false,
        checkpointing,
        workers: 1,
        kl_controller: None,
        seed: 0,
    };
    Learner::new(decoder, config)
}

struct Collect<'a> {
    gradients: &'a GradientsParams,
    numbers: Vec<Vec<f32>>,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.get::<D>(param.id).expect("a gradient for each weight");
        self.numbers.push(gradient.to_data().iter::<f32>().collect());
    }
}

fn gradients(decoder: &Decoder, checkpointing: Checkpointing) -> Vec<Vec<f32>> {
    let value_tokens = ValueTokens::new(38, 39, VOCABULARY).ok();
    let mut sapo =
        Sapo { max_return: 1.0, ..Sapo::new(ActionSoftmax { value_tokens, temperature: 0.7 }) };
    sapo.objective.kl_coefficient = 0.0;
    // Two micro-batches: 15 + 15 tokens, then 9.
    let streams = [stream(15, 4..9), stream(12, 2..3), stream(9, 5..9)];
    let streams: Vec<&TrainStream> = streams.iter().collect();
    let (gradients, _) = learner(decoder.clone(), checkpointing).gradients(&sapo, &streams);
    let mut collect = Collect { gradients: &gradients, numbers: Vec::new() };
    decoder.visit(&mut collect);
    collect.numbers
}

#[test]
fn checkpointed_layers_have_the_gradients_of_a_plain_pass() {
    for (family, is_tied) in [(Family::Qwen2, true), (Family::Qwen3, false), (Family::Llama, true)]
    {
        let decoder = decoder(family, is_tied);
        let plain = gradients(&decoder, Checkpointing::None);
        let checkpointed = gradients(&decoder, Checkpointing::Layers);
        assert_eq!(plain.len(), checkpointed.len());
        for (plain, checkpointed) in plain.iter().zip(&checkpointed) {
            let largest = plain.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
            assert!(largest > 1e-4, "{family:?}: a gradient of nothing");
            for (a, b) in plain.iter().zip(checkpointed) {
                assert!((a - b).abs() <= 1e-5 * largest.max(1e-2), "{family:?}: {a} and {b}");
            }
        }
    }
}
