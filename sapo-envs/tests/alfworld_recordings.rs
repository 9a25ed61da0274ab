//! The engine against recordings of the Python stack, and against every walkthrough that was shipped.
//!
//! The data is no part of the repository. It is looked for in `SAPO_DATA`, or else in `shared/data` beside
//! the workspace; where it is absent, the tests say so and pass.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapo_core::env::{Environment, Status};
use sapo_envs::alfworld::replay::replay_transcripts;
use sapo_envs::alfworld::{AlfWorld, Dataset, RuleSet, bench_alfworld, win_walkthroughs};
use tempfile::TempDir;

fn recordings() -> Option<PathBuf> {
    let root = std::env::var_os("SAPO_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"));
    let folder = root.join("alfworld");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "skipped: no recordings in {}; set SAPO_DATA to a folder that has them",
        root.display()
    );
    None
}

/// Unpacks an archive of games that was compressed with a long window.
fn unpack(archive: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut decoder = zstd::Decoder::new(File::open(archive).expect("the archive")).expect("zstd");
    decoder.window_log_max(27).expect("a window of 2^27 bytes");
    tar::Archive::new(decoder).unpack(folder.path()).expect("a tar archive");
    folder
}

fn replays_exactly(archive: &str, transcripts: &[&str]) {
    let Some(folder) = recordings() else { return };
    let games = unpack(&folder.join(archive));
    let dataset = Dataset::open(games.path()).unwrap();
    let files: Vec<PathBuf> = transcripts.iter().map(|name| folder.join(name)).collect();
    let report = replay_transcripts(&dataset, &files).unwrap();
    assert!(report.states > 0);
    let shown: Vec<_> = report.mismatches.iter().take(3).collect();
    assert!(shown.is_empty(), "{} mismatches, first {shown:#?}", report.mismatches.len());
    eprintln!("{} states in {} episodes agree", report.states, report.episodes);
}

#[test]
fn games_of_the_older_release_replay_exactly() {
    replays_exactly("old_games.tar.zst", &["transcripts_old_grammar.jsonl.gz"]);
}

#[test]
fn generated_games_replay_exactly() {
    replays_exactly("synth_games.tar.zst", &["transcripts_synth.jsonl.gz"]);
}

#[test]
fn real_games_replay_exactly_and_every_walkthrough_wins() {
    let Some(folder) = recordings() else { return };
    let games = unpack(&folder.join("json_2.1.1.tar.zst"));
    let dataset = Dataset::open(games.path()).unwrap();
    let names = ["train", "valid_a", "targeted"].map(|name| format!("transcripts_{name}.jsonl.gz"));
    let files = names.map(|name| folder.join(name));
    let report = replay_transcripts(&dataset, &files).unwrap();
    let shown: Vec<_> = report.mismatches.iter().take(3).collect();
    assert!(shown.is_empty(), "{} mismatches, first {shown:#?}", report.mismatches.len());

    let report = win_walkthroughs(&dataset).unwrap();
    assert_eq!(report.lost, []);
    assert_eq!((report.played, report.without), (3553 + 140 + 134, 0));

    let sizes =
        ["train", "valid_seen", "valid_unseen"].map(|name| dataset.split(name).unwrap().len());
    assert_eq!(sizes, [3553, 140, 134]);
    let error = dataset.split("valid").unwrap_err().to_string();
    assert!(error.contains("train (3553), valid_seen (140), valid_unseen (134)"), "{error}");
    assert!((0..dataset.len()).all(|index| dataset.kind(index).is_some()));

    eprintln!("{:?}", bench_alfworld(&dataset, 64, 20_000, 1).unwrap());
    same_success_for_any_batch(&dataset);
}

/// Interleaved games equal the same games played one after the other, whatever the batch.
fn same_success_for_any_batch(dataset: &Dataset) {
    let games: Vec<_> = (0..12).map(|index| dataset.game(index * 300).unwrap()).collect();
    let play =
        |batch: usize| -> Vec<bool> { games.chunks(batch).flat_map(play_together).collect() };
    assert_eq!(play(1), vec![true; 12]);
    assert_eq!(play(5), play(1));
    assert_eq!(play(12), play(1));
}

fn play_together(games: &[Arc<sapo_envs::alfworld::Game>]) -> Vec<bool> {
    let mut worlds = vec![AlfWorld::new(); games.len()];
    worlds.iter_mut().zip(games).for_each(|(world, game)| {
        world.reset(game).unwrap();
    });
    let longest = games.iter().map(|game| game.walkthrough().len()).max().unwrap_or(0);
    let mut won = vec![false; games.len()];
    for turn in 0..longest {
        for ((world, game), won) in worlds.iter_mut().zip(games).zip(&mut won) {
            let command = game.walkthrough().get(turn).map_or("look", String::as_str);
            let step = world.step(command).unwrap();
            *won = step.status == Status::Terminated;
        }
    }
    won
}

#[test]
fn the_rule_set_of_a_game_is_recognised() {
    let Some(folder) = recordings() else { return };
    let games = unpack(&folder.join("old_games.tar.zst"));
    let dataset = Dataset::open(games.path()).unwrap();
    let count = |rules: RuleSet| {
        let game = |index| dataset.game(index).unwrap().rules();
        (0..dataset.len()).map(game).filter(|found| *found == rules).count()
    };
    assert_eq!(RuleSet::ALL.map(count), [0, 25, 1]);
}
