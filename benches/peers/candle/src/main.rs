//! `candle-peer ROWS PROMPT REPLY`: replies sampled at temperature 1 by candle's own Qwen2 of the shape `small`,
//! with its KV cache. `RAYON_NUM_THREADS` says how many threads it may use.

use std::fs;
use std::time::Instant;

use candle_core::{DType, Device, IndexOp, Result, Tensor};
use candle_nn::{Activation, VarBuilder, VarMap};
use candle_transformers::generation::LogitsProcessor;
use candle_transformers::models::qwen2::{Config, ModelForCausalLM};

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [rows, prompt, reply] = numbers[..] else { panic!("usage: candle-peer ROWS PROMPT REPLY") };
    let config = small();
    let mut model = model(&config)?;
    let vocabulary = config.vocab_size as u32;
    let tokens = |row: u32| (0..prompt as u32).map(move |step| (row * 7919 + step * 104_729) % vocabulary);
    let prompts: Vec<u32> = (0..rows as u32).flat_map(tokens).collect();
    let prompts = Tensor::from_vec(prompts, (rows, prompt), &Device::Cpu)?;

    generate(&mut model, &prompts, reply)?;
    let mut least = [f64::INFINITY; 2];
    for _ in 0..3 {
        let (clock, cpu) = (Instant::now(), cpu_seconds());
        generate(&mut model, &prompts, reply)?;
        let spent = [cpu_seconds() - cpu, clock.elapsed().as_secs_f64()];
        least = [least[0].min(spent[0]), least[1].min(spent[1])];
    }
    let line = serde_json::json!({
        "bench": "candle generate",
        "cpu_seconds": least[0],
        "seconds": least[1],
        "peak_mib": peak_mib(),
    });
    println!("{line}");
    Ok(())
}

/// As in `benches/src/bin/measure/models.rs`.
fn small() -> Config {
    Config {
        vocab_size: 32_000,
        hidden_size: 256,
        intermediate_size: 688,
        num_hidden_layers: 8,
        num_attention_heads: 8,
        num_key_value_heads: 2,
        max_position_embeddings: 2048,
        sliding_window: 2048,
        max_window_layers: 8,
        tie_word_embeddings: true,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
        use_sliding_window: false,
        hidden_act: Activation::Silu,
    }
}

/// Random weights. Their head is tied: no weights of that name are there when candle looks for them.
fn model(config: &Config) -> Result<ModelForCausalLM> {
    let weights = VarMap::new();
    ModelForCausalLM::new(config, VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu))
}

fn generate(model: &mut ModelForCausalLM, prompts: &Tensor, reply: usize) -> Result<()> {
    model.clear_kv_cache();
    let rows = prompts.dim(0)?;
    let sampler = |row: usize| LogitsProcessor::new(row as u64, Some(1.0), None);
    let mut samplers: Vec<LogitsProcessor> = (0..rows).map(sampler).collect();
    let (mut tokens, mut length) = (prompts.clone(), 0);
    for _ in 0..reply {
        let logits = model.forward(&tokens, length)?;
        length += tokens.dim(1)?;
        let mut drawn = Vec::with_capacity(rows);
        for (row, sampler) in samplers.iter_mut().enumerate() {
            drawn.push(sampler.sample(&logits.i((row, 0))?)?);
        }
        tokens = Tensor::from_vec(drawn, (rows, 1), prompts.device())?;
    }
    Ok(())
}

/// CPU seconds of this process so far, in steps of a clock tick.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux' /proc");
    let fields = stat.rsplit_once(')').expect("a name in parentheses").1.split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks")).sum::<f64>() / 100.0
}

/// The most memory that was ever resident, in MiB.
fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux' /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number of kB") / 1024.0
}
