//! How fast the small default model plays and learns on this machine: tokens a second of a decoded batch,
//! seconds of a training step.
//!
//! ```text
//! cargo run --release -p sapo-models --example speed -- [rows] [prompt tokens] [reply tokens]
//! ```

use std::time::Instant;

use burn::optim::{AdamWConfig, GradientsParams};
use burn::prelude::*;
use sapo_core::actor::{Actor, Finish, TurnRequest};
use sapo_core::env::{Message, Prompt};
use sapo_core::model::CausalLm;
use sapo_core::value::{ActionSoftmax, Readout, ValueTokens};
use sapo_models::{
    Codec, CodecError, Decoder, Family, Generator, GeneratorConfig, ModelConfig, ResidualInit,
    Sampling, new_model, place_right_padded, score_streams,
};

/// A prompt of so many tokens, whatever is said.
struct Fixed(usize);

impl Codec for Fixed {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok((0..self.0 as u32).map(|i| (i * 7 + messages.len() as u32) % 290).collect())
    }

    fn follow(&self, _last: Finish, _messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(vec![5; 30])
    }

    fn decode(&self, _tokens: &[u32]) -> String {
        String::new()
    }

    fn stop_ids(&self) -> &[u32] {
        &[]
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).flat_map(|word| word.parse()).collect();
    let [rows, prompt, reply] = match arguments[..] {
        [rows, prompt, reply] => [rows, prompt, reply],
        _ => [64, 300, 64],
    };
    let config = ModelConfig::new(Family::Qwen2, 300, 128, 384, 4, [4, 2]);
    let device = Device::flex();
    let decoder = new_model(&config, ResidualInit::Plain, 0, &device).expect("a sound shape");
    println!("parameters: {}", decoder.num_params());
    play(&decoder, rows, prompt, reply);
    score(&decoder, 32, 300);
    let device = device.autodiff();
    let decoder = new_model(&config, ResidualInit::Plain, 0, &device).expect("a sound shape");
    train(decoder, 32, 300, &device);
}

fn play(decoder: &Decoder, rows: usize, prompt: usize, reply: usize) {
    let value_tokens = ValueTokens::new(299, 298, 300).ok();
    let sampling = Sampling { value_tokens, ..Sampling::default() };
    let settings =
        GeneratorConfig { sampling, max_new_tokens: reply, ..GeneratorConfig::new(2048) };
    for (what, settings) in [
        ("prefill and one token", GeneratorConfig { max_new_tokens: 1, ..settings }),
        ("whole turn", settings),
    ] {
        let mut generator = Generator::new(decoder, Fixed(prompt), settings);
        let fresh = Prompt::Fresh(vec![Message::user("go")]);
        let more = Prompt::Continue(vec![Message::user("on")]);
        for (turn, prompt) in [("fresh", &fresh), ("follow", &more), ("follow", &more)] {
            let requests: Vec<TurnRequest<'_>> =
                (0..rows).map(|slot| TurnRequest { slot, prompt, seed: slot as u64 }).collect();
            let start = Instant::now();
            let replies = generator.act(&requests).expect("a reply");
            let tokens: usize = replies.iter().flatten().map(|reply| reply.tokens.len()).sum();
            let seconds = start.elapsed().as_secs_f64();
            let rate = tokens as f64 / seconds;
            println!("{what}, {turn}: {rows} rows, {seconds:.3} s, {rate:.0} sampled tokens/s");
        }
    }
}

fn streams(rows: usize, time: usize) -> Vec<Vec<u32>> {
    (0..rows)
        .map(|row| (0..time).map(|step| ((row * 31 + step * 7) % 290) as u32).collect())
        .collect()
}

fn score(decoder: &Decoder, rows: usize, time: usize) {
    let streams = streams(rows, time);
    let streams: Vec<&[u32]> = streams.iter().map(Vec::as_slice).collect();
    let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
    let start = Instant::now();
    score_streams(decoder, &streams, &softmax, Readout::default());
    println!("scoring {rows} streams x {time}: {:.3} s", start.elapsed().as_secs_f64());
}

fn train(mut decoder: Decoder, rows: usize, time: usize, device: &Device) {
    let mut optimizer = AdamWConfig::new().with_epsilon(1e-8).init();
    let flat: Vec<i32> = streams(rows, time).iter().flatten().map(|&id| id as i32).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(flat, [rows, time]), device);
    let placement = place_right_padded(&vec![time; rows], device);
    let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
    for _ in 0..3 {
        let start = Instant::now();
        let hidden = decoder.hidden(ids.clone(), &placement, None);
        let hidden = hidden.narrow(1, 0, time - 1).reshape([rows * (time - 1), 128]);
        let targets = ids.clone().narrow(1, 1, time - 1).reshape([rows * (time - 1)]);
        let scores = softmax.score(decoder.logits(hidden), targets);
        let loss = scores.log_probs.mean().neg();
        let forward = start.elapsed().as_secs_f64();
        let gradients = loss.backward();
        let backward = start.elapsed().as_secs_f64() - forward;
        let gradients = GradientsParams::from_grads(gradients, &decoder);
        decoder = optimizer.step(1e-4, decoder, gradients);
        let whole = start.elapsed().as_secs_f64();
        println!(
            "training step, {rows} x {time}: {whole:.3} s (forward {forward:.3}, backward {backward:.3})"
        );
    }
}
