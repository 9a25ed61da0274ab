//! The learner on disk: a model and the state of its optimizer, in Burn's own format.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use burn::module::Module;

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
        self.model.clone().save_file(&model).map_err(|error| failed(&model, error))?;
        self.optimizer.0.save(&optimizer).map_err(|error| failed(&optimizer, error))
    }

    /// Reads what [`save`](Self::save) wrote; the next step is the one that would have followed.
    ///
    /// # Errors
    /// If a file cannot be read, or does not fit the model.
    pub fn load(self, folder: &Path) -> Result<Self, Error> {
        let (model, optimizer) = files(folder);
        Ok(Learner {
            model: self.model.try_load_file(&model).map_err(|error| failed(&model, error))?,
            optimizer: Optimizer(
                self.optimizer.0.load(&optimizer).map_err(|error| failed(&optimizer, error))?,
            ),
            config: self.config,
        })
    }
}

fn files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join(MODEL_FILE), folder.join(OPTIMIZER_FILE))
}

fn failed(path: &Path, error: impl Display) -> Error {
    Error::Checkpoint { path: path.to_owned(), message: error.to_string() }
}
