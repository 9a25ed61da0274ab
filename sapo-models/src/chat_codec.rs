//! [`ChatCodec`]: a tokenizer and a chat template make the streams that a model sees.

use std::fs;
use std::path::Path;

use jiff::civil::DateTime;
use sapo_core::actor::Finish;
use sapo_core::env::Message;
use serde::Deserialize;

use crate::chat::{
    ChatError, ChatTemplate, GenerationPrompt, TEMPLATE_FILE, TOKENIZER_CONFIG_FILE, read_optional,
};
use crate::codec::{Codec, CodecError};
use crate::tokenizer::{Specials, Tokenizer};

const GENERATION_CONFIG_FILE: &str = "generation_config.json";
const CONFIG_FILE: &str = "config.json";

/// Files that other programs read beside `tokenizer.json`; a saved model keeps them.
const COMPANIONS: [&str; 7] = [
    TEMPLATE_FILE,
    TOKENIZER_CONFIG_FILE,
    GENERATION_CONFIG_FILE,
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
];

/// The codec of a chat model: its tokenizer, its template, and the tokens that end its replies.
#[derive(Clone, Debug)]
pub struct ChatCodec {
    tokenizer: Tokenizer,
    template: ChatTemplate,
    end_of_turn: Option<u32>,
    stop_ids: Vec<u32>,
    companions: Vec<Companion>,
}

/// A small text file of the model folder.
#[derive(Clone, Debug)]
struct Companion {
    name: String,
    text: String,
}

impl ChatCodec {
    /// Joins a tokenizer and a template. The token with which the template closes an assistant's
    /// message ends a reply, and so do `eos_ids`.
    pub fn new(
        tokenizer: Tokenizer,
        template: ChatTemplate,
        eos_ids: &[u32],
    ) -> Result<Self, ChatError> {
        let end_of_turn = end_of_turn(&tokenizer, &template, eos_ids)?;
        let mut stop_ids: Vec<u32> = Vec::new();
        for id in end_of_turn.into_iter().chain(eos_ids.iter().copied()) {
            if !stop_ids.contains(&id) {
                stop_ids.push(id);
            }
        }
        if stop_ids.is_empty() {
            return Err(ChatError::NoStop);
        }
        Ok(ChatCodec { tokenizer, template, end_of_turn, stop_ids, companions: Vec::new() })
    }

    /// Reads the codec of a model folder. A template that prints the date prints `now`.
    pub fn from_folder(folder: &Path, now: DateTime) -> Result<Self, ChatError> {
        let tokenizer = Tokenizer::from_folder(folder)?;
        let template = ChatTemplate::from_folder(folder, now)?;
        let mut eos_ids = written_eos_ids(&folder.join(GENERATION_CONFIG_FILE))?;
        eos_ids.extend(written_eos_ids(&folder.join(CONFIG_FILE))?);
        let named = template.tokens().eos_token.as_deref();
        eos_ids.extend(named.and_then(|token| tokenizer.id(token).ok()));
        let mut codec = Self::new(tokenizer, template, &eos_ids)?;
        for name in COMPANIONS {
            if let Some(text) = read_optional(&folder.join(name))? {
                codec = codec.with_companion(name, text);
            }
        }
        Ok(codec)
    }

    /// Adds a file that [`save`](Self::save) writes beside `tokenizer.json`.
    pub(crate) fn with_companion(mut self, name: &str, text: impl Into<String>) -> Self {
        self.companions.push(Companion { name: name.into(), text: text.into() });
        self
    }

    /// Sets a variable of the template, such as `enable_thinking`.
    pub fn with_option(mut self, name: &str, value: impl Into<minijinja::Value>) -> Self {
        self.template = self.template.with_option(name, value);
        self
    }

    /// Writes all that this was read from into a model folder, byte for byte.
    pub fn save(&self, folder: &Path) -> Result<(), ChatError> {
        self.tokenizer.save(folder)?;
        for Companion { name, text } in &self.companions {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| ChatError::Write { path, source })?;
        }
        Ok(())
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The template.
    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// The tokens of a reply that says `text` and stops: what an expert gives a model to imitate.
    pub fn reply_ids(&self, text: &str) -> Result<Vec<u32>, ChatError> {
        let mut tokens = self.tokenizer.encode(text)?;
        tokens.extend(self.stop_ids.first());
        Ok(tokens)
    }

    fn fresh_ids(&self, messages: &[Message]) -> Result<Vec<u32>, ChatError> {
        Ok(self.tokenizer.encode(&self.template.render(messages, GenerationPrompt::Add)?)?)
    }

    fn follow_ids(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, ChatError> {
        let after = self.template.render_after_reply(messages, GenerationPrompt::Add)?;
        let mut tokens = self.tokenizer.encode(&after)?;
        if last == Finish::Stop {
            let closed = self.end_of_turn.and_then(|end| closing(&self.tokenizer, &tokens, &[end]));
            tokens.drain(..closed.map_or(0, |at| at + 1));
        }
        Ok(tokens)
    }
}

impl Codec for ChatCodec {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.fresh_ids(messages)?)
    }

    fn follow(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.follow_ids(last, messages)?)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        let said: Vec<u32> =
            tokens.iter().copied().filter(|id| !self.stop_ids.contains(id)).collect();
        // A decoder can only fail on tokens it never made; to the world that is an empty reply.
        self.tokenizer.decode(&said, Specials::Skip).unwrap_or_default()
    }

    fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }
}

/// The special token that closes an assistant's message, if the template writes one.
fn end_of_turn(
    tokenizer: &Tokenizer,
    template: &ChatTemplate,
    eos_ids: &[u32],
) -> Result<Option<u32>, ChatError> {
    let after = tokenizer.encode(&template.render_after_reply(&[], GenerationPrompt::Omit)?)?;
    let enders: Vec<u32> = tokenizer.special_ids().into_iter().chain(eos_ids.to_vec()).collect();
    Ok(closing(tokenizer, &after, &enders).map(|at| after[at]))
}

/// Where in `tokens` the first of `enders` is, if nothing but white space comes before it.
fn closing(tokenizer: &Tokenizer, tokens: &[u32], enders: &[u32]) -> Option<usize> {
    let at = tokens.iter().position(|id| enders.contains(id))?;
    let before = tokenizer.decode(&tokens[..at], Specials::Keep).ok()?;
    before.trim().is_empty().then_some(at)
}

/// `eos_token_id` of a configuration file: one id, a list, or nothing.
fn written_eos_ids(path: &Path) -> Result<Vec<u32>, ChatError> {
    #[derive(Deserialize)]
    struct Config {
        eos_token_id: Option<Ids>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ids {
        One(u32),
        Many(Vec<u32>),
    }
    let Some(text) = read_optional(path)? else { return Ok(Vec::new()) };
    let config: Config = serde_json::from_str(&text)
        .map_err(|source| ChatError::Json { path: path.into(), source })?;
    Ok(match config.eos_token_id {
        None => Vec::new(),
        Some(Ids::One(id)) => vec![id],
        Some(Ids::Many(ids)) => ids,
    })
}

#[cfg(test)]
mod tests {
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
        fs::write(from.path().join(TOKENIZER_CONFIG_FILE), r#"{ "eos_token":  "<|im_end|>"}"#)
            .unwrap();
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
        let tokenizer =
            || crate::word_tokenizer::WordTokenizerConfig::default().train(["hi"]).unwrap();
        let refused = ChatCodec::new(tokenizer(), template(), &[]).unwrap_err();
        assert!(matches!(refused, ChatError::NoStop));
        let codec = ChatCodec::new(tokenizer(), template(), &[1]).unwrap();
        assert_eq!(codec.reply_ids("").unwrap(), [1]);
    }
}
