//! What weights files say about themselves, without their numbers being read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const SINGLE_FILE: &str = "model.safetensors";
const INDEX_FILE: &str = "model.safetensors.index.json";

/// The format's own limit for a header, in bytes.
const LONGEST_HEADER: u64 = 100_000_000;

/// All weights files of a folder together.
#[derive(Debug, Default)]
pub(super) struct WeightFiles {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) parameters: u64,
    /// The types of the numbers, as safetensors names them.
    pub(super) types: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
}

/// Reads the headers of a folder's weights.
pub(super) fn read_headers(folder: &Path) -> Result<WeightFiles> {
    let mut total = WeightFiles::default();
    for path in weight_files(folder)? {
        let context = || format!("{}: not a safetensors file", path.display());
        let tensors = header(&path).with_context(context)?;
        total.files += 1;
        total.bytes += fs::metadata(&path).with_context(context)?.len();
        for tensor in tensors {
            total.parameters +=
                tensor.shape.iter().fold(1, |size: u64, &dim| size.saturating_mul(dim));
            total.types.insert(tensor.dtype);
        }
    }
    Ok(total)
}

/// The single file, or else those that the index names; none if neither is there.
fn weight_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let (single, index) = (folder.join(SINGLE_FILE), folder.join(INDEX_FILE));
    if single.exists() {
        return Ok(vec![single]);
    }
    if !index.exists() {
        return Ok(Vec::new());
    }
    let context = || format!("{}: not an index of weights", index.display());
    let text = fs::read_to_string(&index).with_context(context)?;
    let Index { weight_map } = serde_json::from_str(&text).with_context(context)?;
    let names: BTreeSet<String> = weight_map.into_values().collect();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Eight bytes of length, then JSON: tensors by name, and `__metadata__`.
fn header(path: &Path) -> Result<Vec<Tensor>> {
    let mut file = File::open(path)?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    ensure!(length <= LONGEST_HEADER, "its header would be {length} bytes long");
    let mut json = Vec::new();
    file.take(length).read_to_end(&mut json)?;
    let entries: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&json)?;
    let tensors = entries.into_iter().filter(|(name, _)| name != "__metadata__");
    tensors.map(|(_, entry)| Ok(serde_json::from_value(entry)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(header: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        fs::write(folder.path().join(SINGLE_FILE), bytes).unwrap();
        folder
    }

    #[test]
    fn parameters_are_counted_from_the_shapes() {
        let folder = folder_with(
            r#"{"__metadata__": {"format": "pt"},
                "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                "b": {"dtype": "BF16", "shape": [5], "data_offsets": [24, 34]}}"#,
        );
        let found = read_headers(folder.path()).unwrap();
        assert_eq!((found.files, found.parameters), (1, 11));
        assert_eq!(found.types.into_iter().collect::<Vec<_>>(), ["BF16", "F32"]);
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_headers(folder.path()).unwrap().files, 0);
        for bytes in
            [&b""[..], b"short", b"not a header at all", &[255; 40], &[3, 0, 0, 0, 0, 0, 0, 0, 1]]
        {
            fs::write(folder.path().join(SINGLE_FILE), bytes).unwrap();
            let error = read_headers(folder.path()).unwrap_err();
            assert!(format!("{error}").ends_with("not a safetensors file"), "{error}");
        }
    }
}
