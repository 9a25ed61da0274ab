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
    assert_snapshot!(desk.sapo(line), @r#"
    exit 0
    -- stdout
    8 states of 1 episodes replayed, 0 mismatches
    "#);
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
    assert_snapshot!(desk.sapo(line), @r#"
    exit 1
    -- stdout
    {"states":8,"mismatches":2,"episodes":1,"files":1}
    -- stderr
    mismatch: recording.jsonl: train/pick_clean_then_place_in_recep-Egg-None-Fridge-13/trial_G000001: policy walkthrough: step 1: observation: expected "You arrive\nelsewhere.", got "You arrive at fridge 1. The fridge 1 is closed."
    mismatch: recording.jsonl: train/pick_clean_then_place_in_recep-Egg-None-Fridge-13/trial_G000001: policy walkthrough: step 1: score: expected "1", got "0"
    error: the engine differs from the recordings; mismatches: 2 in 8 states
    "#);
}

#[test]
fn a_file_that_is_no_recording_is_named_with_its_line() {
    let desk = desk();
    desk.write("notes.txt", "\nhello\n");
    let line = "env replay alfworld --data games.jsonl --transcripts notes.txt";
    assert_snapshot!(desk.sapo(line), @r#"
    exit 1
    -- stderr
    error: notes.txt, line 2: not a recorded state: expected value at line 1 column 1
    "#);
    let line = "env replay alfworld --data games.jsonl --transcripts nowhere.jsonl";
    assert_snapshot!(desk.sapo(line), @r#"
    exit 1
    -- stderr
    error: no such file or folder: nowhere.jsonl; name a folder with game.tw-pddl files below it or a .jsonl or .jsonl.zst pack
    "#);
}

#[test]
fn foreign_games_and_missing_folders_are_refused() {
    let desk = Desk::new();
    desk.write("foreign/train/task/trial/game.tw-pddl", "{}");
    desk.write("empty/readme.txt", "");
    assert_snapshot!(desk.sapo("env info alfworld --data foreign"), @r#"
    exit 1
    -- stderr
    error: foreign/train/task/trial/game.tw-pddl: not an ALFWorld game: missing field `pddl_domain` at line 1 column 2
    "#);
    assert_snapshot!(desk.sapo("env info alfworld --data empty"), @r#"
    exit 1
    -- stderr
    error: no games in empty; name a folder with game.tw-pddl files below it or a .jsonl or .jsonl.zst pack
    "#);
    assert_snapshot!(desk.sapo("env info alfworld --data nowhere"), @r#"
    exit 1
    -- stderr
    error: no such file or folder: nowhere; name a folder with game.tw-pddl files below it or a .jsonl or .jsonl.zst pack
    "#);
}

#[test]
fn a_mistyped_world_names_the_nearest() {
    let desk = Desk::new();
    assert_snapshot!(desk.sapo("env info alfwrld"), @r#"
    exit 2
    -- stderr
    error: invalid value 'alfwrld' for '<NAME>'
      [possible values: alfworld, corridor, echo]

      tip: a similar value exists: 'alfworld'

    For more information, try '--help'.
    "#);
    assert_snapshot!(desk.sapo("env replay alfwrold"), @r#"
    exit 2
    -- stderr
    error: unrecognized subcommand 'alfwrold'

      tip: a similar subcommand exists: 'alfworld'

    Usage: sapo env replay [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
}

#[test]
fn info_tells_version_and_content() {
    let desk = desk();
    assert_snapshot!(desk.sapo("env info alfworld --data games.jsonl"), @r#"
    exit 0
    -- stdout
    world      alfworld
    version    new@3c1e1d52
    source     games.jsonl
    data hash  [sha256]
    games      5
    rule sets  new 5
    splits     train 5
    kinds      pick_clean_then_place_in_recep 1, pick_cool_then_place_in_recep 1, pick_heat_then_place_in_recep 1, pick_two_obj_and_place 2
    "#);
    assert_snapshot!(desk.sapo("env info corridor"), @r#"
    exit 0
    -- stdout
    world    corridor
    version  0.1.0
    source   built in
    "#);
    assert_snapshot!(desk.sapo("env info corridor --data games.jsonl"), @r#"
    exit 1
    -- stderr
    error: corridor has no data; leave --data out
    "#);
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
    assert_snapshot!(desk.sapo(line), @r#"
    exit 0
    -- stdout
    ok    there are tasks: 2 tasks
    ok    the same actions give the same episode: 100 steps
    ok    a reset starts afresh: 2 tasks on one environment
    ok    interleaved play equals serial play: 2 environments
    ok    odd actions are answered: 14 actions
    ok    a step after the end repeats the last: 2 episodes ended within 200 steps
    ok    rewards are finite and scores between 0 and 1: 2 episodes
    ok    walkthroughs win: 5 of 5 win, 0 games have none
    alfworld (new@3c1e1d52, games.jsonl): ok
    "#);
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
    assert_snapshot!(desk.sapo(line), @r#"
    exit 1
    -- stdout
    ok    there are tasks: 1 tasks
    ok    the same actions give the same episode: 50 steps
    ok    a reset starts afresh: 1 tasks on one environment
    ok    interleaved play equals serial play: 1 environments
    ok    odd actions are answered: 14 actions
    ok    a step after the end repeats the last: 1 episodes ended within 200 steps
    ok    rewards are finite and scores between 0 and 1: 1 episodes
    FAIL  walkthroughs win: 0 of 1 win, 0 games have none
    alfworld (new@3c1e1d52, lost.jsonl): not fit for training
    -- stderr
    lost: train/pick_two_obj_and_place-Pencil-None-GarbageCan-311/trial_G000000: "open sesame" is refused
    error: alfworld fails 1 of 8 checks
    "#);
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
    assert_snapshot!(desk.sapo("env generate alfworld --out games.jsonl"), @r#"
    exit 1
    -- stderr
    error: games.jsonl is there already; remove it or name another
    "#);
    assert_snapshot!(desk.sapo("env generate alfworld --out folder"), @r#"
    exit 1
    -- stderr
    error: folder names no pack; end it in .jsonl or .jsonl.zst, or give a --template for game files
    "#);
    let line = "env generate alfworld --out folder --games 1 --template games.jsonl";
    assert_snapshot!(desk.sapo(line), @r#"
    exit 1
    -- stderr
    error: generator: games.jsonl is no game file to take the domain and grammar from: trailing characters at line 2 column 1; name a game.tw-pddl of a release
    "#);
}
