//! Against PyTorch 2.9 and transformers: checkpoints and recordings made by `gen_fixtures.py`, which lies
//! beside them. Without the data each test says so and passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::prelude::*;
use burn::tensor::Gradients;
use safetensors::{Dtype, SafeTensors};
use sapo_core::actor::{Actor, Finish, TurnRequest};
use sapo_core::env::{Message, Prompt};
use sapo_core::model::{CausalLm, Placement};
use sapo_core::value::{ActionSoftmax, Readout};
use sapo_models::{
    Codec, CodecError, Decoder, Generator, GeneratorConfig, KvCache, Model, Sampling, StoredType,
    load_model, named_parameters, place_right_padded, save_model, save_model_in_shards,
    score_streams,
};

const ALL: [&str; 7] = [
    "qwen2_tied_f32",
    "qwen2_untied_f32",
    "qwen2_tied_f32_sharded",
    "qwen3_untied_f32",
    "llama_tied_f32",
    "qwen2_untied_bf16",
    "qwen3_tied_bf16",
];

/// f32 sums in another order: 2e-5 of the largest number, or of 1.
const FORWARD: f32 = 2e-5;

fn models() -> Option<PathBuf> {
    let data = match std::env::var_os("SAPO_DATA") {
        Some(data) => PathBuf::from(data),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
    };
    let models = data.join("models");
    if models.is_dir() {
        return Some(models);
    }
    eprintln!("skipped: no recordings at {}; set SAPO_DATA", models.display());
    None
}

/// One fixture: its folder, its model in f32, its recordings.
struct Fixture {
    name: &'static str,
    dir: PathBuf,
    model: Model,
    expected: Recorded,
    numbers: serde_json::Value,
}

fn fixtures(device: &Device) -> Vec<Fixture> {
    let Some(models) = models() else { return Vec::new() };
    let fixture = |name| {
        let dir = models.join("fixtures").join(name);
        let numbers = std::fs::read_to_string(dir.join("expected.json")).unwrap();
        Fixture {
            name,
            model: load_model(&dir, device).unwrap(),
            expected: Recorded::read(&dir.join("expected.safetensors")),
            numbers: serde_json::from_str(&numbers).unwrap(),
            dir,
        }
    };
    ALL.into_iter().map(fixture).collect()
}

struct Recorded(BTreeMap<String, (Vec<f32>, Vec<usize>)>);

impl Recorded {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let floats = |bytes: &[u8]| {
            bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
        };
        let whole = |bytes: &[u8]| {
            let words = bytes.chunks_exact(8);
            words.map(|word| i64::from_le_bytes(word.try_into().unwrap()) as f32).collect()
        };
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let read = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| {
            let values: Vec<f32> = match view.dtype() {
                Dtype::F32 => floats(view.data()),
                Dtype::I64 => whole(view.data()),
                other => panic!("{other:?}"),
            };
            (name.to_owned(), (values, view.shape().to_vec()))
        };
        Recorded(tensors.iter().map(read).collect())
    }

    fn floats(&self, name: &str) -> &[f32] {
        &self.0[name].0
    }

    fn shape(&self, name: &str) -> &[usize] {
        &self.0[name].1
    }

    /// Rows of ids, or of zeros and ones.
    fn rows(&self, name: &str) -> Vec<Vec<u32>> {
        let (values, shape) = &self.0[name];
        values.chunks(shape[1]).map(|row| row.iter().map(|&id| id as u32).collect()).collect()
    }
}

/// The largest difference, as a share of the largest expected number or of 1.
#[track_caller]
fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}: length");
    let scale = expected.iter().fold(1.0_f32, |scale, value| scale.max(value.abs()));
    let pairs = found.iter().zip(expected);
    let worst = pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    assert!(
        worst.is_finite() && worst <= tolerance * scale,
        "{what}: off by {worst}, scale {scale}"
    );
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

fn ids(rows: &[Vec<u32>], device: &Device) -> Tensor<2, Int> {
    let flat: Vec<i32> = rows.iter().flatten().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(flat, [rows.len(), rows[0].len()]), device)
}

fn logits(decoder: &Decoder, hidden: Tensor<3>) -> Tensor<2> {
    let [rows, time, width] = hidden.dims();
    decoder.logits(hidden.reshape([rows * time, width]))
}

#[test]
fn logits_and_hidden_states_are_those_of_pytorch() {
    let device = Device::flex();
    for Fixture { name, model, expected, .. } in fixtures(&device) {
        let rows = expected.rows("a.input_ids");
        let placement = place_right_padded(&[rows[0].len()], &device);
        let states = model.decoder.hidden_states(ids(&rows, &device), &placement);
        for (layer, state) in states.iter().enumerate() {
            let what = format!("a.hidden.{layer}");
            let found = floats(state.clone());
            assert_close(&format!("{name} {what}"), &found, expected.floats(&what), FORWARD);
        }
        let found = floats(logits(&model.decoder, states.last().unwrap().clone()));
        assert_close(&format!("{name} logits"), &found, expected.floats("a.logits"), FORWARD);
    }
}

#[test]
fn log_probs_and_entropies_are_those_of_pytorch_at_two_temperatures() {
    let device = Device::flex();
    for Fixture { name, model, expected, .. } in fixtures(&device) {
        let rows = expected.rows("a.input_ids");
        for (temperature, what) in [(1.0, "a.logprobs"), (0.7, "a.logprobs_t0.7")] {
            let softmax = ActionSoftmax { value_tokens: None, temperature };
            let scores = score_streams(&model.decoder, &[&rows[0]], &softmax, Readout::default());
            let found = &scores[0].log_probs;
            assert_close(&format!("{name} {what}"), found, expected.floats(what), FORWARD);
            if temperature == 1.0 {
                let next = scores[0].entropies.len();
                let recorded = &expected.floats("a.entropy")[..next];
                assert_close(&format!("{name} entropy"), &scores[0].entropies, recorded, FORWARD);
            }
        }
    }
}

#[test]
fn padding_on_either_side_changes_no_logits() {
    let device = Device::flex();
    for Fixture { name, model, expected, .. } in fixtures(&device) {
        for side in ["right", "left"] {
            let rows = expected.rows(&format!("{side}.input_ids"));
            let mask = expected.rows(&format!("{side}.attention_mask"));
            let lengths: Vec<usize> =
                mask.iter().map(|row| row.iter().sum::<u32>() as usize).collect();
            let hidden = match side {
                "right" => {
                    let placement = place_right_padded(&lengths, &device);
                    model.decoder.hidden(ids(&rows, &device), &placement, None)
                }
                _ => {
                    let mut cache = KvCache::new(&model.decoder, rows.len());
                    let placement = cache.place(&lengths, rows[0].len(), &device);
                    model.decoder.hidden(ids(&rows, &device), &placement, Some(&mut cache))
                }
            };
            let vocabulary = model.decoder.vocabulary();
            let mut found = floats(logits(&model.decoder, hidden));
            let is_real = mask.iter().flatten();
            for (row, _) in
                found.chunks_mut(vocabulary).zip(is_real).filter(|(_, real)| **real == 0)
            {
                row.fill(0.0);
            }
            let what = format!("{side}.logits");
            assert_close(&format!("{name} {what}"), &found, expected.floats(&what), FORWARD);
        }
    }
}

/// Messages are numbers, and so are replies.
struct Numbers;

impl Codec for Numbers {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        let words = messages.iter().flat_map(|message| message.content.split_whitespace());
        words.map(|word| word.parse().map_err(CodecError::from)).collect()
    }

    fn follow(&self, _last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        self.fresh(messages)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        tokens.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }

    fn stop_ids(&self) -> &[u32] {
        &[]
    }
}

fn numbers(ids: &[u32]) -> Prompt {
    Prompt::Fresh(vec![Message::user(Numbers.decode(ids))])
}

fn greedy(decoder: &Decoder, prompts: &[Vec<u32>], new: usize, positions: usize) -> Vec<Vec<u32>> {
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    let config =
        GeneratorConfig { sampling, max_new_tokens: new, ..GeneratorConfig::new(positions) };
    let mut generator = Generator::new(decoder, Numbers, config);
    let prompts: Vec<Prompt> = prompts.iter().map(|prompt| numbers(prompt)).collect();
    let request = |(slot, prompt)| TurnRequest { slot, prompt, seed: 0 };
    let requests: Vec<TurnRequest<'_>> = prompts.iter().enumerate().map(request).collect();
    generator.act(&requests).unwrap().into_iter().map(|reply| reply.unwrap().tokens).collect()
}

#[test]
fn greedy_generation_gives_pytorchs_ids_alone_and_in_a_batch() {
    let device = Device::flex();
    for Fixture { name, model, expected, .. } in fixtures(&device) {
        let (padded, mask) = (expected.rows("gen.input_ids"), expected.rows("gen.attention_mask"));
        let real = |(row, mask): (&Vec<u32>, &Vec<u32>)| -> Vec<u32> {
            row.iter().zip(mask).filter(|(_, real)| **real == 1).map(|(id, _)| *id).collect()
        };
        let prompts: Vec<Vec<u32>> = padded.iter().zip(&mask).map(real).collect();
        let batched = greedy(&model.decoder, &prompts, 20, 256);
        assert_eq!(batched, expected.rows("gen.left_padded"), "{name} batched");
        for (number, prompt) in prompts.iter().enumerate() {
            let alone = greedy(&model.decoder, std::slice::from_ref(prompt), 20, 256);
            let recorded = expected.floats(&format!("gen.single.{number}"));
            let recorded: Vec<u32> = recorded.iter().map(|&id| id as u32).collect();
            assert_eq!(alone[0], recorded, "{name} prompt {number}");
        }
    }
}

/// Mean next-token cross-entropy over the right-padded batch, as the script computes it.
fn imitation_loss(decoder: &Decoder, expected: &Recorded, device: &Device) -> Tensor<1> {
    let (rows, mask) = (expected.rows("right.input_ids"), expected.rows("right.attention_mask"));
    let lengths: Vec<usize> = mask.iter().map(|row| row.iter().sum::<u32>() as usize).collect();
    let placement: Placement = place_right_padded(&lengths, device);
    let hidden = decoder.hidden(ids(&rows, device), &placement, None);
    let [_, time, width] = hidden.dims();
    let flat = hidden.reshape([rows.len() * time, width]);
    let (mut places, mut targets) = (Vec::new(), Vec::new());
    for (row, &length) in lengths.iter().enumerate() {
        for step in 0..length - 1 {
            places.push((row * time + step) as i32);
            targets.push(rows[row][step + 1] as i32);
        }
    }
    let count = places.len();
    let places = Tensor::<1, Int>::from_data(TensorData::new(places, [count]), device);
    let targets = Tensor::<1, Int>::from_data(TensorData::new(targets, [count]), device);
    let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
    softmax.score(decoder.logits(flat.select(0, places)), targets).log_probs.mean().neg()
}

/// Gradients by name, in Hugging Face's layout.
struct ByName<'a> {
    gradients: &'a Gradients,
    path: Vec<(String, String)>,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for ByName<'_> {
    fn enter_module(&mut self, name: &str, kind: &str) {
        self.path.push((name.into(), kind.into()));
    }

    fn exit_module(&mut self, _name: &str, _kind: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let names: Vec<&str> = self.path.iter().map(|(name, _)| name.as_str()).collect();
        let gradient = param.val().grad(self.gradients).unwrap();
        let (field, kind) = self.path.last().unwrap();
        let gradient = match field == "weight" && kind == "Struct:Projection" {
            true => gradient.swap_dims(0, 1),
            false => gradient,
        };
        self.found.insert(names.join("."), floats(gradient));
    }
}

#[test]
fn gradients_and_an_adamw_step_are_those_of_pytorch() {
    let device = Device::flex().autodiff();
    for Fixture { name, dir, model, expected, numbers } in fixtures(&device) {
        let loss = imitation_loss(&model.decoder, &expected, &device);
        let recorded = numbers["sft.loss"].as_f64().unwrap() as f32;
        assert_close(&format!("{name} loss"), &floats(loss.clone()), &[recorded], FORWARD);
        let gradients = loss.backward();
        let path = Vec::new();
        let mut by_name = ByName { gradients: &gradients, path, found: BTreeMap::new() };
        model.decoder.visit(&mut by_name);
        let file = dir.join("grads.safetensors");
        if file.exists() {
            let recorded = Recorded::read(&file);
            assert!(by_name.found.keys().eq(recorded.0.keys()), "{name}: other names");
            for (tensor, gradient) in &by_name.found {
                let recorded = recorded.floats(tensor);
                let largest = recorded.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                let shrink =
                    |values: &[f32]| values.iter().map(|x| x / largest).collect::<Vec<_>>();
                assert_close(
                    &format!("{name} {tensor}"),
                    &shrink(gradient),
                    &shrink(recorded),
                    1e-4,
                );
            }
        }
        let config = AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.95);
        let mut optimizer = config.with_epsilon(1e-8).with_weight_decay(0.1).init();
        let gradients = GradientsParams::from_grads(gradients, &model.decoder);
        let stepped = optimizer.step(1e-2, model.decoder, gradients);
        for parameter in named_parameters(&stepped).unwrap() {
            let square = |value: &f32| f64::from(*value) * f64::from(*value);
            let norm = parameter.values.iter().map(square).sum::<f64>().sqrt();
            let recorded = numbers["adamw.param_norms"][&parameter.name].as_f64().unwrap();
            let what = format!("{name} {}", parameter.name);
            assert!((norm / recorded - 1.0).abs() < 1e-4, "{what}: {norm}, recorded {recorded}");
        }
        let after = floats(imitation_loss(&stepped, &expected, &device));
        let recorded = numbers["adamw.loss_after"].as_f64().unwrap() as f32;
        assert_close(&format!("{name} loss after"), &after, &[recorded], 2e-4);
    }
}

fn bits(model: &Model) -> Vec<(String, Vec<u32>)> {
    let parameters = named_parameters(&model.decoder).unwrap();
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    parameters.into_iter().map(|parameter| (parameter.name, bits(parameter.values))).collect()
}

#[test]
fn saving_and_loading_gives_the_same_bits_in_one_file_and_in_shards() {
    let device = Device::flex();
    for Fixture { name, model, .. } in fixtures(&device) {
        for shard_bytes in [usize::MAX, 30_000] {
            let dir = tempfile::tempdir().unwrap();
            save_model_in_shards(dir.path(), &model, StoredType::F32, shard_bytes).unwrap();
            let is_sharded = dir.path().join("model.safetensors.index.json").exists();
            assert_eq!(is_sharded, shard_bytes < usize::MAX);
            let loaded = load_model(dir.path(), &device).unwrap();
            assert!(bits(&loaded) == bits(&model), "{name}");
            assert_eq!(loaded.decoder.lm_head.is_none(), name.contains("_tied"));
        }
    }
}

#[test]
fn saving_over_shards_leaves_no_stale_shard() {
    let device = Device::flex();
    let Some(fixture) = fixtures(&device).into_iter().next() else { return };
    let dir = tempfile::tempdir().unwrap();
    save_model_in_shards(dir.path(), &fixture.model, StoredType::F32, 30_000).unwrap();
    save_model(dir.path(), &fixture.model, StoredType::F32).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors"]);
}

/// bf16 keeps 8 bits of each number: a relative error of at most 2^-8 each, exactly none on numbers that
/// came from bf16.
#[test]
fn bf16_is_stored_within_its_rounding() {
    let device = Device::flex();
    for Fixture { name, model, .. } in fixtures(&device) {
        let dir = tempfile::tempdir().unwrap();
        save_model(dir.path(), &model, StoredType::Bf16).unwrap();
        let loaded = load_model(dir.path(), &device).unwrap();
        if name.ends_with("bf16") {
            assert!(bits(&loaded) == bits(&model), "{name}");
        }
        let pairs = named_parameters(&loaded.decoder).unwrap();
        for (rounded, exact) in pairs.iter().zip(named_parameters(&model.decoder).unwrap()) {
            for (one, other) in rounded.values.iter().zip(&exact.values) {
                assert!((one - other).abs() <= other.abs() / 256.0, "{name} {}", exact.name);
            }
        }
    }
}

#[test]
fn the_configs_of_real_models_are_read_and_written_again() {
    let Some(models) = models() else { return };
    for entry in std::fs::read_dir(models.join("configs")).unwrap() {
        let path = entry.unwrap().path();
        let config = sapo_models::ModelConfig::read(&path).unwrap();
        let text = config.to_json("bfloat16").to_string();
        let again = sapo_models::ModelConfig::parse(&text).unwrap();
        let file = serde_json::Map::new();
        let bare = |config| sapo_models::ModelConfig { file: file.clone(), ..config };
        assert_eq!(bare(config), bare(again), "{}", path.display());
    }
}

/// A story model of 260,000 parameters: words that children know, from a bare start token.
#[test]
fn the_story_model_tells_a_story() {
    let Some(models) = models() else { return };
    let dir = models.join("stories260k");
    let model = load_model(&dir, &Device::flex()).unwrap();
    let pieces = std::fs::read_to_string(dir.join("pieces.json")).unwrap();
    let pieces: serde_json::Value = serde_json::from_str(&pieces).unwrap();
    let tokens = greedy(&model.decoder, &[vec![1]], 60, 512).remove(0);
    let piece = |&id: &u32| pieces["pieces"][id as usize].as_str().unwrap();
    let story: String = tokens.iter().map(piece).collect();
    assert!(story.trim_start().starts_with("Once upon a time"), "{story}");
    assert!(story.contains("named"), "{story}");
}

#[test]
fn a_placement_of_a_fresh_cache_is_causal() {
    let device = Device::flex();
    let Some(fixture) = fixtures(&device).into_iter().next() else { return };
    let mut cache = KvCache::new(&fixture.model.decoder, 1);
    let placed = cache.place(&[8], 8, &device);
    let plain = place_right_padded(&[8], &device);
    assert_eq!(placed.hidden.to_data(), plain.hidden.to_data());
    assert_eq!(fixture.expected.shape("a.input_ids")[0], 1);
}
