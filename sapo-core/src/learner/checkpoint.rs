//! The learner on disk: a model and the state of its optimizer, in Burn's own format.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::store::ModuleRecord;
use burn::tensor::Bytes;

use super::{Learner, Optimizer};
use crate::error::Error;
use crate::model::CausalLm;

const MODEL_FILE: &str = "model.bpk";
const OPTIMIZER_FILE: &str = "optimizer.bpk";

impl<M: CausalLm + Module> Learner<M> {
    /// Writes model and optimizer into `folder`, which must exist.
    ///
    /// [`rate_scale`](Self::rate_scale) is not among them: keep it beside.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), Error> {
        let (model, optimizer) = files(folder);
        self.masters().clone().save_file(&model).map_err(|error| failed(&model, error))?;
        self.optimizer.0.save(&optimizer).map_err(|error| failed(&optimizer, error))
    }

    /// Reads what [`save`](Self::save) wrote; the next step is the one that would have followed.
    ///
    /// # Errors
    /// If a file cannot be read, or does not fit the model.
    pub fn load(mut self, folder: &Path) -> Result<Self, Error> {
        let (model, optimizer) = files(folder);
        let masters = ModuleRecord::from_bytes(read(&model)?)
            .and_then(|record| self.masters().clone().try_load_record(record))
            .map_err(|error| failed(&model, error))?;
        self.set_masters(masters);
        let state = self.optimizer.0.from_bytes(read(&optimizer)?);
        self.optimizer = Optimizer(state.map_err(|error| failed(&optimizer, error))?);
        Ok(self)
    }
}

/// The whole file. Burn's own loading leaves tensors in the file until they are used, and panics if by
/// then the file was removed or written anew.
fn read(path: &Path) -> Result<Bytes, Error> {
    let bytes = std::fs::read(path).map_err(|error| failed(path, error))?;
    Ok(Bytes::from_bytes_vec(bytes))
}

fn files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join(MODEL_FILE), folder.join(OPTIMIZER_FILE))
}

fn failed(path: &Path, error: impl Display) -> Error {
    Error::Checkpoint { path: path.to_owned(), message: error.to_string() }
}
