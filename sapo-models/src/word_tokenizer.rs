//! A tokenizer for small models of small worlds: the words of given texts, one token each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
};

use crate::tokenizer::{Tokenizer, TokenizerError};

/// The token of a character that the vocabulary cannot spell. It is a special token: decoding may skip it.
pub(crate) const UNKNOWN: &str = "<unk>";

/// A word with the space before it, a number likewise, a mark, or any white space alone.
const PIECE: &str = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s";

/// How a word tokenizer is made from texts.
///
/// Words keep the space before them, so that decoding is joining. A word that was left out is spelled
/// in characters of printable ASCII; any other character that no text holds is `<unk>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordTokenizerConfig {
    /// Special tokens in the order of their ids, which begin at 1; 0 is `<unk>`.
    pub special_tokens: Vec<String>,
    /// How often a word must occur to become a token.
    pub min_count: usize,
    /// The largest number of words, of which the most frequent are kept.
    pub max_words: usize,
}

impl Default for WordTokenizerConfig {
    fn default() -> Self {
        WordTokenizerConfig { special_tokens: Vec::new(), min_count: 1, max_words: 4096 }
    }
}

impl WordTokenizerConfig {
    /// Makes the tokenizer of `texts`. The same texts give the same bytes: ids go to the special tokens
    /// first, then to words by falling frequency and, among equals, by their text, then to characters.
    ///
    /// # Errors
    /// If the tokenizer library refuses a text or the vocabulary.
    pub fn train<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Tokenizer, TokenizerError> {
        let counts = self.count(texts)?;
        let vocabulary = self.vocabulary(&counts);
        let json = serde_json::to_vec_pretty(&self.file(&vocabulary)).map_err(invalid)?;
        Tokenizer::from_json(json, "the trained tokenizer")
    }

    fn count<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeMap<String, usize>, TokenizerError> {
        let splitter =
            Split::new(SplitPattern::Regex(PIECE.into()), SplitDelimiterBehavior::Isolated, false)
                .map_err(invalid)?;
        let mut counts = BTreeMap::new();
        for text in texts {
            for plain in without(text, &self.special_tokens) {
                let mut pieces = PreTokenizedString::from(plain);
                splitter.pre_tokenize(&mut pieces).map_err(invalid)?;
                for (piece, ..) in pieces.get_splits(OffsetReferential::Original, OffsetType::Byte)
                {
                    *counts.entry(piece.to_owned()).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }

    fn vocabulary(&self, counts: &BTreeMap<String, usize>) -> Vec<String> {
        let mut words: Vec<_> =
            counts.iter().filter(|(_, count)| **count >= self.min_count).collect();
        words.sort_by_key(|(word, count)| (Reverse(**count), *word));
        let words = words.into_iter().take(self.max_words).map(|(word, _)| word.clone());
        let seen = counts.keys().flat_map(|word| word.chars());
        let letters: BTreeSet<char> = seen.chain(' '..='~').chain(['\n']).collect();
        let specials = [UNKNOWN.to_owned()].into_iter().chain(self.special_tokens.iter().cloned());
        let mut known = BTreeSet::new();
        specials
            .chain(words)
            .chain(letters.into_iter().map(String::from))
            .filter(|token| known.insert(token.clone()))
            .collect()
    }

    fn file(&self, vocabulary: &[String]) -> Value {
        let specials = 1 + self.special_tokens.len();
        let added: Vec<Value> = vocabulary.iter().take(specials).enumerate().map(special).collect();
        let ids: serde_json::Map<String, Value> =
            vocabulary.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": { "Regex": PIECE },
                "behavior": "Isolated",
                "invert": false,
            },
            "post_processor": null,
            "decoder": { "type": "Fuse" },
            // Pair merging without a single merge: whole words by `ignore_merges`, else characters.
            "model": {
                "type": "BPE",
                "dropout": null,
                "unk_token": UNKNOWN,
                "continuing_subword_prefix": null,
                "end_of_word_suffix": null,
                "fuse_unk": false,
                "byte_fallback": false,
                "ignore_merges": true,
                "vocab": ids,
                "merges": [],
            },
        })
    }
}

fn special((id, token): (usize, &String)) -> Value {
    json!({
        "id": id,
        "content": token,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": true,
    })
}

/// The parts of `text` between the special tokens written out in it.
fn without<'a>(text: &'a str, special_tokens: &[String]) -> Vec<&'a str> {
    special_tokens.iter().filter(|token| !token.is_empty()).fold(vec![text], |parts, token| {
        parts.into_iter().flat_map(|part| part.split(token.as_str())).collect()
    })
}

fn invalid(error: impl ToString) -> TokenizerError {
    TokenizerError::Invalid {
        origin: "the tokenizer to be trained".into(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::Specials;

    const KITCHEN: &str = "You are in the middle of a room. Looking quickly around you, you see a \
        cabinet 12, a countertop 1, and a fridge 1.\n\nYour task is to: put a clean mug in fridge.";
    const ACTIONS: &str =
        "go to countertop 1\ntake mug 1 from countertop 1\nmove mug 1 to fridge 1";

    fn config() -> WordTokenizerConfig {
        WordTokenizerConfig {
            special_tokens: vec!["<|act|>".into(), "<|end|>".into()],
            ..Default::default()
        }
    }

    fn trained() -> Tokenizer {
        static TRAINED: LazyLock<Tokenizer> =
            LazyLock::new(|| config().train([KITCHEN, ACTIONS]).unwrap());
        TRAINED.clone()
    }

    #[test]
    fn an_action_has_a_token_a_word() {
        let tokenizer = trained();
        for (action, tokens) in [("go to countertop 1", 4), ("take mug 1 from countertop 1", 6)] {
            assert_eq!(tokenizer.encode(action).unwrap().len(), tokens);
        }
    }

    #[test]
    fn special_tokens_come_first_and_are_one_token_each() {
        let tokenizer = trained();
        let ids = tokenizer.encode("<|act|>go<|end|>").unwrap();
        assert_eq!(ids, [1, tokenizer.id("go").unwrap(), 2]);
        assert_eq!(tokenizer.decode(&ids, Specials::Skip).unwrap(), "go");
        assert_eq!(tokenizer.special_ids(), BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn frequent_words_have_low_ids_and_equals_follow_their_text() {
        let tokenizer = config().train(["b b b a a", "c a <|act|><|act|>"]).unwrap();
        // " a" twice, " b" twice; "b", "c", " " (before the tag) once: by text.
        let tokens: Vec<_> = (3..8).map(|id| tokenizer.token(id).unwrap()).collect();
        assert_eq!(tokens, [" a", " b", " ", "b", "c"]);
    }

    #[test]
    fn rare_words_are_spelled() {
        let config = WordTokenizerConfig { min_count: 2, ..config() };
        let tokenizer = config.train(["a mug a mug"]).unwrap();
        assert_eq!(tokenizer.encode(" mug").unwrap().len(), 1);
        assert_eq!(tokenizer.encode(" zebra").unwrap().len(), 6);
        assert_eq!(config.train(["a a", " mug", " mug"]).unwrap().encode(" mug").unwrap().len(), 1);
    }

    #[test]
    fn the_same_texts_give_the_same_file() {
        let train = || config().train([KITCHEN, ACTIONS]).unwrap();
        assert_eq!(train().json(), train().json());
    }

    #[test]
    fn what_no_token_can_spell_is_unknown() {
        let tokenizer = trained();
        assert_eq!(tokenizer.encode("猫").unwrap(), [0]);
        assert_eq!(config().train(["猫"]).unwrap().encode("猫").unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn decoding_gives_back_any_ascii_text(text in "[ -~\n]{0,80}") {
            let tokenizer = trained();
            let ids = tokenizer.encode(&text).unwrap();
            prop_assert_eq!(tokenizer.decode(&ids, Specials::Keep).unwrap(), text);
        }
    }
}
