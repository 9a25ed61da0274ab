//! `sapo play`: a person plays in the terminal.

mod session;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
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
    let game = games.dataset.game(choose(&games, &args)?)?;
    talk(RULES);
    let session = Session::start(game, io::stdin().is_terminal())?;
    let outcome = session.play(&mut io::stdin().lock())?;
    print_result(format, &outcome, Outcome::describe)
}

/// The index of the game that was asked for.
fn choose(games: &Games, args: &AlfworldArgs) -> Result<usize> {
    let dataset = &games.dataset;
    let pool = pool(games, args.split.as_deref())?;
    let Some(text) = &args.game else {
        return Ok(pool[ChaCha8Rng::seed_from_u64(args.seed).random_range(0..pool.len())]);
    };
    if let Ok(number) = text.parse::<usize>() {
        return pool.get(number).copied().with_context(|| {
            let last = pool.len() - 1;
            format!("there is no game {number}; the games are numbered from 0 to {last}")
        });
    }
    index_of(dataset, text).with_context(|| {
        let example = dataset.names().next().unwrap_or_default();
        format!("no game {text:?} in {}; names look like {example:?}", games.origin())
    })
}

fn pool(games: &Games, split: Option<&str>) -> Result<Vec<usize>> {
    let dataset = &games.dataset;
    let Some(split) = split else { return Ok((0..dataset.len()).collect()) };
    let splits = dataset.splits();
    let known = splits.keys().copied().collect::<Vec<_>>().join(", ");
    ensure!(splits.contains_key(split), "no split {split:?}; known are {known}");
    Ok(dataset.split(split)?)
}
