use super::*;

fn minimal() -> Map<String, Value> {
    let value = json!({
        "model_type": "qwen2", "vocab_size": 320, "hidden_size": 64, "intermediate_size": 160,
        "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
        "tie_word_embeddings": true, "hidden_act": "silu"
    });
    value.as_object().unwrap().clone()
}

fn with(changes: Value) -> Result<ModelConfig, ModelError> {
    let mut file = minimal();
    for (key, value) in changes.as_object().unwrap() {
        file.insert(key.clone(), value.clone());
    }
    ModelConfig::parse(&Value::Object(file).to_string())
}

#[track_caller]
fn assert_refused(changes: Value, key: &str, problem: &str) {
    let message = with(changes).unwrap_err().to_string();
    assert!(message.starts_with(&format!("config.json: `{key}` ")), "{message}");
    assert!(message.contains(problem), "{message}");
}

#[test]
fn both_forms_of_the_rotary_base_are_read() {
    assert_eq!(with(json!({})).unwrap().rope_theta, 1e6);
    let newer =
        json!({"rope_theta": null, "rope_parameters": {"rope_type": "default", "rope_theta": 1e5}});
    assert_eq!(with(newer).unwrap().rope_theta, 1e5);
    let older = json!({"rope_scaling": {"type": "default"}});
    assert_eq!(with(older).unwrap().rope_theta, 1e6);
}

#[test]
fn a_missing_rotary_base_is_an_error() {
    assert_refused(json!({"rope_theta": null}), "rope_theta", "is missing");
}

#[test]
fn what_is_not_implemented_is_refused_by_its_key() {
    assert_refused(json!({"model_type": "gemma3"}), "model_type", "\"gemma3\"; known are qwen2");
    assert_refused(json!({"model_type": null}), "model_type", "is missing");
    assert_refused(json!({"hidden_act": "gelu"}), "hidden_act", "\"gelu\"");
    let yarn = json!({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}});
    assert_refused(yarn, "rope_scaling.rope_type", "\"yarn\"");
    let llama3 = json!({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}});
    assert_refused(llama3, "rope_parameters.rope_type", "\"llama3\"");
    let window = json!({"use_sliding_window": true, "sliding_window": 4096});
    assert_refused(window, "use_sliding_window", "full attention");
    let layers = json!({"layer_types": ["full_attention", "sliding_attention"]});
    assert_refused(layers, "layer_types", "sliding_attention");
}

#[test]
fn a_window_that_is_not_in_use_is_no_obstacle() {
    let config = with(json!({"use_sliding_window": false, "sliding_window": 4096}));
    assert_eq!(config.unwrap().num_hidden_layers, 3);
}

#[test]
fn numbers_that_do_not_fit_are_refused_by_their_key() {
    assert_refused(json!({"num_key_value_heads": 3}), "num_key_value_heads", "does not divide");
    assert_refused(json!({"hidden_size": "64"}), "hidden_size", "not a whole number");
    assert_refused(json!({"vocab_size": null}), "vocab_size", "is missing");
    assert_refused(json!({"num_hidden_layers": 0}), "num_hidden_layers", "is 0");
    assert_refused(json!({"head_dim": 15}), "head_dim", "even");
}

#[test]
fn the_heads_width_is_the_files_or_follows_from_the_models() {
    assert_eq!(with(json!({})).unwrap().head_dim, 16);
    assert_eq!(with(json!({"head_dim": 24})).unwrap().head_dim, 24);
    assert_eq!(with(json!({"model_type": "qwen3"})).unwrap().head_dim, 128);
}

#[test]
fn unknown_keys_are_kept_and_known_ones_renewed() {
    let mut config = with(json!({"bos_token_id": 7, "dtype": "float32"})).unwrap();
    config.vocab_size = 322;
    let written = config.to_json("bfloat16");
    assert_eq!(written["bos_token_id"], 7);
    assert_eq!(written["dtype"], "bfloat16");
    assert_eq!(written["vocab_size"], 322);
    assert_eq!(written.get("torch_dtype"), None);
    assert_eq!(written.get("rope_parameters"), None);
}

#[test]
fn a_new_config_is_read_back_as_it_was() {
    let config = ModelConfig::new(Family::Llama, 300, 128, 384, 4, [4, 2]);
    let written = config.to_json("float32");
    assert_eq!(written["architectures"], json!(["LlamaForCausalLM"]));
    let read = ModelConfig::parse(&written.to_string()).unwrap();
    assert_eq!(ModelConfig { file: Map::new(), ..read }, config);
}
