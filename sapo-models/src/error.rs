//! What can be wrong with a model's folder.

use std::io;
use std::path::{Path, PathBuf};

/// Why a model could not be read, made or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A JSON file is not JSON, or not of the expected form.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file in question.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A key of a configuration is missing, or has a value that this crate does not implement.
    #[error("{}: `{key}` {problem}", path.display())]
    Config {
        /// The file, or `config.json` for a configuration made in memory.
        path: PathBuf,
        /// The key in question.
        key: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// A folder without `model.safetensors` and without an index of shards.
    #[error(
        "{}: no weights: neither model.safetensors nor model.safetensors.index.json is there",
        dir.display()
    )]
    NoWeights {
        /// The folder in question.
        dir: PathBuf,
    },
    /// The index names a shard that is not there.
    #[error("{}: shard {shard} is named by the index but is not there", index.display())]
    MissingShard {
        /// The index.
        index: PathBuf,
        /// The shard's file name.
        shard: String,
    },
    /// A weights file that is cut short or otherwise no safetensors file.
    #[error("{}: not a whole safetensors file: {problem}; fetch or save it again", path.display())]
    Corrupt {
        /// The file in question.
        path: PathBuf,
        /// What the parser said.
        problem: String,
    },
    /// The architecture needs a tensor that the weights do not hold.
    #[error("{}: tensor {tensor} of shape {expected:?} is missing", path.display())]
    MissingTensor {
        /// The weights file or the index.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The shape it should have.
        expected: Vec<usize>,
    },
    /// The weights hold a tensor that the architecture does not know.
    #[error(
        "{}: tensor {tensor} of shape {shape:?} has no place in this architecture; \
         config.json may be another model's", path.display()
    )]
    UnexpectedTensor {
        /// The weights file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A tensor's shape is not what the configuration asks for.
    #[error("{}: tensor {tensor} has shape {found:?}, config.json asks for {expected:?}", path.display())]
    Shape {
        /// The weights file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape that the configuration asks for.
        expected: Vec<usize>,
    },
    /// A tensor is stored as something else than f32, bf16 or f16.
    #[error("{}: tensor {tensor} is stored as {dtype}; f32, bf16 and f16 can be read", path.display())]
    Dtype {
        /// The weights file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// Its type in the file.
        dtype: String,
    },
    /// The device could not hand over a tensor.
    #[error("tensor {tensor} could not be read from the device: {problem}")]
    Device {
        /// The tensor's name.
        tensor: String,
        /// What the device said.
        problem: String,
    },
    /// The reserved value tokens do not fit the vocabulary.
    #[error(transparent)]
    ValueTokens(#[from] sapo_core::error::Error),
}

impl ModelError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> ModelError {
        let path = path.to_owned();
        move |source| ModelError::Io { path, source }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> ModelError {
        let path = path.to_owned();
        move |source| ModelError::Json { path, source }
    }
}
