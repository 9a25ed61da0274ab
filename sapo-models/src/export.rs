//! Weights into safetensors files, under Hugging Face names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use burn::module::{ModuleVisitor, Param};
use burn::prelude::*;
use half::bf16;
use safetensors::{Dtype, View, serialize_to_file};
use serde_json::{Map, json};

use crate::decoder::Decoder;
use crate::error::ModelError;
use crate::source::transpose;
use crate::weights::{INDEX_FILE, SINGLE_FILE};

/// How numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredType {
    /// 32 bits: loading gives the same bits back.
    #[default]
    F32,
    /// 16 bits, rounded to the nearest.
    Bf16,
}

impl StoredType {
    /// The name as `config.json` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoredType::F32 => "float32",
            StoredType::Bf16 => "bfloat16",
        }
    }

    fn bytes(self) -> usize {
        match self {
            StoredType::F32 => 4,
            StoredType::Bf16 => 2,
        }
    }
}

/// A decoder's parameters as host data, by their Hugging Face names and in Hugging Face's layout.
///
/// # Errors
/// If the device cannot hand over a tensor.
pub fn named_parameters(decoder: &Decoder) -> Result<Vec<NamedParameter>, ModelError> {
    let mut collector = Collector { path: Vec::new(), found: Vec::new() };
    decoder.visit(&mut collector);
    collector.found.into_iter().collect()
}

/// A parameter as host data.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedParameter {
    /// Its name in a checkpoint.
    pub name: String,
    /// Its shape as stored: projections are `[output, input]`.
    pub shape: Vec<usize>,
    /// Its values, row by row.
    pub values: Vec<f32>,
}

struct Collector {
    /// Field names from the root, each with the kind of module it is a field of.
    path: Vec<(String, String)>,
    found: Vec<Result<NamedParameter, ModelError>>,
}

impl Collector {
    fn name(&self) -> String {
        let names: Vec<&str> = self.path.iter().map(|(name, _)| name.as_str()).collect();
        names.join(".")
    }

    fn is_projection(&self) -> bool {
        self.path.last().is_some_and(|(name, kind)| name == "weight" && kind == "Struct:Projection")
    }
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.push((name.to_owned(), container_type.to_owned()));
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.name();
        let parameter = host_values(&name, param.val()).map(|values| {
            let mut shape = param.dims().to_vec();
            match self.is_projection() {
                true => {
                    let values = transpose(&values, [shape[0], shape[1]]);
                    shape.reverse();
                    NamedParameter { name, shape, values }
                }
                false => NamedParameter { name, shape, values },
            }
        });
        self.found.push(parameter);
    }
}

fn host_values<const D: usize>(name: &str, tensor: Tensor<D>) -> Result<Vec<f32>, ModelError> {
    let failed = |problem: String| ModelError::Device { tensor: name.to_owned(), problem };
    let values = tensor.try_to_data().map_err(|error| failed(error.to_string()))?;
    Ok(values.iter::<f32>().collect())
}

/// Writes a decoder's weights into `dir`, in files of at most `shard_bytes` each.
///
/// Every file is written beside its place and renamed into it when it is whole; older weights files
/// that the new ones do not replace are removed at the end.
pub(crate) fn write_weights(
    dir: &Path,
    decoder: &Decoder,
    stored: StoredType,
    shard_bytes: usize,
) -> Result<(), ModelError> {
    let parameters = named_parameters(decoder)?;
    let size = |parameter: &NamedParameter| parameter.values.len() * stored.bytes();
    let total: usize = parameters.iter().map(size).sum();
    let shards = split(parameters, shard_bytes, size);
    let names = shard_names(shards.len());
    let mut weight_map = Map::new();
    let mut whole = Vec::with_capacity(names.len());
    for (shard, name) in shards.into_iter().zip(&names) {
        weight_map.extend(shard.iter().map(|parameter| (parameter.name.clone(), json!(name))));
        whole.push((write_aside(&dir.join(name), shard, stored)?, dir.join(name)));
    }
    for (aside, path) in &whole {
        std::fs::rename(aside, path).map_err(ModelError::io(path))?;
    }
    match names.len() {
        1 => (),
        _ => {
            let parameters = total / stored.bytes();
            let metadata = json!({"total_size": total, "total_parameters": parameters});
            let index = json!({"metadata": metadata, "weight_map": weight_map});
            write_json(&dir.join(INDEX_FILE), &index)?;
        }
    }
    remove_others(dir, &names)
}

/// Parameters in their order, cut where a shard would grow too large.
fn split(
    parameters: Vec<NamedParameter>,
    shard_bytes: usize,
    size: impl Fn(&NamedParameter) -> usize,
) -> Vec<Vec<NamedParameter>> {
    let mut shards = vec![Vec::new()];
    let mut filled = 0;
    for parameter in parameters {
        let bytes = size(&parameter);
        if filled > 0 && filled + bytes > shard_bytes {
            shards.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        if let Some(shard) = shards.last_mut() {
            shard.push(parameter);
        }
    }
    shards
}

fn shard_names(count: usize) -> Vec<String> {
    match count {
        1 => vec![SINGLE_FILE.to_owned()],
        _ => (1..=count).map(|i| format!("model-{i:05}-of-{count:05}.safetensors")).collect(),
    }
}

/// Writes one file under a passing name, which is returned.
fn write_aside(
    path: &Path,
    parameters: Vec<NamedParameter>,
    stored: StoredType,
) -> Result<PathBuf, ModelError> {
    let aside = aside(path);
    // Made once in the ordinary way, to learn which permissions a new file gets here: the library
    // makes its files private.
    let usual =
        File::create(&aside).and_then(|file| file.metadata()).map_err(ModelError::io(&aside))?;
    let tensors = parameters.into_iter().map(|parameter| {
        let NamedParameter { name, shape, values } = parameter;
        (name, Encoded { shape, values, stored })
    });
    let format = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    serialize_to_file(tensors, Some(format), &aside).map_err(|error| ModelError::Io {
        path: aside.clone(),
        source: std::io::Error::other(error.to_string()),
    })?;
    std::fs::set_permissions(&aside, usual.permissions()).map_err(ModelError::io(&aside))?;
    File::open(&aside).and_then(|file| file.sync_all()).map_err(ModelError::io(&aside))?;
    Ok(aside)
}

/// A tensor that becomes bytes when it is written, so that no second copy of a model is in memory.
struct Encoded {
    shape: Vec<usize>,
    values: Vec<f32>,
    stored: StoredType,
}

impl View for Encoded {
    fn dtype(&self) -> Dtype {
        match self.stored {
            StoredType::F32 => Dtype::F32,
            StoredType::Bf16 => Dtype::BF16,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        for &value in &self.values {
            match self.stored {
                StoredType::F32 => bytes.extend_from_slice(&value.to_le_bytes()),
                StoredType::Bf16 => bytes.extend_from_slice(&bf16::from_f32(value).to_le_bytes()),
            }
        }
        bytes.into()
    }

    fn data_len(&self) -> usize {
        self.values.len() * self.stored.bytes()
    }
}

/// Removes weights files of an older save that this one has not replaced.
fn remove_others(dir: &Path, names: &[String]) -> Result<(), ModelError> {
    for entry in std::fs::read_dir(dir).map_err(ModelError::io(dir))? {
        let entry = entry.map_err(ModelError::io(dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_shard = name.starts_with("model-") && name.ends_with(".safetensors");
        let is_weights =
            is_shard || name == SINGLE_FILE || (name == INDEX_FILE && names.len() == 1);
        if is_weights && !names.contains(&name) {
            std::fs::remove_file(entry.path()).map_err(ModelError::io(&entry.path()))?;
        }
    }
    Ok(())
}

/// Writes a JSON file whole or not at all.
pub(crate) fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), ModelError> {
    let aside = aside(path);
    let text = format!("{value:#}\n");
    std::fs::write(&aside, text).map_err(ModelError::io(&aside))?;
    File::open(&aside).and_then(|file| file.sync_all()).map_err(ModelError::io(&aside))?;
    std::fs::rename(&aside, path).map_err(ModelError::io(path))
}

fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}
