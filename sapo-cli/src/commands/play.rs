//! `sapo play`: a person plays in the terminal.

mod session;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sapo_envs::alfworld::Dataset;
use sapo_envs::alfworld::generator::GeneratorConfig;

use self::session::{Outcome, Session};
use super::games::{Games, index_of};
use crate::output::{Format, print_result, talk};

/// How many games a split are generated where there is no data.
const GENERATED: u64 = 12;

const RULES: &str = "Type an action. `?` lists the actions with numbers, which can be typed too; \
    `hint` tells the expert's move; `quit` ends.";

/// Plays a world's task yourself, in the terminal.
#[derive(Debug, Args)]
pub(crate) struct PlayArgs {
    #[command(subcommand)]
    world: PlayWorld,
}

#[derive(Debug, Subcommand)]
enum PlayWorld {
    /// Household tasks as text games
    Alfworld(AlfworldArgs),
}

#[derive(Debug, Args)]
struct AlfworldArgs {
    /// A folder above game.tw-pddl files, or a pack; without it, generated games
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The game, by name or by number from 0; without it, any
    #[arg(long, value_name = "NAME|INDEX")]
    game: Option<String>,
    /// The part of the data to choose from, as in `valid_seen`
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Seeds the choice, and generated games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Runs the command.
pub(crate) fn run(args: PlayArgs, format: Format) -> Result<()> {
    let PlayWorld::Alfworld(args) = args.world;
    let games = Games::open(args.data.as_deref(), &GeneratorConfig::small(args.seed), GENERATED)?;
    let game = games.dataset.game(choose(&games.dataset, &args)?)?;
    talk(RULES);
    let session = Session::start(game, io::stdin().is_terminal())?;
    let outcome = session.play(&mut io::stdin().lock())?;
    print_result(format, &outcome, Outcome::describe)
}

fn choose(dataset: &Dataset, args: &AlfworldArgs) -> Result<usize> {
    let pool = match &args.split {
        Some(split) => dataset.split(split)?,
        None => (0..dataset.len()).collect(),
    };
    match &args.game {
        None => Ok(pool[ChaCha8Rng::seed_from_u64(args.seed).random_range(0..pool.len())]),
        Some(text) => match (text.parse::<usize>(), index_of(dataset, text)) {
            (Ok(number), _) => pool.get(number).copied().with_context(|| {
                format!("there is no game {number}; the games are numbered from 0 to {}", pool.len() - 1)
            }),
            (Err(_), Some(index)) => Ok(index),
            // The dataset's own error tells what names look like.
            (Err(_), None) => Err(dataset.game_named(text).err().map_or_else(
                || anyhow::anyhow!("no game {text:?}"),
                anyhow::Error::from,
            )),
        },
    }
}
