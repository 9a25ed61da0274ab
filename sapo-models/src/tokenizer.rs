//! Text to token ids and back, by a model's own `tokenizer.json`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// The name of the file in a model folder.
pub(crate) const TOKENIZER_FILE: &str = "tokenizer.json";

/// Whether [`Tokenizer::decode`] writes special tokens out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// As the text that stands for them.
    Keep,
    /// Not at all.
    Skip,
}

/// What can be wrong with a tokenizer, or with what it is given.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file cannot be read.
    #[error("{path}: {source}; a model folder needs its tokenizer.json beside its config.json")]
    Read {
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what the `tokenizers` library understands.
    #[error("{origin} is no tokenizer: {message}; fetch the file again")]
    Invalid {
        /// Where the text came from.
        origin: String,
        /// What the library said.
        message: String,
    },
    /// The tokenizer failed on a text or on ids.
    #[error("the tokenizer failed on {input}: {message}")]
    Failed {
        /// The beginning of the input.
        input: String,
        /// What the library said.
        message: String,
    },
    /// A token that the tokenizer does not have.
    #[error("the tokenizer has no token {token:?}; name one that its tokenizer.json lists")]
    UnknownToken {
        /// The token in question.
        token: String,
    },
}

/// A tokenizer, with the very bytes it was made from.
///
/// The bytes are kept because the library renumbers added tokens whose ids leave gaps: a file written
/// from its state would not be the file that was read. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    library: Arc<tokenizers::Tokenizer>,
    json: Arc<[u8]>,
    highest_id: u32,
}

impl Tokenizer {
    /// Reads `tokenizer.json` in `folder`.
    ///
    /// # Errors
    /// If the file cannot be read, or as [`from_json`](Self::from_json).
    pub fn from_folder(folder: &Path) -> Result<Self, TokenizerError> {
        let path = folder.join(TOKENIZER_FILE);
        match fs::read(&path) {
            Ok(json) => Self::from_json(json, &path.display().to_string()),
            Err(source) => Err(TokenizerError::Read { path, source }),
        }
    }

    /// Reads a tokenizer from the content of a `tokenizer.json`; `origin` names it in errors.
    ///
    /// # Errors
    /// If the content is no tokenizer, or if its vocabulary is empty.
    pub fn from_json(json: Vec<u8>, origin: &str) -> Result<Self, TokenizerError> {
        let invalid = |message: String| TokenizerError::Invalid { origin: origin.into(), message };
        let library =
            tokenizers::Tokenizer::from_bytes(&json).map_err(|error| invalid(error.to_string()))?;
        let written: WrittenIds =
            serde_json::from_slice(&json).map_err(|error| invalid(error.to_string()))?;
        let produced = library.get_vocab(true).into_values();
        let highest_id = produced.chain(written.ids()).max();
        let highest_id = highest_id.ok_or_else(|| invalid("its vocabulary is empty".into()))?;
        Ok(Tokenizer { library: library.into(), json: json.into(), highest_id })
    }

    /// The content of the `tokenizer.json` that this was read from, byte for byte.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// Writes that content into `folder`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TokenizerError> {
        let path = folder.join(TOKENIZER_FILE);
        fs::write(&path, &self.json).map_err(|source| TokenizerError::Write { path, source })
    }

    /// The ids of `text`. Special tokens written out in it are recognised, and none is added.
    ///
    /// # Errors
    /// If the tokenizer fails on the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        match self.library.encode_fast(text, false) {
            Ok(encoding) => Ok(encoding.get_ids().to_vec()),
            Err(error) => Err(failed(format!("{:?}", beginning(text)), &*error)),
        }
    }

    /// The text of `ids`. Ids without a token, such as value tokens, leave nothing.
    ///
    /// # Errors
    /// If the tokenizer fails on the ids.
    pub fn decode(&self, ids: &[u32], specials: Specials) -> Result<String, TokenizerError> {
        let decoded = self.library.decode(ids, specials == Specials::Skip);
        decoded.map_err(|error| failed(format!("ids {:?}", &ids[..ids.len().min(16)]), &*error))
    }

    /// The id of the token that is written `token`.
    ///
    /// # Errors
    /// If there is no such token.
    pub fn id(&self, token: &str) -> Result<u32, TokenizerError> {
        let id = self.library.token_to_id(token);
        id.ok_or_else(|| TokenizerError::UnknownToken { token: token.into() })
    }

    /// How the token `id` is written, if there is one.
    pub fn token(&self, id: u32) -> Option<String> {
        self.library.id_to_token(id)
    }

    /// The ids of the special tokens, ascending: those that [`Specials::Skip`] leaves out.
    pub fn special_ids(&self) -> BTreeSet<u32> {
        let added = self.library.get_added_tokens_decoder();
        added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect()
    }

    /// The highest id that a text can give, or that the file names: rows of the logits above it are
    /// spare.
    pub fn highest_id(&self) -> u32 {
        self.highest_id
    }
}

/// The ids of added tokens as the file has them, before the library renumbers any.
#[derive(serde::Deserialize)]
struct WrittenIds {
    #[serde(default)]
    added_tokens: Vec<WrittenId>,
}

#[derive(serde::Deserialize)]
struct WrittenId {
    id: u32,
}

impl WrittenIds {
    fn ids(&self) -> impl Iterator<Item = u32> {
        self.added_tokens.iter().map(|token| token.id)
    }
}

fn failed(input: String, error: &(dyn std::error::Error + Send + Sync)) -> TokenizerError {
    TokenizerError::Failed { input, message: error.to_string() }
}

fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{self, Family};

    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        qwen25: Vec<u32>,
        qwen3: Vec<u32>,
    }

    fn composed(text: &str) -> String {
        text.replace("e\u{301}", "é").replace('\u{212b}', "Å").replace("A\u{30a}", "Å")
    }

    #[test]
    fn ids_equal_those_of_the_python_library() {
        let Some(cases) = test_data::json::<Vec<Case>>("tokenizer/cases.json") else { return };
        for (family, wanted) in [
            (Family::Qwen25, (|case| &case.qwen25) as fn(&Case) -> &Vec<u32>),
            (Family::Qwen3, |case| &case.qwen3),
        ] {
            let Some(tokenizer) = test_data::tokenizer(family) else { return };
            for case in &cases {
                assert_eq!(&tokenizer.encode(&case.text).unwrap(), wanted(case), "{:?}", case.text);
                // Both tokenizers compose accents before they encode.
                let text = tokenizer.decode(wanted(case), Specials::Keep).unwrap();
                assert_eq!(text, composed(&case.text));
            }
        }
    }

    #[test]
    fn the_highest_ids_leave_the_spare_rows_of_the_logits_free() {
        for (family, highest) in [(Family::Qwen25, 151_664), (Family::Qwen3, 151_668)] {
            let Some(tokenizer) = test_data::tokenizer(family) else { return };
            assert_eq!(tokenizer.highest_id(), highest);
            assert_eq!(tokenizer.decode(&[highest + 1, 9707], Specials::Keep).unwrap(), "Hello");
        }
    }

    #[test]
    fn special_tokens_are_skipped_on_request_and_thoughts_are_not_special() {
        let Some(tokenizer) = test_data::tokenizer(Family::Qwen3) else { return };
        let ids = tokenizer.encode("<think>no</think>look<|im_end|>").unwrap();
        assert_eq!(tokenizer.decode(&ids, Specials::Skip).unwrap(), "<think>no</think>look");
        assert!(tokenizer.special_ids().contains(&151_645));
        assert!(!tokenizer.special_ids().contains(&151_667));
    }

    #[test]
    fn added_tokens_with_gaps_are_saved_as_they_were_read_and_count_as_used() {
        let json = br#"{"version": "1.0", "added_tokens":
            [{"id": 7, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false,
              "normalized": false, "special": true}],
            "model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}}"#;
        let tokenizer = Tokenizer::from_json(json.to_vec(), "a test").unwrap();
        let folder = tempfile::tempdir().unwrap();
        tokenizer.save(folder.path()).unwrap();
        let again = Tokenizer::from_folder(folder.path()).unwrap();
        assert_eq!(again.json(), json);
        assert_eq!(again.highest_id(), 7);
    }

    #[test]
    fn a_missing_or_broken_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TOKENIZER_FILE);
        let missing = Tokenizer::from_folder(folder.path()).unwrap_err().to_string();
        assert!(missing.contains(&path.display().to_string()), "{missing}");
        fs::write(&path, "{}").unwrap();
        let broken = Tokenizer::from_folder(folder.path()).unwrap_err().to_string();
        assert!(broken.contains(&path.display().to_string()), "{broken}");
    }
}
