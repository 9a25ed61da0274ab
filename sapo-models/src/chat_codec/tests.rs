use sapo_core::env::Role;

use super::*;
use crate::chat::TemplateTokens;
use crate::test_data::{self, Family};

const IM_END: u32 = 151_645;
const END_OF_TEXT: u32 = 151_643;

fn assistant(content: &str) -> Message {
    Message { role: Role::Assistant, content: content.into() }
}

fn qwen(family: Family) -> Option<ChatCodec> {
    let (tokenizer, template) = (test_data::tokenizer(family)?, test_data::template(family)?);
    Some(ChatCodec::new(tokenizer, template, &[IM_END, END_OF_TEXT]).unwrap())
}

fn families() -> impl Iterator<Item = ChatCodec> {
    [Family::Qwen25, Family::Qwen3].into_iter().filter_map(qwen)
}

/// A conversation as the rollout builds it: only new messages are ever encoded.
fn stream(codec: &ChatCodec, opening: &[Message], turns: &[(&str, &str)]) -> Vec<u32> {
    let mut stream = codec.fresh(opening).unwrap();
    for (reply, observation) in turns {
        stream.extend(codec.reply_ids(reply).unwrap());
        stream.extend(codec.follow(Finish::Stop, &[Message::user(*observation)]).unwrap());
    }
    stream
}

fn conversation(opening: &[Message], turns: &[(&str, &str)]) -> Vec<Message> {
    let later = turns
        .iter()
        .flat_map(|(reply, observation)| [assistant(reply), Message::user(*observation)]);
    opening.iter().cloned().chain(later).collect()
}

const TURNS: [(&str, &str); 3] =
    [("go to fridge 1", "It is closed."), ("open fridge 1", "Empty."), ("look", "Nothing.\n")];

#[test]
fn a_stream_built_turn_by_turn_equals_the_conversation_rendered_at_once() {
    let openings = [
        vec![Message::user("Your task: cool a mug.")],
        vec![Message::system("Be brief."), Message::user("Your task: cool a mug.")],
    ];
    for codec in families() {
        for opening in &openings {
            let whole = codec.fresh(&conversation(opening, &TURNS)).unwrap();
            assert_eq!(stream(&codec, opening, &TURNS), whole);
        }
    }
}

#[test]
fn thoughts_stay_in_the_stream_where_the_template_drops_them() {
    let turns = [("<think>\nhot\n</think>\n\nopen fridge 1", "Empty.")];
    let opening = [Message::user("Cool a mug.")];
    let Some(codec) = qwen(Family::Qwen3) else { return };
    let streamed = stream(&codec, &opening, &turns);
    let whole = codec.fresh(&conversation(&opening, &turns)).unwrap();
    let text = |ids: &[u32]| codec.tokenizer().decode(ids, Specials::Keep).unwrap();
    assert!(!text(&whole).contains("hot"));
    let think = "<think>\nhot\n</think>\n\n";
    assert!(text(&streamed).contains(think));
    assert_eq!(text(&streamed).replace(think, ""), text(&whole));
}

#[test]
fn sampled_ids_stay_where_their_text_would_be_encoded_otherwise() {
    for codec in families() {
        let letters: Vec<u32> =
            "look".chars().map(|c| codec.tokenizer().id(&c.to_string()).unwrap()).collect();
        assert_ne!(codec.tokenizer().encode("look").unwrap(), letters);
        let opening = codec.fresh(&[Message::user("-")]).unwrap();
        let after = codec.follow(Finish::Stop, &[Message::user("-")]).unwrap();
        let stream = [&opening[..], &letters, &[IM_END], &after].concat();
        assert_eq!(stream[opening.len()..opening.len() + 4], letters);
        assert_eq!(codec.decode(&letters), "look");
    }
}

#[test]
fn a_reply_that_was_cut_is_closed_by_the_context() {
    for codec in families() {
        let user = [Message::user("-")];
        let stopped = codec.follow(Finish::Stop, &user).unwrap();
        let cut = codec.follow(Finish::Length, &user).unwrap();
        assert_eq!(cut[0], IM_END);
        assert_eq!(cut[1..], stopped);
        // "\n" <|im_start|> user "\n" "-" <|im_end|> "\n" <|im_start|> assistant "\n"
        assert_eq!(stopped, [198, 151_644, 872, 198, 12, IM_END, 198, 151_644, 77_091, 198]);
    }
}

#[test]
fn options_of_the_template_hold_in_every_turn() {
    let Some(codec) = qwen(Family::Qwen3) else { return };
    let codec = codec.with_option("enable_thinking", false);
    let no_thought = codec.tokenizer().encode("<think>\n\n</think>\n\n").unwrap();
    let user = [Message::user("-")];
    assert!(codec.fresh(&user).unwrap().ends_with(&no_thought));
    assert!(codec.follow(Finish::Stop, &user).unwrap().ends_with(&no_thought));
}

#[test]
fn stop_tokens_come_from_the_template_and_from_every_configuration() {
    for family in [Family::Qwen25, Family::Qwen3] {
        let (Some(tokenizer), Some(template)) =
            (test_data::tokenizer(family), test_data::template(family))
        else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        tokenizer.save(folder.path()).unwrap();
        fs::write(folder.path().join(TEMPLATE_FILE), template.source()).unwrap();
        let now = DateTime::default();
        let stops = || ChatCodec::from_folder(folder.path(), now).unwrap().stop_ids().to_vec();
        assert_eq!(stops(), [IM_END]);
        let write = |name, text| fs::write(folder.path().join(name), text).unwrap();
        write(CONFIG_FILE, r#"{"eos_token_id": 151643}"#);
        assert_eq!(stops(), [IM_END, END_OF_TEXT]);
        write(GENERATION_CONFIG_FILE, r#"{"eos_token_id": [151643, 151645]}"#);
        assert_eq!(stops(), [IM_END, END_OF_TEXT]);
        write(CONFIG_FILE, r#"{"eos_token_id": null}"#);
        assert_eq!(stops(), [IM_END, END_OF_TEXT]);
    }
}

#[test]
fn a_saved_folder_holds_the_files_that_were_read() {
    let Some(tokenizer) = test_data::tokenizer(Family::Qwen3) else { return };
    let Some(template) = test_data::template(Family::Qwen3) else { return };
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tokenizer.save(from.path()).unwrap();
    fs::write(from.path().join(TEMPLATE_FILE), template.source()).unwrap();
    fs::write(from.path().join(TOKENIZER_CONFIG_FILE), r#"{ "eos_token":  "<|im_end|>"}"#).unwrap();
    let codec = ChatCodec::from_folder(from.path(), DateTime::default()).unwrap();
    codec.save(to.path()).unwrap();
    for name in [TEMPLATE_FILE, TOKENIZER_CONFIG_FILE, crate::tokenizer::TOKENIZER_FILE] {
        let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(name)).unwrap();
        assert!(read(&from) == read(&to), "{name}");
    }
}

#[test]
fn white_space_before_the_end_of_turn_is_dropped_with_it() {
    let source = "{% for m in messages %}{% if m.role == 'assistant' %} {{ m.content }} </s>\
                  {% else %}[{{ m.content }}]{% endif %}{% endfor %}";
    let template =
        ChatTemplate::new(source, TemplateTokens::default(), DateTime::default()).unwrap();
    let tokenizer = crate::word_tokenizer::WordTokenizerConfig {
        special_tokens: vec!["</s>".into()],
        ..Default::default()
    };
    let tokenizer = tokenizer.train(["[hi] yes "]).unwrap();
    let codec = ChatCodec::new(tokenizer, template, &[]).unwrap();
    let follow = |last| {
        let ids = codec.follow(last, &[Message::user("hi")]).unwrap();
        codec.tokenizer().decode(&ids, Specials::Keep).unwrap()
    };
    assert_eq!(follow(Finish::Stop), "[hi]");
    assert_eq!(follow(Finish::Length), " </s>[hi]");
}

#[test]
fn a_template_that_closes_with_nothing_needs_a_configured_stop() {
    let source = "{% for m in messages %}{{ m.content }}\n{% endfor %}";
    let template =
        || ChatTemplate::new(source, TemplateTokens::default(), DateTime::default()).unwrap();
    let tokenizer = || crate::word_tokenizer::WordTokenizerConfig::default().train(["hi"]).unwrap();
    let refused = ChatCodec::new(tokenizer(), template(), &[]).unwrap_err();
    assert!(matches!(refused, ChatError::NoStop));
    let codec = ChatCodec::new(tokenizer(), template(), &[1]).unwrap();
    assert_eq!(codec.reply_ids("").unwrap(), [1]);
}
