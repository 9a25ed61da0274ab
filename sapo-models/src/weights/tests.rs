use std::fs;

use burn::prelude::*;
use sapo_core::value::{Readout, ValueTokens};
use serde_json::json;

use super::*;
use crate::config::Family;
use crate::export::{StoredType, named_parameters};
use crate::folder::{Model, ValueMetadata, load_model, save_model, save_model_in_shards};
use crate::test_models::{tiny, tiny_config};

fn model(family: Family, is_tied: bool) -> Model {
    let mut config = tiny_config(family);
    config.tie_word_embeddings = is_tied;
    let residual = crate::init::ResidualInit::Plain;
    let decoder = crate::init::new_model(&config, residual, 3, &Device::flex()).unwrap();
    Model { config, decoder, value: None }
}

fn saved(model: &Model, shard_bytes: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    save_model_in_shards(dir.path(), model, StoredType::F32, shard_bytes).unwrap();
    dir
}

fn message(dir: &Path) -> String {
    load_model(dir, &Device::flex()).unwrap_err().to_string()
}

#[track_caller]
fn assert_mentions(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

/// Changes a key of config.json.
fn reconfigure(dir: &Path, key: &str, value: serde_json::Value) {
    let path = dir.join("config.json");
    let mut config: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config[key] = value;
    fs::write(path, config.to_string()).unwrap();
}

#[test]
fn every_family_comes_back_bitwise_tied_or_not() {
    for family in [Family::Qwen2, Family::Qwen3, Family::Llama] {
        for is_tied in [true, false] {
            let model = model(family, is_tied);
            let loaded = load_model(saved(&model, usize::MAX).path(), &Device::flex()).unwrap();
            let parameters = |model: &Model| named_parameters(&model.decoder).unwrap();
            assert_eq!(parameters(&loaded), parameters(&model));
            assert_eq!(loaded.config.to_json("float32"), model.config.to_json("float32"));
        }
    }
}

#[test]
fn value_tokens_are_kept_in_the_folder() {
    let mut model = model(Family::Qwen2, true);
    let tokens = ValueTokens::new(39, 38, 40).unwrap();
    model.value = Some(ValueMetadata::new(tokens, Readout::default()));
    let dir = saved(&model, usize::MAX);
    assert_eq!(load_model(dir.path(), &Device::flex()).unwrap().value, model.value);
    let path = dir.path().join("sapo.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("39", "400")).unwrap();
    assert_mentions(&message(dir.path()), &["value token 400", "40 logits"]);
    fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert_mentions(&message(dir.path()), &["sapo.json", "version", "is 2"]);
}

#[test]
fn a_missing_tensor_is_named_with_its_shape() {
    let dir = saved(&model(Family::Qwen2, true), usize::MAX);
    reconfigure(dir.path(), "num_hidden_layers", json!(3));
    let expected =
        ["model.safetensors", "model.layers.2.input_layernorm.weight", "[16]", "missing"];
    assert_mentions(&message(dir.path()), &expected);
    reconfigure(dir.path(), "num_hidden_layers", json!(2));
    reconfigure(dir.path(), "tie_word_embeddings", json!(false));
    assert_mentions(&message(dir.path()), &["lm_head.weight", "[40, 16]", "missing"]);
}

#[test]
fn an_unexpected_tensor_is_named() {
    let dir = saved(&model(Family::Qwen2, true), usize::MAX);
    reconfigure(dir.path(), "num_hidden_layers", json!(1));
    assert_mentions(&message(dir.path()), &["model.safetensors", "model.layers.1.", "no place"]);
}

#[test]
fn a_stored_head_that_differs_from_the_embedding_it_should_be_is_unexpected() {
    let dir = saved(&model(Family::Qwen2, false), usize::MAX);
    reconfigure(dir.path(), "tie_word_embeddings", json!(true));
    assert_mentions(&message(dir.path()), &["lm_head.weight", "no place"]);
}

#[test]
fn a_misshapen_tensor_is_named_with_both_shapes() {
    let dir = saved(&model(Family::Qwen2, true), usize::MAX);
    reconfigure(dir.path(), "vocab_size", json!(41));
    let expected = ["model.embed_tokens.weight", "[40, 16]", "[41, 16]"];
    assert_mentions(&message(dir.path()), &expected);
}

#[test]
fn a_folder_without_weights_or_config_says_so() {
    let dir = saved(&model(Family::Qwen2, true), usize::MAX);
    fs::remove_file(dir.path().join(SINGLE_FILE)).unwrap();
    assert_mentions(&message(dir.path()), &["no weights", dir.path().to_str().unwrap()]);
    fs::remove_file(dir.path().join("config.json")).unwrap();
    assert_mentions(&message(dir.path()), &["config.json", "No such file"]);
}

#[test]
fn a_missing_shard_is_named() {
    let dir = saved(&model(Family::Qwen2, true), 3_000);
    let shard = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.starts_with("model-00002"))
        .unwrap();
    fs::remove_file(dir.path().join(&shard)).unwrap();
    assert_mentions(&message(dir.path()), &[INDEX_FILE, &shard, "not there"]);
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let dir = saved(&model(Family::Qwen2, true), usize::MAX);
    let path = dir.path().join(SINGLE_FILE);
    let bytes = fs::read(&path).unwrap();
    for length in [0, 4, 100, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_mentions(
            &message(dir.path()),
            &["model.safetensors", "not a whole safetensors file"],
        );
    }
}

#[test]
fn the_index_has_metadata_and_every_tensor() {
    let model = model(Family::Qwen3, false);
    let dir = saved(&model, 3_000);
    let index = fs::read_to_string(dir.path().join(INDEX_FILE)).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let parameters = named_parameters(&model.decoder).unwrap();
    let total: usize = parameters.iter().map(|parameter| parameter.values.len() * 4).sum();
    assert_eq!(index["metadata"]["total_size"], total);
    let named = index["weight_map"].as_object().unwrap();
    assert_eq!(named.len(), parameters.len());
    assert!(parameters.iter().all(|parameter| named.contains_key(&parameter.name)));
}

#[test]
fn a_save_leaves_no_passing_files() {
    let dir = tempfile::tempdir().unwrap();
    save_model(dir.path(), &model(Family::Llama, true), StoredType::Bf16).unwrap();
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors"]);
}

#[test]
fn the_same_seed_gives_the_same_model() {
    let parameters = |seed| named_parameters(&tiny(Family::Qwen2, seed)).unwrap();
    assert_eq!(parameters(1), parameters(1));
    assert_ne!(parameters(1), parameters(2));
}

/// Rewrites the weights file with another type for all tensors, and with further tensors.
fn rewrite(dir: &Path, dtype: Dtype, encode: fn(f32) -> Vec<u8>, copies: &[(&str, &str)]) {
    let path = dir.join(SINGLE_FILE);
    let bytes = fs::read(&path).unwrap();
    let stored = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, view) in stored.iter() {
        let values = widen(view.data(), view.dtype()).unwrap();
        let encoded = values.into_iter().flat_map(encode).collect();
        tensors.push((name.to_owned(), view.shape().to_vec(), encoded));
    }
    for (of, copy) in copies {
        let (_, shape, encoded) = tensors.iter().find(|(name, ..)| name == of).unwrap().clone();
        tensors.push(((*copy).to_owned(), shape, encoded));
    }
    let views = tensors.iter().map(|(name, shape, encoded)| {
        (name, safetensors::tensor::TensorView::new(dtype, shape.clone(), encoded).unwrap())
    });
    fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
}

#[test]
fn halves_are_read_and_other_types_refused_by_name() {
    let model = model(Family::Llama, true);
    let dir = saved(&model, usize::MAX);
    rewrite(dir.path(), Dtype::F16, |value| f16::from_f32(value).to_le_bytes().to_vec(), &[]);
    let loaded = load_model(dir.path(), &Device::flex()).unwrap();
    let pairs = named_parameters(&loaded.decoder).unwrap();
    for (half, whole) in pairs.iter().zip(named_parameters(&model.decoder).unwrap()) {
        let rounded: Vec<f32> =
            whole.values.iter().map(|value| f16::from_f32(*value).to_f32()).collect();
        assert_eq!(half.values, rounded);
    }
    rewrite(dir.path(), Dtype::F64, |value| f64::from(value).to_le_bytes().to_vec(), &[]);
    let expected = ["model.safetensors", "model.embed_tokens.weight", "F64", "f16"];
    assert_mentions(&message(dir.path()), &expected);
}

#[test]
fn a_head_stored_beside_the_embedding_it_equals_is_no_surprise() {
    let model = model(Family::Llama, true);
    let dir = saved(&model, usize::MAX);
    let bits = |value: f32| value.to_le_bytes().to_vec();
    rewrite(dir.path(), Dtype::F32, bits, &[(EMBEDDING, HEAD)]);
    let loaded = load_model(dir.path(), &Device::flex()).unwrap();
    assert!(loaded.decoder.lm_head.is_none());
}
