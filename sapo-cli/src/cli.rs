//! The command line: every command, with the arguments of training and evaluation.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

use crate::commands::{completions, env, generate, inspect, plan, play};
use crate::config::EnvName;
use crate::output::Format;

/// Trains language-model agents by reinforcement learning.
///
/// A first run, without any file: `sapo train --out runs/first`. Then `sapo inspect runs/first` shows
/// what it reached, and `sapo eval --model runs/first/model` plays the held-out tasks again.
#[derive(Debug, Parser)]
#[command(name = "sapo", version, arg_required_else_help = true, infer_long_args = false)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Text for people, or for programs: the last line of stdout is one JSON object.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// The commands; their arguments say what they are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Train(TrainArgs),
    Eval(EvalArgs),
    Env(env::EnvArgs),
    Play(play::PlayArgs),
    Generate(generate::GenerateArgs),
    Inspect(inspect::InspectArgs),
    Plan(plan::PlanArgs),
    Completions(completions::CompletionsArgs),
}

/// Trains an agent and writes a run folder: its configuration, metrics, checkpoints and model.
///
/// Settings come from the defaults, then the file, then the flags. A run that was interrupted
/// (Ctrl-C, --stop-after) goes on with --resume.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// The run's configuration; the defaults train the small model that comes with the program
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) config: Option<PathBuf>,
    /// One setting over the file's, as in `--set optimizer.epochs=2`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Setting>,
    /// Where to compute, as in `flex`: on the processor
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// The method, as in `sapo`
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<String>,
    /// The run folder to write; it must hold no run yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// End cleanly after so many iterations, as an interruption would
    #[arg(long, value_name = "N")]
    pub(crate) stop_after: Option<usize>,
    /// Go on with the run in this folder, to the end that its configuration names
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["config", "set", "device", "algorithm", "out"])]
    pub(crate) resume: Option<PathBuf>,
}

/// Plays a model on the tasks of a world and counts how many it solves.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The model folder, such as a run's `model`
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// A run's configuration for all that is not said here
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The world
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) env: Option<EnvName>,
    /// A folder with games, or a pack of them; without it, generated games are played
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The part of the data, as in `valid_seen`
    #[arg(long, value_name = "SPLIT")]
    pub(crate) split: Option<String>,
    /// How many episodes to play, or `all`: each task once, or 256 generated ones
    #[arg(long, value_name = "N|all")]
    pub(crate) episodes: Option<Episodes>,
    /// Seeds the sampling
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The sampling temperature; 0 always takes the likeliest token
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    #[arg(value_parser = crate::cli::temperature)]
    pub(crate) temperature: Option<f32>,
}

/// A setting that overrides the configuration's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The key with its sections, as in `optimizer.epochs`.
    pub(crate) key: String,
    /// The value as it was written.
    pub(crate) value: String,
    /// The words of the command line that set it.
    pub(crate) said: String,
}

impl Setting {
    /// A setting with a flag of its own, as in `--device flex`.
    pub(crate) fn of_flag(key: &str, value: String) -> Self {
        Setting { key: key.to_owned(), said: format!("--{key} {value}"), value }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if !key.is_empty() => Ok(Setting {
                key: key.to_owned(),
                value: value.to_owned(),
                said: format!("--set {key}={value}"),
            }),
            _ => Err("write key=value, as in optimizer.epochs=2".to_owned()),
        }
    }
}

/// How many episodes an evaluation plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Episodes {
    /// Each task once.
    All,
    /// So many.
    Count(usize),
}

impl FromStr for Episodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "all" => Ok(Episodes::All),
            Ok(count) if count > 0 => Ok(Episodes::Count(count)),
            _ => Err("write a number from 1, or `all`".to_owned()),
        }
    }
}

/// Reads a sampling temperature.
pub(crate) fn temperature(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "write a number from 0, such as 0.7".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_setting_keeps_all_after_its_first_equals_sign() {
        let setting: Setting = "env.name = \"a=b\"".parse().unwrap();
        assert_eq!((setting.key.as_str(), setting.value.as_str()), ("env.name", "\"a=b\""));
        assert!("=1".parse::<Setting>().is_err() && "seed".parse::<Setting>().is_err());
    }

    #[test]
    fn episodes_are_a_number_or_all() {
        assert_eq!("all".parse(), Ok(Episodes::All));
        assert_eq!("3".parse(), Ok(Episodes::Count(3)));
        assert!("0".parse::<Episodes>().is_err() && "some".parse::<Episodes>().is_err());
    }
}
