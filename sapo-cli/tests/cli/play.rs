//! `sapo play`.

use insta::assert_snapshot;
use sapo_envs::alfworld::Dataset;

use crate::desk::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.json("env generate alfworld --out games.jsonl --games 3");
    desk
}

#[test]
fn actions_their_numbers_and_wishes_can_be_piped_in() {
    let input = b"?\nhint\n1\nxyzzy\n999\n\n\xff\xfe\nquit\nlook\n";
    let said = desk().sapo_with("play alfworld --data games.jsonl --game 0", input);
    assert_snapshot!(said, @r#"
    exit 0
    -- stdout
    -= Welcome to TextWorld, ALFRED! =-

    You are in the middle of a room. Looking quickly around you, you see a countertop 1, a fridge 1, a microwave 1, and a sinkbasin 1.

    Your task is to: put a clean egg in fridge.
      1  go to countertop 1
      2  go to fridge 1
      3  go to microwave 1
      4  go to sinkbasin 1
      5  help
      6  inventory
      7  look
    go to sinkbasin 1
    You arrive at countertop 1. On the countertop 1, you see a bowl 2, a bread 1, a fork 1, a saltshaker 1, a soapbottle 1, and a winebottle 1.
    Nothing happens.
    Nothing happens.
    left after 3 steps
    -- stderr
    Type an action. `?` lists the actions with numbers, which can be typed too; `hint` tells the expert's move; `quit` ends.
    there is no action 999; `?` lists 1 to 13
    "#);
}

#[test]
fn a_walkthrough_solves_its_game() {
    let desk = desk();
    let dataset = Dataset::open(desk.path("games.jsonl")).unwrap();
    let game = dataset.game(1).unwrap();
    let input: String = game.walkthrough().iter().map(|action| format!("{action}\n")).collect();
    let said = desk.sapo_with(
        &format!("play alfworld --data games.jsonl --game {} --format json", game.name()),
        format!("{input}look\n"),
    );
    let last = said.lines().find(|line| line.starts_with('{')).unwrap();
    let outcome: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(outcome["success"], true);
    assert_eq!(outcome["steps"], game.walkthrough().len());
    assert_eq!(outcome["game"], game.name());
}

#[test]
fn the_hints_solve_a_generated_game() {
    // Each turn plays the hint of the turn before, which is asked for in a game of its own.
    let desk = Desk::new();
    let mut input = String::new();
    for _ in 0..50 {
        let said = desk.sapo_with("play alfworld --game 0", format!("{input}hint\n"));
        if said.contains("solved in") {
            return;
        }
        let lines: Vec<&str> = said.lines().collect();
        let end = lines.iter().position(|line| line.starts_with("left after")).unwrap();
        input += &format!("{}\n", lines[end - 1]);
    }
    panic!("not solved by:\n{input}");
}

#[test]
fn the_end_of_the_input_ends_the_game() {
    let said = desk().sapo_with("play alfworld --data games.jsonl --game 2 --format json", "look");
    let last = said.lines().find(|line| line.starts_with('{')).unwrap();
    assert!(
        said.starts_with("exit 0") && last.contains(r#""steps":1,"success":false,"done":false"#)
    );
}

#[test]
fn unknown_games_and_splits_are_refused() {
    let desk = desk();
    assert_snapshot!(desk.sapo("play alfworld --data games.jsonl --game kitchen"), @r#"
    exit 1
    -- stderr
    error: no game "kitchen" in games.jsonl; names look like "train/pick_clean_then_place_in_recep-Egg-None-Fridge-13/trial_G000001"
    "#);
    assert_snapshot!(desk.sapo("play alfworld --data games.jsonl --game 3"), @r#"
    exit 1
    -- stderr
    error: there is no game 3; the games are numbered from 0 to 2
    "#);
    assert_snapshot!(desk.sapo("play alfworld --split test"), @r#"
    exit 1
    -- stderr
    error: no split "test"; known are train, valid_seen, valid_unseen
    "#);
}
