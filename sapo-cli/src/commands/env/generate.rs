//! `sapo env generate`: new games, each solved before it is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use sapo_envs::alfworld::generator::{GeneratorConfig, Split, generate, write_tw_pddl};
use sapo_envs::alfworld::{PackLine, TaskKind, write_pack};
use serde::Serialize;

use crate::output::{Format, print_result, progress_bar};

/// Generates tasks of a world.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    world: GenerateWorld,
}

#[derive(Debug, Subcommand)]
enum GenerateWorld {
    /// Household tasks as text games, each solved before it is written
    Alfworld(AlfworldArgs),
}

#[derive(Debug, Args)]
struct AlfworldArgs {
    /// A pack to write (.jsonl or .jsonl.zst); with --template, a folder for game.tw-pddl files
    #[arg(long, value_name = "FILE|DIR")]
    out: PathBuf,
    /// How many games
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: u64,
    /// Seen games are played in rooms of the training games, unseen ones in rooms of their own
    #[arg(long, value_enum, value_name = "SPLIT", default_value_t = SplitName::Train)]
    split: SplitName,
    /// Equal seeds give equal games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How large rooms are, and which tasks are frequent
    #[arg(long, value_enum, value_name = "PRESET", default_value_t = Preset::Small)]
    preset: Preset,
    /// A game file of the release, whose texts make game.tw-pddl files that other programs play
    #[arg(long, value_name = "game.tw-pddl")]
    template: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum SplitName {
    Train,
    ValidSeen,
    ValidUnseen,
}

impl From<SplitName> for Split {
    fn from(name: SplitName) -> Split {
        match name {
            SplitName::Train => Split::Train,
            SplitName::ValidSeen => Split::ValidSeen,
            SplitName::ValidUnseen => Split::ValidUnseen,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    /// 3 to 6 receptacles, few objects, all kinds of tasks alike
    Small,
    /// As the real games are
    Real,
}

#[derive(Serialize)]
struct Summary {
    out: PathBuf,
    games: u64,
    split: &'static str,
    seed: u64,
    kinds: BTreeMap<&'static str, usize>,
}

/// Runs the command.
pub(crate) fn run(args: GenerateArgs, format: Format) -> Result<()> {
    let GenerateWorld::Alfworld(args) = args.world;
    check_target(&args)?;
    let lines = draw(&args)?;
    write(&lines, &args)?;
    let AlfworldArgs { out, games, split, seed, .. } = args;
    let kinds = kinds(&lines);
    let summary = Summary { out, games, split: Split::from(split).name(), seed, kinds };
    print_result(format, &summary, describe)
}

/// Before minutes are spent on games that could not be written.
fn check_target(args: &AlfworldArgs) -> Result<()> {
    let out = &args.out;
    let shown = out.display();
    ensure!(args.games > 0, "--games is 0; ask for at least one");
    match (&args.template, is_pack(out)) {
        (Some(_), true) => {
            bail!("{shown} names a pack, but --template writes a folder of game files")
        }
        (None, false) => bail!(
            "{shown} names no pack; end it in .jsonl or .jsonl.zst, or give a --template for game files"
        ),
        (None, true) => {
            ensure!(!out.exists(), "{shown} is there already; remove it or name another");
        }
        (Some(_), false) => {}
    }
    Ok(())
}

fn is_pack(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    name.is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
}

fn draw(args: &AlfworldArgs) -> Result<Vec<PackLine>> {
    let config = match args.preset {
        Preset::Small => GeneratorConfig::small(args.seed),
        Preset::Real => GeneratorConfig::real(args.seed),
    };
    let bar = progress_bar(args.games, "generating");
    let mut lines = Vec::new();
    for index in 0..args.games {
        lines.push(generate(&config, args.split.into(), index)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(lines)
}

fn write(lines: &[PackLine], args: &AlfworldArgs) -> Result<()> {
    let Some(template) = &args.template else { return Ok(write_pack(&args.out, lines)?) };
    for line in lines {
        write_tw_pddl(line, template, &args.out)?;
    }
    Ok(())
}

fn kinds(lines: &[PackLine]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let kind = TaskKind::from_path(&line.name).map_or("unknown", TaskKind::name);
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

fn describe(summary: &Summary) -> String {
    let Summary { out, games, split, .. } = summary;
    format!("{games} games of split {split} written to {}", out.display())
}
