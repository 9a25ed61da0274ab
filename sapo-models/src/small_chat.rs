//! The chat format of small models: three special tokens a turn and no words.

use jiff::civil::DateTime;
use serde_json::json;

use crate::chat::{ChatError, ChatTemplate, TEMPLATE_FILE, TOKENIZER_CONFIG_FILE, TemplateTokens};
use crate::chat_codec::ChatCodec;
use crate::word_tokenizer::{UNKNOWN, WordTokenizerConfig};

/// Begins a message of the environment.
pub const OBSERVATION: &str = "<|obs|>";
/// Begins a message of the agent.
pub const ACTION: &str = "<|act|>";
/// Ends a message of the agent.
pub const END: &str = "<|end|>";

/// The template: `<|obs|>what is seen<|act|>what is done<|end|>`.
pub const SMALL_TEMPLATE: &str = "\
{%- for message in messages -%}
    {%- if message.role == 'assistant' -%}
        {{- '<|act|>' + message.content + '<|end|>' -}}
    {%- else -%}
        {{- '<|obs|>' + message.content -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|act|>' -}}
{%- endif -%}
";

/// The codec of a small model, with a tokenizer made from the words of `texts`. It can be saved into a
/// model folder that other programs read.
///
/// # Errors
/// As [`WordTokenizerConfig::train`].
pub fn small_codec<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    words: WordTokenizerConfig,
) -> Result<ChatCodec, ChatError> {
    let ours = [OBSERVATION, ACTION, END].map(String::from);
    let special_tokens = ours.into_iter().chain(words.special_tokens).collect();
    let tokenizer = WordTokenizerConfig { special_tokens, ..words }.train(texts)?;
    let tokens = TemplateTokens {
        eos_token: Some(END.into()),
        pad_token: Some(END.into()),
        unk_token: Some(UNKNOWN.into()),
        bos_token: None,
    };
    let template = ChatTemplate::new(SMALL_TEMPLATE, tokens, DateTime::default())?;
    let config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "unk_token": UNKNOWN,
        "clean_up_tokenization_spaces": false,
    });
    let codec = ChatCodec::new(tokenizer, template, &[])?;
    Ok(codec
        .with_companion(TEMPLATE_FILE, SMALL_TEMPLATE)
        .with_companion(TOKENIZER_CONFIG_FILE, format!("{config:#}\n")))
}

#[cfg(test)]
mod tests {
    use sapo_core::actor::Finish;
    use sapo_core::env::Message;

    use super::*;
    use crate::codec::Codec;
    use crate::tokenizer::Specials;

    const WORLD: &str = "You see a fridge 1.\n\nYour task is to: cool a mug.";

    fn codec() -> ChatCodec {
        small_codec([WORLD, "go to fridge 1"], WordTokenizerConfig::default()).unwrap()
    }

    #[test]
    fn a_turn_costs_three_tokens_beside_its_words() {
        let codec = codec();
        let words = |text| codec.tokenizer().encode(text).unwrap();
        let [obs, act, end] = [OBSERVATION, ACTION, END].map(|t| codec.tokenizer().id(t).unwrap());

        let opening = codec.fresh(&[Message::user(WORLD)]).unwrap();
        assert_eq!(opening, [vec![obs], words(WORLD), vec![act]].concat());
        let reply = codec.reply_ids("go to fridge 1").unwrap();
        assert_eq!(reply, [words("go to fridge 1"), vec![end]].concat());
        let after = codec.follow(Finish::Stop, &[Message::user("You see a mug.")]).unwrap();
        assert_eq!(after, [vec![obs], words("You see a mug."), vec![act]].concat());
        let cut = codec.follow(Finish::Length, &[Message::user("You see a mug.")]).unwrap();
        assert_eq!(cut, [vec![end], after].concat());
        assert_eq!(codec.stop_ids(), [end]);
    }

    #[test]
    fn a_saved_codec_is_read_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        codec().save(folder.path()).unwrap();
        let again = ChatCodec::from_folder(folder.path(), DateTime::default()).unwrap();
        assert_eq!(again.stop_ids(), codec().stop_ids());
        let messages = [Message::user(WORLD)];
        assert_eq!(again.fresh(&messages).unwrap(), codec().fresh(&messages).unwrap());
        let ids = again.fresh(&messages).unwrap();
        assert_eq!(
            again.tokenizer().decode(&ids, Specials::Keep).unwrap(),
            format!("{OBSERVATION}{WORLD}{ACTION}")
        );
    }
}
