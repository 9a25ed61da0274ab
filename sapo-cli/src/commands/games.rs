//! The games that a command works on: the user's, or generated ones where there are none.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sapo_envs::alfworld::generator::{GeneratorConfig, Split, pack_lines};
use sapo_envs::alfworld::{Dataset, GAME_FILE, write_pack};
use sha2::{Digest, Sha256};

/// A dataset, and what identifies its content.
pub(crate) struct Games {
    pub(crate) dataset: Dataset,
    /// Of the pack that generated games were read from.
    generated_hash: Option<String>,
}

impl Games {
    /// Opens a folder or pack; without one, generates `count` games a split.
    pub(crate) fn open(data: Option<&Path>, config: &GeneratorConfig, count: u64) -> Result<Self> {
        match data {
            Some(path) => Ok(Games { dataset: Dataset::open(path)?, generated_hash: None }),
            None => Self::generate(config, count),
        }
    }

    fn generate(config: &GeneratorConfig, count: u64) -> Result<Self> {
        let mut lines = Vec::new();
        for split in Split::ALL {
            lines.extend(pack_lines(config, split, count)?);
        }
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let pack = folder.path().join("generated.jsonl");
        write_pack(&pack, &lines)?;
        let generated_hash = Some(file_hash(&pack)?);
        Ok(Games { dataset: Dataset::open(&pack)?, generated_hash })
    }

    /// Where the games come from, in words.
    pub(crate) fn origin(&self) -> String {
        match self.generated_hash {
            Some(_) => "generated games".to_owned(),
            None => self.dataset.root().display().to_string(),
        }
    }

    /// sha256 of a pack's file; for a folder, sha256 over the lines that `sha256sum` prints for its
    /// game files in the order of their paths below the folder.
    pub(crate) fn data_hash(&self) -> Result<String> {
        let root = self.dataset.root();
        match &self.generated_hash {
            Some(hash) => Ok(hash.clone()),
            None if root.is_dir() => folder_hash(root, self.dataset.names()),
            None => file_hash(root),
        }
    }
}

fn folder_hash<'a>(root: &Path, names: impl Iterator<Item = &'a str>) -> Result<String> {
    let mut hasher = Sha256::new();
    for name in names {
        let line = format!("{}  {name}\n", file_hash(&root.join(name))?);
        hasher.update(line.as_bytes());
    }
    Ok(hex(&hasher.finalize()))
}

fn file_hash(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(&Sha256::digest(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The index of the game that a person names: by its whole name, or by its folder.
pub(crate) fn index_of(dataset: &Dataset, name: &str) -> Option<usize> {
    let name = name.trim_end_matches('/');
    dataset.index_of(name).or_else(|| dataset.index_of(&format!("{name}/{GAME_FILE}")))
}
