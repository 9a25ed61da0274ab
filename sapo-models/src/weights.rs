//! Weights out of safetensors files: one file, or shards under an index.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use crate::error::ModelError;
use crate::source::WeightSource;

/// The file of a model that fits in one.
pub(crate) const SINGLE_FILE: &str = "model.safetensors";
/// The index of a model in shards.
pub(crate) const INDEX_FILE: &str = "model.safetensors.index.json";

/// The tied head, which some exporters store beside the embedding.
const HEAD: &str = "lm_head.weight";
const EMBEDDING: &str = "model.embed_tokens.weight";

/// A model's weights files, mapped into memory.
#[derive(Debug)]
pub(crate) struct Weights {
    /// The file or the index, for messages.
    path: PathBuf,
    shards: Vec<Shard>,
    /// Which shard holds a tensor.
    places: BTreeMap<String, usize>,
    taken: BTreeSet<String>,
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    bytes: Mmap,
    start: usize,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Weights {
    /// Opens the weights of a model's folder. Where both forms are there the single file counts, as in
    /// transformers.
    pub(crate) fn open(dir: &Path) -> Result<Self, ModelError> {
        let (single, index) = (dir.join(SINGLE_FILE), dir.join(INDEX_FILE));
        if single.exists() {
            let shard = Shard::open(&single)?;
            let places = shard.metadata.offset_keys().into_iter().map(|name| (name, 0)).collect();
            return Ok(Weights {
                path: single,
                shards: vec![shard],
                places,
                taken: BTreeSet::new(),
            });
        }
        if index.exists() {
            return Self::open_shards(dir, &index);
        }
        Err(ModelError::NoWeights { dir: dir.to_owned() })
    }

    fn open_shards(dir: &Path, index_path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(index_path).map_err(ModelError::io(index_path))?;
        let index: Index = serde_json::from_str(&text).map_err(ModelError::json(index_path))?;
        let names: BTreeSet<&String> = index.weight_map.values().collect();
        let mut shards = Vec::with_capacity(names.len());
        for name in &names {
            let path = dir.join(name);
            if !path.exists() {
                return Err(ModelError::MissingShard {
                    index: index_path.to_owned(),
                    shard: name.to_string(),
                });
            }
            shards.push(Shard::open(&path)?);
        }
        // A tensor counts where it lies, whether the index names it or not.
        let mut places = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            places.extend(shard.metadata.offset_keys().into_iter().map(|name| (name, number)));
        }
        let path = index_path.to_owned();
        Ok(Weights { path, shards, places, taken: BTreeSet::new() })
    }

    /// Whether every tensor of the files has been used.
    ///
    /// # Errors
    /// Names the first one that was not. A head stored beside the embedding that it is tied to, and old
    /// files' rotary frequencies, are no surprise.
    pub(crate) fn expect_all_taken(&self) -> Result<(), ModelError> {
        let is_no_surprise = |name: &str| {
            self.taken.contains(name)
                || name.ends_with("rotary_emb.inv_freq")
                || (name == HEAD && self.are_equal(HEAD, EMBEDDING))
        };
        let left = self.places.iter().find(|(name, _)| !is_no_surprise(name));
        match left {
            None => Ok(()),
            Some((name, &shard)) => Err(ModelError::UnexpectedTensor {
                path: self.shards[shard].path.clone(),
                tensor: name.clone(),
                shape: self.shards[shard]
                    .metadata
                    .info(name)
                    .map_or(vec![], |info| info.shape.clone()),
            }),
        }
    }

    fn are_equal(&self, one: &str, other: &str) -> bool {
        match (self.find(one), self.find(other)) {
            (Some((shard, info)), Some((other_shard, other))) => {
                info.dtype == other.dtype && shard.bytes_of(info) == other_shard.bytes_of(other)
            }
            _ => false,
        }
    }

    fn find(&self, name: &str) -> Option<(&Shard, &TensorInfo)> {
        let shard = &self.shards[*self.places.get(name)?];
        Some((shard, shard.metadata.info(name)?))
    }
}

impl WeightSource for Weights {
    fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let Some((shard, info)) = self.find(name) else {
            return Err(ModelError::MissingTensor {
                path: self.path.clone(),
                tensor: name.into(),
                expected: shape.to_vec(),
            });
        };
        if info.shape != shape {
            return Err(ModelError::Shape {
                path: shard.path.clone(),
                tensor: name.into(),
                found: info.shape.clone(),
                expected: shape.to_vec(),
            });
        }
        let values = widen(shard.bytes_of(info), info.dtype).ok_or_else(|| ModelError::Dtype {
            path: shard.path.clone(),
            tensor: name.into(),
            dtype: format!("{:?}", info.dtype),
        })?;
        self.taken.insert(name.to_owned());
        Ok(values)
    }
}

impl Shard {
    fn open(path: &Path) -> Result<Self, ModelError> {
        let bytes = map(path)?;
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| {
            ModelError::Corrupt { path: path.to_owned(), problem: error.to_string() }
        })?;
        Ok(Shard { path: path.to_owned(), bytes, start: header + size_of::<u64>(), metadata })
    }

    fn bytes_of(&self, info: &TensorInfo) -> &[u8] {
        let (from, to) = info.data_offsets;
        &self.bytes[self.start + from..self.start + to]
    }
}

fn map(path: &Path) -> Result<Mmap, ModelError> {
    let file = File::open(path).map_err(ModelError::io(path))?;
    // SAFETY: the map is read only. Were the file cut short meanwhile, reading would fault; this crate
    // never writes a weights file in place, it renames whole ones over old ones.
    #[allow(unsafe_code, reason = "a memory map has no safe constructor")]
    let bytes = unsafe { Mmap::map(&file) };
    bytes.map_err(ModelError::io(path))
}

/// Stored numbers as f32, exactly; `None` for a type that is no float of at most 32 bits.
fn widen(bytes: &[u8], dtype: Dtype) -> Option<Vec<f32>> {
    let halves = || bytes.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    match dtype {
        Dtype::F32 => {
            let words = bytes.chunks_exact(4);
            Some(
                words
                    .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                    .collect(),
            )
        }
        Dtype::BF16 => Some(halves().map(|pair| bf16::from_le_bytes(pair).to_f32()).collect()),
        Dtype::F16 => Some(halves().map(|pair| f16::from_le_bytes(pair).to_f32()).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
