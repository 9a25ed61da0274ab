//! `sapo plan`, and what `sapo train` makes of its estimate.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::desk::Desk;

/// A desk with a `config.json`: two layers of width 64.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("model/config.json", config(json!({})).to_string());
    desk
}

fn config(changes: Value) -> Value {
    let mut config = json!({
        "model_type": "qwen3", "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 160,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 4096, "rope_theta": 1e6, "tie_word_embeddings": true
    });
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

#[test]
fn a_plan_is_a_table_of_all_methods() {
    assert_snapshot!(desk().sapo("plan --config model --gpu-memory 1GB --precision bf16"), @r"
    exit 0
    -- stdout
    model: 150,400 parameters
           weights   masters  gradients  optimizer  reference  critic  activations  logits  KV cache  reserve      peak  GPUs of 1GB
    sapo  300.8 kB  601.6 kB     1.2 MB     1.2 MB   300.8 kB     0 B     128.4 MB  8.2 MB   83.9 MB  17.3 MB  154.1 MB            1
    ppo   300.8 kB  601.6 kB     1.2 MB     1.2 MB   300.8 kB  2.1 MB     128.4 MB  8.2 MB   83.9 MB  17.4 MB  156.3 MB            1
    grpo  300.8 kB  601.6 kB     1.2 MB     1.2 MB   300.8 kB     0 B     128.4 MB  8.2 MB   83.9 MB  17.3 MB  154.1 MB            1
    ");
}

#[test]
fn programs_read_bytes_and_gpus_by_method() {
    let plan = desk().json("plan --config model/config.json --slots 4 --gpu-memory 1GiB");
    assert_eq!(plan["bytes"].as_object().unwrap().len(), 3);
    for method in ["sapo", "ppo", "grpo"] {
        let bytes = &plan["bytes"][method];
        assert_eq!(bytes["weights"], 4 * plan["parameters"].as_u64().unwrap());
        assert!(bytes["peak"].as_u64() > bytes["kv_cache"].as_u64(), "{bytes}");
        assert_eq!(plan["gpus"][method], 1);
    }
    let critic = |method: &str| plan["bytes"][method]["critic"].as_u64().unwrap();
    assert!(critic("ppo") > 0 && critic("sapo") == 0);
    let one = desk().json("plan --config model --algorithm ppo");
    assert_eq!(one["bytes"].as_object().unwrap().len(), 1);
    assert_eq!(one["gpus"], Value::Null);
}

#[test]
fn a_mixture_of_experts_is_planned_though_it_cannot_be_trained() {
    let desk = Desk::new();
    let experts = json!({
        "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32
    });
    desk.write("moe.json", config(experts).to_string());
    let said = desk.sapo("plan --config moe.json --algorithm sapo");
    let note = "note: this model cannot be trained here, only planned: moe.json: `model_type` is";
    assert!(said.starts_with("exit 0") && said.contains(note), "{said}");
    // 64 of the last norm, and of each layer 64 x 64 x 2 + 64 x 32 x 2 of attention, 2 x 16 + 2 x 64 of
    // norms, 64 x 8 of the router, 8 x 3 x 64 x 32 of experts.
    let parameters = 64_000 + 64 + 2 * (8_192 + 4_096 + 160 + 512 + 49_152);
    assert_eq!(desk.json("plan --config moe.json")["parameters"], parameters);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let desk = desk();
    desk.write("odd.json", config(json!({"hidden_size": "wide"})).to_string());
    assert_snapshot!(desk.sapo("plan --config odd.json"), @r#"
    exit 1
    -- stderr
    error: odd.json: `hidden_size` is "wide", not a whole number
    "#);
    assert_snapshot!(desk.sapo("plan --config nowhere"), @r"
    exit 1
    -- stderr
    error: nowhere: No such file or directory (os error 2)
    ");
    assert_snapshot!(desk.sapo("plan --config model --gpu-memory 80"), @r"
    exit 2
    -- stderr
    error: invalid value '80' for '--gpu-memory <SIZE>': write a number and a unit, as in 80GB or 80GiB

    For more information, try '--help'.
    ");
    assert!(desk.sapo("plan").starts_with("exit 2"));
    assert!(desk.sapo("plan --config model --response-tokens 0").starts_with("exit 2"));
    let small = desk.sapo("plan --config model --gpu-memory 1MB");
    assert!(small.contains("none do"), "{small}");
}

#[test]
fn a_run_that_cannot_fit_is_refused_before_it_starts() {
    if !std::path::Path::new("/proc/meminfo").exists() {
        eprintln!("skipped: this system does not say how much memory it has");
        return;
    }
    let desk = Desk::new();
    let huge = "train --set model.path=new --set model.hidden=65536 --set model.heads=64 \
                --set model.kv_heads=64 --set model.layers=1024";
    let said = desk.sapo(huge);
    let told = ["this run needs about", "are available", "set check_memory=false"];
    assert!(said.starts_with("exit 1"), "{said}");
    assert!(told.iter().all(|words| said.contains(words)), "{said}");
    assert!(!desk.path("runs").exists(), "a refused run leaves nothing behind");
}

#[test]
fn a_micro_batch_holds_at_least_one_stream() {
    let desk = Desk::new();
    let small = "train --set optimizer.micro_batch_tokens=24 --set rollout.max_new_tokens=24";
    assert_snapshot!(desk.sapo(small), @r"
    exit 1
    -- stderr
    error: optimizer.micro_batch_tokens is 24; a stream with one reply of rollout.max_new_tokens, 24, does not fit into it
    ");
}

#[test]
fn a_stream_beyond_the_micro_batch_is_told_once() {
    let desk = Desk::new();
    let said = desk.sapo(
        "train --out run --set iterations=2 --set episodes=2 --set env.max_turns=2 \
         --set evaluation.episodes=1 --set optimizer.micro_batch_tokens=32",
    );
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(
        said.matches("is longer than optimizer.micro_batch_tokens, 32").count(),
        1,
        "{said}"
    );
}
