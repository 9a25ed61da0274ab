use burn::prelude::Device;

use super::*;
use crate::{Family, ResidualInit, named_parameters, new_model};

#[test]
fn the_parameters_of_every_family_are_counted() {
    for family in Family::ALL {
        for is_tied in [true, false] {
            let config = ModelConfig {
                head_dim: 6,
                tie_word_embeddings: is_tied,
                attention_bias: family != Family::Qwen2,
                mlp_bias: family == Family::Llama,
                ..ModelConfig::new(family, 50, 16, 24, 3, [4, 2])
            };
            let decoder = new_model(&config, ResidualInit::Plain, 0, &Device::flex()).unwrap();
            let parameters = named_parameters(&decoder).unwrap();
            let count: usize = parameters.iter().map(|parameter| parameter.values.len()).sum();
            assert_eq!(DecoderShape::of(&config).parameters(), count as u64, "{config:?}");
        }
    }
}

fn read(file: &Value) -> Result<DecoderShape, ModelError> {
    let path = Path::new("config.json");
    DecoderShape::from_keys(&Keys { path, file: file.as_object().unwrap() })
}

#[test]
fn a_file_gives_the_shape_that_its_model_has() {
    for family in Family::ALL {
        let config = ModelConfig::new(family, 50, 16, 24, 3, [4, 2]);
        assert_eq!(read(&config.to_json("float32")).unwrap(), DecoderShape::of(&config));
    }
}

#[test]
fn a_size_that_is_missing_or_zero_is_refused_by_its_key() {
    let config = ModelConfig::new(Family::Qwen3, 50, 16, 24, 3, [4, 2]);
    let with = |key: &str, value: Value| {
        let mut file = config.to_json("float32");
        file[key] = value;
        read(&file).unwrap_err().to_string()
    };
    assert!(with("hidden_size", Value::Null).contains("`hidden_size` is missing"));
    assert!(with("num_attention_heads", 0.into()).contains("`num_attention_heads` is 0"));
    assert!(with("n_routed_experts", 8.into()).contains("`n_routed_experts` is of a mixture"));
    assert!(with("num_experts", 8.into()).contains("`num_experts_per_tok` is missing"));
}

// By hand, rank 2 and 1 layer: q 16 + 16, k and v 16 + 8 each, o 16 + 16, three of 16 + 24.
#[test]
fn adapters_have_a_row_and_a_column_a_rank() {
    let config = ModelConfig::new(Family::Llama, 50, 16, 24, 1, [4, 2]);
    assert_eq!(DecoderShape::of(&config).adapter_parameters(2), 2 * (32 + 48 + 32 + 120));
}

// The totals of the published checkpoints, as their index files (`metadata.total_size` over 2 bytes) have them.
#[test]
fn published_models_have_their_published_sizes() {
    for (name, parameters) in [
        ("qwen2.5-1.5b", 1_543_714_304),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-72b", 72_706_203_648),
        ("qwen3-14b", 14_768_307_200),
        ("qwen3-32b", 32_762_123_264),
        ("qwen3-235b-a22b", 235_093_634_560),
    ] {
        let path = format!("{}/../configs/plan/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let shape = DecoderShape::read(Path::new(&path)).unwrap();
        assert_eq!(shape.parameters(), parameters, "{name}");
    }
}
