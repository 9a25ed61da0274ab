//! Real tokenizers and templates for tests, where they are at hand: in `models` under `SAPO_DATA`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::chat::{ChatTemplate, TEMPLATE_FILE, TemplateTokens};
use crate::tokenizer::Tokenizer;

/// A model family whose tokenizer and template the tests know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Family {
    #[serde(rename = "qwen2.5")]
    Qwen25,
    #[serde(rename = "qwen3")]
    Qwen3,
}

impl Family {
    fn file(self, name: &str) -> Option<PathBuf> {
        let folder = match self {
            Family::Qwen25 => "qwen2.5",
            Family::Qwen3 => "qwen3",
        };
        found(&format!("tokenizer/{folder}/{name}"))
    }
}

/// The path of a file under `models`, or a word on stderr that a test is skipped.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let data = env::var_os("SAPO_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let path = data.join("models").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there; SAPO_DATA names the folder of test data", path.display());
    None
}

/// A JSON file under `models`.
pub(crate) fn json<T: DeserializeOwned>(name: &str) -> Option<T> {
    Some(serde_json::from_slice(&fs::read(found(name)?).unwrap()).unwrap())
}

/// The real tokenizer of a family, read once a test run.
pub(crate) fn tokenizer(family: Family) -> Option<Tokenizer> {
    static QWEN25: OnceLock<Option<Tokenizer>> = OnceLock::new();
    static QWEN3: OnceLock<Option<Tokenizer>> = OnceLock::new();
    let cell = match family {
        Family::Qwen25 => &QWEN25,
        Family::Qwen3 => &QWEN3,
    };
    cell.get_or_init(|| {
        let packed = fs::File::open(family.file("tokenizer.json.xz")?).unwrap();
        let mut json = Vec::new();
        lzma_rs::xz_decompress(&mut io::BufReader::new(packed), &mut json).unwrap();
        Some(Tokenizer::from_json(json, "a test's tokenizer").unwrap())
    })
    .clone()
}

/// The real chat template of a family.
pub(crate) fn template(family: Family) -> Option<ChatTemplate> {
    let source = fs::read_to_string(family.file(TEMPLATE_FILE)?).unwrap();
    Some(ChatTemplate::new(&source, TemplateTokens::default(), Default::default()).unwrap())
}
