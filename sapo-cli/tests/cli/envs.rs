//! `sapo env`.

use std::sync::Arc;

use insta::assert_snapshot;
use sapo_envs::alfworld::{Dataset, World};
use serde_json::{Value, json};

use crate::desk::Desk;

/// A desk with five games in `games.jsonl`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.json("env generate alfworld --out games.jsonl --games 5");
    desk
}

/// The first game's walkthrough as a recording, with `change` made to its states.
fn record(desk: &Desk, change: impl Fn(usize, &mut Value)) {
    let game = Dataset::open(desk.path("games.jsonl")).unwrap().game(0).unwrap();
    let mut world = World::new(Arc::clone(&game));
    let mut states = vec![state(&world, 0, None)];
    for (index, action) in game.walkthrough().iter().enumerate() {
        world.step(action);
        states.push(state(&world, index + 1, Some(action)));
    }
    states.iter_mut().enumerate().for_each(|(step, state)| change(step, state));
    let lines: String = states.iter().map(|state| format!("{state}\n")).collect();
    desk.write("recording.jsonl", lines);
}

fn state(world: &World, step: usize, action: Option<&String>) -> Value {
    json!({
        "game": world.game().name(),
        "policy": "walkthrough",
        "step": step,
        "action": action,
        "observation": world.observation(),
        "admissible": world.admissible().collect::<Vec<_>>(),
        "score": world.score(),
        "won": world.won(),
        "done": world.won(),
    })
}

#[test]
fn a_faithful_recording_replays() {
    let desk = desk();
    record(&desk, |_, _| {});
    let line = "env replay alfworld --data games.jsonl --transcripts recording.jsonl";
    assert_snapshot!(desk.sapo(line), @"FILL");
    assert_eq!(desk.json(line)["mismatches"], 0);
}

#[test]
fn each_mismatch_is_a_line_and_fails_the_command() {
    let desk = desk();
    record(&desk, |step, state| {
        if step == 1 {
            state["observation"] = "You arrive\nelsewhere.".into();
            state["score"] = 1.into();
        }
    });
    let line = "env replay alfworld --data games.jsonl --transcripts recording.jsonl --format json";
    assert_snapshot!(desk.sapo(line), @"FILL");
}

#[test]
fn a_file_that_is_no_recording_is_named_with_its_line() {
    let desk = desk();
    desk.write("notes.txt", "\nhello\n");
    let line = "env replay alfworld --data games.jsonl --transcripts notes.txt";
    assert_snapshot!(desk.sapo(line), @"FILL");
    let line = "env replay alfworld --data games.jsonl --transcripts nowhere.jsonl";
    assert_snapshot!(desk.sapo(line), @"FILL");
}

#[test]
fn foreign_games_and_missing_folders_are_refused() {
    let desk = Desk::new();
    desk.write("foreign/train/task/trial/game.tw-pddl", "{}");
    desk.write("empty/readme.txt", "");
    assert_snapshot!(desk.sapo("env info alfworld --data foreign"), @"FILL");
    assert_snapshot!(desk.sapo("env info alfworld --data empty"), @"FILL");
    assert_snapshot!(desk.sapo("env info alfworld --data nowhere"), @"FILL");
}

#[test]
fn a_mistyped_world_names_the_nearest() {
    let desk = Desk::new();
    assert_snapshot!(desk.sapo("env info alfwrld"), @"FILL");
    assert_snapshot!(desk.sapo("env replay alfwrold"), @"FILL");
}

#[test]
fn info_tells_version_and_content() {
    let desk = desk();
    assert_snapshot!(desk.sapo("env info alfworld --data games.jsonl"), @"FILL");
    assert_snapshot!(desk.sapo("env info corridor"), @"FILL");
    assert_snapshot!(desk.sapo("env info corridor --data games.jsonl"), @"FILL");
}

#[test]
fn equal_seeds_give_equal_games() {
    let desk = desk();
    let hash = |name: &str, seed: u64| {
        let out = format!("env generate alfworld --out {name} --games 2 --seed {seed}");
        desk.json(&out);
        desk.json(&format!("env info alfworld --data {name}"))["data_hash"].clone()
    };
    assert_eq!(hash("a.jsonl", 1), hash("b.jsonl", 1));
    assert_ne!(hash("c.jsonl", 2), hash("d.jsonl", 3));
}

#[test]
fn a_check_plays_the_world_and_its_walkthroughs() {
    let desk = desk();
    let line = "env check alfworld --data games.jsonl --walkthroughs --tasks 2";
    assert_snapshot!(desk.sapo(line), @"FILL");
    let report = desk.json("env check alfworld");
    assert_eq!(report["ok"], true);
    assert!(report["data_hash"].is_string() && report["version"].is_string());
}

#[test]
fn a_lost_walkthrough_fails_the_check() {
    let desk = desk();
    let pack = std::fs::read_to_string(desk.path("games.jsonl")).unwrap();
    let mut game: Value = serde_json::from_str(pack.lines().next().unwrap()).unwrap();
    game["walkthrough"] = json!(["look", "open sesame"]);
    desk.write("lost.jsonl", game.to_string());
    let line = "env check alfworld --data lost.jsonl --walkthroughs --tasks 1";
    assert_snapshot!(desk.sapo(line), @"FILL");
}

#[test]
fn a_benchmark_measures_steps_resets_and_loads() {
    let desk = desk();
    let speed = desk.json("env bench alfworld --data games.jsonl --steps 200");
    for key in ["steps_per_second", "reset_ms", "load_ms"] {
        assert!(speed[key].as_f64().is_some_and(|number| number > 0.0), "{speed}");
    }
}

#[test]
fn generated_games_overwrite_nothing() {
    let desk = desk();
    assert_snapshot!(desk.sapo("env generate alfworld --out games.jsonl"), @"FILL");
    assert_snapshot!(desk.sapo("env generate alfworld --out folder"), @"FILL");
    let line = "env generate alfworld --out folder --games 1 --template games.jsonl";
    assert_snapshot!(desk.sapo(line), @"FILL");
}
