//! `sapo generate`, with a tiny model that was never trained.

use burn::prelude::Device;
use insta::assert_snapshot;
use sapo_core::value::Readout;
use sapo_models::{
    Family, Model, ModelConfig, ResidualInit, StoredType, ValueMetadata, WordTokenizerConfig,
    new_model, reserve_value_tokens, save_model, small_codec,
};

use crate::desk::Desk;

/// A desk with a model in `tiny`: a chat template, 64 rows, the two highest for the value.
pub(crate) fn desk_with_model() -> Desk {
    let desk = Desk::new();
    let folder = desk.path("tiny");
    let texts = ["look go to take the mug from shelf 1 2 3"];
    let words = WordTokenizerConfig::default();
    let codec = small_codec(texts, words).unwrap();
    let size = codec.tokenizer().highest_id() as usize + 1;
    let config = ModelConfig::new(Family::Qwen2, size + 4, 16, 24, 2, [4, 2]);
    let decoder = new_model(&config, ResidualInit::Plain, 0, &Device::flex()).unwrap();
    let tokens = reserve_value_tokens(config.vocab_size, size as u32 - 1).tokens();
    let value = Some(ValueMetadata::new(tokens, Readout::default()));
    save_model(&folder, &Model { config, decoder, value }, StoredType::F32).unwrap();
    codec.save(&folder).unwrap();
    desk
}

#[test]
fn an_answer_comes_with_all_that_was_captured() {
    let desk = desk_with_model();
    let answer = desk.json("generate --model tiny look --max-new-tokens 5 --temperature 0");
    let tokens = answer["tokens"].as_array().unwrap();
    assert!((1..=5).contains(&tokens.len()));
    assert_eq!(answer["log_probs"].as_array().unwrap().len(), tokens.len());
    // <|obs|> look <|act|>
    assert_eq!(answer["prompt_tokens"].as_array().unwrap().len(), 3);
    for key in ["value", "action_value"] {
        assert!(answer[key].is_number(), "{answer}");
    }
}

#[test]
fn equal_seeds_give_equal_texts() {
    let desk = desk_with_model();
    let text =
        |seed| desk.sapo(&format!("generate --model tiny look --max-new-tokens 20 --seed {seed}"));
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

#[test]
fn a_raw_prompt_gets_no_chat_tokens_and_may_be_piped() {
    let desk = desk_with_model();
    let answer = desk.json("generate --model tiny --raw look --max-new-tokens 2");
    assert_eq!(answer["prompt_tokens"].as_array().unwrap().len(), 1);
    let piped = desk.sapo_with("generate --model tiny --max-new-tokens 9", "look\n");
    assert_eq!(piped, desk.sapo("generate --model tiny look --max-new-tokens 9"));
}

#[test]
fn a_model_without_a_template_continues_the_text() {
    let desk = desk_with_model();
    std::fs::remove_file(desk.path("tiny/chat_template.jinja")).unwrap();
    let raw = "generate --model tiny look --max-new-tokens 4 --temperature 0 --raw";
    let said = desk.sapo(raw.trim_end_matches(" --raw"));
    assert!(said.contains("the model has no chat template"), "{said}");
    let stdout = |said: &str| said.split("-- stderr").next().map(str::to_owned);
    assert_eq!(stdout(&said), stdout(&desk.sapo(raw)));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let desk = desk_with_model();
    assert_snapshot!(desk.sapo("generate --model nowhere look"), @r#"
    exit 1
    -- stderr
    error: nowhere cannot be loaded as a model
      caused by: nowhere/config.json: No such file or directory (os error 2)
    "#);
    assert_snapshot!(desk.sapo("generate --model tiny"), @r#"
    exit 1
    -- stderr
    error: the prompt is empty; say something to answer or to continue
    "#);
    assert_snapshot!(desk.sapo("generate --model tiny look --max-new-tokens 9999"), @r#"
    exit 1
    -- stderr
    error: --max-new-tokens is 9999; the model has 2048 positions for prompt and answer
    "#);
    assert_snapshot!(desk.sapo("generate --model tiny look --temperature -1"), @r#"
    exit 2
    -- stderr
    error: invalid value '-1' for '--temperature <T>': write a number from 0, such as 0.7

    For more information, try '--help'.
    "#);
    desk.write("tiny/model.safetensors", "no weights");
    let said = desk.sapo("generate --model tiny look");
    assert!(said.starts_with("exit 1") && said.contains("tiny/model.safetensors"), "{said}");
}
