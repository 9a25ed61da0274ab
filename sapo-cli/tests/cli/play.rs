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
    assert_snapshot!(said, @"FILL");
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
    assert_snapshot!(desk.sapo("play alfworld --data games.jsonl --game kitchen"), @"FILL");
    assert_snapshot!(desk.sapo("play alfworld --data games.jsonl --game 3"), @"FILL");
    assert_snapshot!(desk.sapo("play alfworld --split test"), @"FILL");
}
