//! The folder of a run: configuration, metrics, checkpoints, models, episodes to read.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use sapo_core::episode::Episode;
use sapo_core::learner::Learner;
use sapo_models::{ChatCodec, Codec, Decoder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{ConfigSource, RunConfig, load};

const CONFIG: &str = "config.toml";
const STATE: &str = "state.json";
const SUMMARY: &str = "summary.json";
const SHOWN_EPISODES: usize = 4;

/// What a checkpoint holds beside model and optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunState {
    /// Iterations done.
    pub(crate) iteration: usize,
    /// What the scheduled learning rate is multiplied by.
    pub(crate) rate_scale: f64,
    /// Success on held-out tasks before the first iteration, once it is known.
    pub(crate) success_before: Option<f64>,
    /// Training episodes played.
    pub(crate) episodes: usize,
    /// Seconds spent.
    pub(crate) seconds: f64,
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder(PathBuf);

impl RunFolder {
    /// Makes a new folder: `wanted`, or one named by number below `runs/`.
    pub(crate) fn create(wanted: Option<&Path>, config: &RunConfig) -> Result<Self> {
        let path = match wanted {
            Some(path) => path.to_owned(),
            None => free_name(Path::new("runs"))?,
        };
        let taken = || {
            anyhow!(
                "{} is not empty; choose another --out, or go on from the run in it with --resume",
                path.display()
            )
        };
        if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(taken());
        }
        for part in ["", "checkpoints", "episodes"] {
            let part = path.join(part);
            fs::create_dir_all(&part)
                .with_context(|| format!("{}: cannot make the folder", part.display()))?;
        }
        // Of two runs that begin in one folder at once, one makes this file and the other does not.
        let file = path.join(CONFIG);
        let text = toml::to_string(config)?;
        let written = File::create_new(&file).and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => Ok(RunFolder(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken()),
            Err(error) => Err(error).context(format!("{}: cannot write it", file.display())),
        }
    }

    /// Removes the folder of a run that came to nothing.
    pub(crate) fn discard(self) -> Result<()> {
        fs::remove_dir_all(&self.0)
            .with_context(|| format!("{}: cannot remove it", self.0.display()))
    }

    /// Opens the folder of a run to go on with.
    pub(crate) fn open(path: &Path) -> Result<(Self, RunConfig)> {
        let file = path.join(CONFIG);
        if !file.is_file() {
            bail!("{}: no {CONFIG} in it, so it is no run's folder", path.display());
        }
        let config = load(&ConfigSource { file: Some(file), set: Vec::new() })?;
        Ok((RunFolder(path.to_owned()), config))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The model as it was when reinforcement learning began.
    pub(crate) fn start_model(&self) -> PathBuf {
        self.0.join("start")
    }

    /// The newest model.
    pub(crate) fn model(&self) -> PathBuf {
        self.0.join("model")
    }

    /// Writes a checkpoint under another name first: one that was cut short never looks whole.
    pub(crate) fn save_checkpoint(
        &self,
        learner: &Learner<Decoder>,
        state: &RunState,
    ) -> Result<()> {
        let whole = self.checkpoint(state.iteration);
        let part = whole.with_extension("part");
        let context = || format!("{}: cannot write the checkpoint", part.display());
        if part.exists() {
            fs::remove_dir_all(&part).with_context(context)?;
        }
        fs::create_dir_all(&part).with_context(context)?;
        learner.save(&part)?;
        write_whole(&part.join(STATE), &serde_json::to_vec_pretty(state)?)?;
        if whole.exists() {
            fs::remove_dir_all(&whole).with_context(context)?;
        }
        fs::rename(&part, &whole).with_context(context)?;
        self.forget_checkpoints_before(state.iteration)
    }

    /// The newest whole checkpoint.
    pub(crate) fn newest_checkpoint(&self) -> Result<(PathBuf, RunState)> {
        let newest = self.checkpoints()?.into_iter().max().ok_or_else(|| {
            anyhow!(
                "{}: no checkpoint to go on from (the run ended before its first iteration); start anew",
                self.0.display()
            )
        })?;
        let path = self.checkpoint(newest);
        let file = path.join(STATE);
        let text =
            fs::read(&file).with_context(|| format!("{}: cannot read it", file.display()))?;
        let state = serde_json::from_slice(&text)
            .with_context(|| format!("{}: not a run's state", file.display()))?;
        Ok((path, state))
    }

    fn checkpoint(&self, iteration: usize) -> PathBuf {
        self.0.join("checkpoints").join(format!("iteration-{iteration:05}"))
    }

    fn checkpoints(&self) -> Result<Vec<usize>> {
        let folder = self.0.join("checkpoints");
        let entries =
            fs::read_dir(&folder).with_context(|| format!("{}: cannot list", folder.display()))?;
        Ok(entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.strip_prefix("iteration-")?.parse().ok()
            })
            .collect())
    }

    fn forget_checkpoints_before(&self, iteration: usize) -> Result<()> {
        let mut older: Vec<usize> = self.checkpoints()?;
        older.retain(|&other| other < iteration);
        older.sort_unstable();
        older.pop();
        for iteration in older {
            let path = self.checkpoint(iteration);
            fs::remove_dir_all(&path)
                .with_context(|| format!("{}: cannot remove it", path.display()))?;
        }
        Ok(())
    }

    /// Drops metrics of iterations after `iteration`, which will be done again.
    pub(crate) fn rewind_metrics(&self, iteration: usize) -> Result<()> {
        let path = self.metrics();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.with_context(|| format!("{}: cannot read it", path.display()))?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let kept: String = text
            .lines()
            .filter(|line| {
                serde_json::from_str::<Value>(line)
                    .ok()
                    .and_then(|line| line.get("iteration")?.as_u64())
                    .is_some_and(|done| done as usize <= iteration)
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        write_whole(&path, kept.as_bytes())
    }

    /// Appends one iteration's numbers.
    pub(crate) fn append_metrics(&self, metrics: &Value) -> Result<()> {
        let path = self.metrics();
        let context = || format!("{}: cannot append to it", path.display());
        let mut file =
            OpenOptions::new().create(true).append(true).open(&path).with_context(context)?;
        writeln!(file, "{metrics}").with_context(context)
    }

    fn metrics(&self) -> PathBuf {
        self.0.join("metrics.jsonl")
    }

    /// Whether the run has come to its end, final evaluations included.
    pub(crate) fn is_finished(&self) -> bool {
        let summary = fs::read(self.0.join(SUMMARY)).unwrap_or_default();
        let summary: Value = serde_json::from_slice(&summary).unwrap_or_default();
        summary["interrupted"] == Value::Bool(false)
    }

    /// Removes the summary of a run that goes on.
    pub(crate) fn remove_summary(&self) -> Result<()> {
        let path = self.0.join(SUMMARY);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| format!("{}: cannot remove it", path.display())),
        }
    }

    /// Writes the summary of a run that ended.
    pub(crate) fn write_summary(&self, summary: &Value) -> Result<()> {
        write_whole(&self.0.join(SUMMARY), format!("{summary:#}\n").as_bytes())
    }

    /// Writes a few episodes for a person to read.
    pub(crate) fn write_episodes(
        &self,
        iteration: usize,
        episodes: &[Episode],
        codec: &ChatCodec,
    ) -> Result<()> {
        let text: String =
            episodes.iter().take(SHOWN_EPISODES).map(|episode| readable(episode, codec)).collect();
        let name = format!("iteration-{iteration:05}.txt");
        write_whole(&self.0.join("episodes").join(name), text.as_bytes())
    }
}

/// What the model saw and said, turn by turn.
fn readable(episode: &Episode, codec: &ChatCodec) -> String {
    let outcome = if episode.success { "solved" } else { "not solved" };
    let mut text = format!("=== {} ({}): {outcome}\n", episode.task, episode.kind);
    let mut seen = vec![0; episode.streams.len()];
    for (number, turn) in episode.turns.iter().enumerate() {
        let tokens = &episode.streams[turn.stream].tokens;
        let context = codec.decode(&tokens[seen[turn.stream]..turn.response.start]);
        seen[turn.stream] = turn.response.end;
        let validity = if turn.valid { "" } else { " (invalid)" };
        text += &format!(
            "{}\n[{number}] > {}{validity}    V {:+.3}  Q {:+.3}  reward {}\n",
            context.trim_end(),
            turn.reply,
            turn.value,
            turn.action_value,
            turn.reward
        );
    }
    text + "\n"
}

fn free_name(parent: &Path) -> Result<PathBuf> {
    let taken = fs::read_dir(parent).into_iter().flatten().filter_map(|entry| {
        entry.ok()?.file_name().to_str()?.strip_prefix("run-")?.parse::<usize>().ok()
    });
    Ok(parent.join(format!("run-{:03}", taken.max().map_or(1, |last| last + 1))))
}

/// Writes a file under another name and renames it, so that no half of it is ever seen.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension("part");
    let context = || format!("{}: cannot write it", path.display());
    let mut file = File::create(&part).with_context(context)?;
    file.write_all(bytes).with_context(context)?;
    file.sync_all().with_context(context)?;
    fs::rename(&part, path).with_context(context)
}
