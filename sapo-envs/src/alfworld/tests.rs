//! The rules that surprise, and what users of the Python stack reported, on a hand-written kitchen.

use std::sync::Arc;

use proptest::prelude::*;
use sapo_core::env::{Environment, Status};

use super::fixture::{COOL_GOAL, LOOK_GOAL, TWO_GOAL, game, line, problem};
use super::{AlfWorld, AlfWorldConfig, Dataset, PackLine, RuleSet, World, write_pack};
use crate::check::check_env;

fn play(rules: RuleSet, goal: &str, commands: &[&str]) -> World {
    let mut world = World::new(game(rules, goal));
    for command in commands {
        assert!(world.admissible().any(|it| it == *command), "{command:?} is not admissible");
        world.step(command);
    }
    world
}

fn offers(world: &World, command: &str) -> bool {
    world.admissible().any(|it| it == command)
}

#[test]
fn the_intro_lists_the_room_but_look_at_the_start_lists_nothing() {
    let mut world = World::new(game(RuleSet::New, LOOK_GOAL));
    let intro = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking \
                 quickly around you, you see a desk 1, a drawer 1, a fridge 1, a microwave 1, a \
                 shelf 1, and a sinkbasin 1.\n\nYour task is to: do something.";
    assert_eq!(world.observation(), intro);
    let nothing = "You are in the middle of a room. Looking quickly around you, you see nothing.";
    assert_eq!(world.step("look"), nothing);
}

#[test]
fn commands_are_sorted_by_code_point() {
    let world = play(RuleSet::New, LOOK_GOAL, &["go to desk 1", "take knife 1 from desk 1"]);
    let listed: Vec<&str> = world.admissible().collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(listed, sorted);
}

#[test]
fn go_to_is_refused_for_a_receptacle_at_the_current_spot() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to desk 1"]);
    assert!(!offers(&world, "go to desk 1") && !offers(&world, "go to drawer 1"));
    assert!(offers(&world, "examine drawer 1") && offers(&world, "open drawer 1"));
    assert_eq!(world.step("go to drawer 1"), "Nothing happens.");
}

#[test]
fn look_at_a_shared_spot_names_all_receptacles() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to drawer 1"]);
    let facing = "You are facing the desk 1, and drawer 1. Next to it, you see nothing.";
    assert_eq!(world.step("look"), facing);
}

#[test]
fn an_object_taken_and_put_elsewhere_at_the_spot_lies_next_to_it() {
    let commands = ["go to desk 1", "take pen 1 from desk 1", "open drawer 1"];
    let mut world = play(RuleSet::New, LOOK_GOAL, &commands);
    // Pen 1 was in both receptacles from the start: it still is in the drawer.
    let drawer = "The drawer 1 is open. In it, you see a desklamp 1, and a pen 1.";
    assert_eq!(world.step("examine drawer 1"), drawer);
    world.step("move pen 1 to drawer 1");
    let look = "You are facing the desk 1, and drawer 1. Next to it, you see a pen 1.";
    assert_eq!(world.step("look"), look);
}

#[test]
fn a_take_is_refused_while_holding() {
    let commands = ["go to desk 1", "take knife 1 from desk 1"];
    let mut world = play(RuleSet::New, LOOK_GOAL, &commands);
    assert_eq!(world.step("take apple 1 from desk 1"), "Nothing happens.");
    assert_eq!(world.step("inventory"), "You are carrying: a knife 1.");
}

#[test]
fn each_rule_set_words_a_put_in_its_own_way() {
    let commands = ["go to desk 1", "take knife 1 from desk 1"];
    let mut world = play(RuleSet::New, LOOK_GOAL, &commands);
    assert_eq!(world.step("put knife 1 in/on desk 1"), "Nothing happens.");
    assert_eq!(world.step("move knife 1 to desk 1"), "You move the knife 1 to the desk 1.");
    let mut world = play(RuleSet::Old, LOOK_GOAL, &commands);
    assert_eq!(world.step("move knife 1 to desk 1"), "Nothing happens.");
    assert_eq!(world.step("put knife 1 in/on desk 1"), "You put the knife 1 in/on the desk 1.");
}

#[test]
fn the_older_rules_name_the_spot_and_have_no_help() {
    let mut world = World::new(game(RuleSet::Old, LOOK_GOAL));
    assert_eq!(world.step("go to fridge 1"), "You arrive at loc 4. The fridge 1 is closed.");
    assert_eq!(world.step("help"), "Nothing happens.");
    let mut world = World::new(game(RuleSet::New, LOOK_GOAL));
    assert_eq!(world.step("go to fridge 1"), "You arrive at fridge 1. The fridge 1 is closed.");
    assert!(world.step("help").starts_with("Available commands:\n  look: "));
}

#[test]
fn the_oldest_rules_open_one_receptacle_at_a_time_and_say_nothing_of_it() {
    let mut world = play(RuleSet::Oldest, LOOK_GOAL, &["go to drawer 1"]);
    assert_eq!(world.step("open drawer 1"), "You open the drawer 1.");
    world.step("go to fridge 1");
    assert!(!offers(&world, "open fridge 1"));
}

#[test]
fn a_near_miss_changes_nothing_but_counts_as_a_step() {
    let mut env = AlfWorldConfig { step_limit: 3 }.init();
    env.reset(&game(RuleSet::New, LOOK_GOAL)).unwrap();
    for near in ["Look", "go to  desk 1", "go to the desk 1"] {
        let step = env.step(near).unwrap();
        assert_eq!(step.observation.text, "Nothing happens.");
        assert_eq!(step.status.is_done(), near == "go to the desk 1");
    }
    let step = env.step(" look\n").unwrap();
    assert_eq!((step.status, step.success), (Status::Truncated, false));
}

#[test]
fn examine_of_an_object_needs_it_in_hand_and_sees_a_vessel_first() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to shelf 1"]);
    assert_eq!(world.step("examine mug 1"), "Nothing happens.");
    for command in ["take mug 1 from shelf 1", "go to microwave 1", "heat mug 1 with microwave 1"] {
        world.step(command);
    }
    // The pen with the lower id has the higher number.
    assert_eq!(world.step("examine mug 1"), "This is a normal mug 1. In it, you see a pen 2.");
}

#[test]
fn an_object_may_be_cool_from_the_start_and_heat_undoes_it() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to shelf 1", "take potato 1 from shelf 1"]);
    assert_eq!(world.step("examine potato 1"), "This is a cold potato 1.");
    world.step("go to microwave 1");
    world.step("heat potato 1 with microwave 1");
    assert_eq!(world.step("examine potato 1"), "This is a hot potato 1.");
}

#[test]
fn use_and_slice_ignore_closed_doors_and_use_always_turns_on() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to desk 1"]);
    assert_eq!(world.step("use desklamp 1"), "You turn on the desklamp 1.");
    assert_eq!(world.step("use desklamp 1"), "You turn on the desklamp 1.");
    world.step("take knife 1 from desk 1");
    assert_eq!(
        world.step("slice apple 1 with knife 1"),
        "You sliced the apple 1 with the knife 1."
    );
    world.step("move knife 1 to desk 1");
    world.step("take apple 1 from desk 1");
    assert_eq!(world.step("examine apple 1"), "This is a sliced apple 1.");
    world.step("go to sinkbasin 1");
    world.step("clean apple 1 with sinkbasin 1");
    assert_eq!(world.step("examine apple 1"), "This is a clean sliced apple 1.");
}

#[test]
fn only_a_sink_cleans() {
    let mut world = play(RuleSet::New, LOOK_GOAL, &["go to desk 1", "take apple 1 from desk 1"]);
    assert!(!world.admissible().any(|command| command.starts_with("clean ")));
    world.step("go to sinkbasin 1");
    assert!(offers(&world, "clean apple 1 with sinkbasin 1"));
}

#[test]
fn nothing_goes_into_a_closed_receptacle() {
    let commands = ["go to desk 1", "take knife 1 from desk 1", "go to fridge 1"];
    let mut world = play(RuleSet::New, LOOK_GOAL, &commands);
    assert!(!offers(&world, "move knife 1 to fridge 1"));
    world.step("open fridge 1");
    assert!(offers(&world, "move knife 1 to fridge 1"));
}

#[test]
fn winning_is_a_state_that_can_pass() {
    let commands = ["go to desk 1", "use desklamp 1", "take pen 1 from desk 1"];
    let mut world = play(RuleSet::New, LOOK_GOAL, &commands);
    assert!(world.won());
    world.step("go to fridge 1");
    assert!(!world.won());
    world.step("go to drawer 1");
    assert!(world.won());
}

#[test]
fn two_objects_must_be_in_one_receptacle() {
    let commands = [
        "go to fridge 1",
        "open fridge 1",
        "take pen 2 from fridge 1",
        "go to shelf 1",
        "move pen 2 to shelf 1",
        "go to desk 1",
        "take pen 1 from desk 1",
        "go to shelf 1",
    ];
    let mut world = play(RuleSet::New, TWO_GOAL, &commands);
    assert!(!world.won());
    world.step("move pen 1 to shelf 1");
    assert!(world.won());
}

#[test]
fn the_episode_ends_at_the_win_which_alone_is_rewarded() {
    let mut env = AlfWorldConfig { step_limit: 6 }.init();
    env.reset(&game(RuleSet::New, COOL_GOAL)).unwrap();
    let commands = [
        "go to desk 1",
        "take apple 1 from desk 1",
        "go to fridge 1",
        "cool apple 1 with fridge 1",
        "go to desk 1",
    ];
    for command in commands {
        let step = env.step(command).unwrap();
        assert_eq!((step.reward, step.score, step.status), (0.0, 0.0, Status::Running));
    }
    // Won at the limit is won.
    let won = env.step("move apple 1 to desk 1").unwrap();
    assert_eq!((won.reward, won.success, won.status), (1.0, true, Status::Terminated));
    assert_eq!(env.step("take apple 1 from desk 1").unwrap(), won);
}

#[test]
fn not_everything_is_reported_successful() {
    let mut env = AlfWorld::new();
    env.reset(&game(RuleSet::New, COOL_GOAL)).unwrap();
    let last = (0..50).map(|_| env.step("look").unwrap()).last().unwrap();
    assert_eq!((last.status, last.success, last.score), (Status::Truncated, false, 0.0));
}

#[test]
fn a_step_before_a_reset_is_an_error() {
    assert!(AlfWorld::new().step("look").is_err());
}

#[test]
fn the_environment_passes_every_check() {
    let rules = RuleSet::ALL.into_iter();
    let goals = [LOOK_GOAL, COOL_GOAL, TWO_GOAL];
    let tasks: Vec<_> = rules.flat_map(|rules| goals.map(|goal| game(rules, goal))).collect();
    for check in check_env(AlfWorld::new, &tasks, 7) {
        assert!(check.passed, "{check:?}");
    }
}

#[test]
fn parallel_games_equal_serial_play() {
    let game = game(RuleSet::New, TWO_GOAL);
    let play = |seed: usize| {
        let mut env = AlfWorld::new();
        let mut observation = env.reset(&game).unwrap();
        let mut texts = Vec::new();
        for turn in 0..40 {
            let choice = (turn * 7 + seed * 13) % observation.admissible.len();
            observation = env.step(&observation.admissible[choice]).unwrap().observation;
            texts.push(observation.clone());
        }
        texts
    };
    let serial: Vec<_> = (0..8).map(play).collect();
    let parallel: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || play(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(serial == parallel);
}

#[test]
fn resets_leave_nothing_behind() {
    let game = game(RuleSet::New, LOOK_GOAL);
    let mut env = AlfWorld::new();
    for _ in 0..1000 {
        env.reset(&game).unwrap();
        env.step("go to desk 1").unwrap();
    }
    // The test, the environment's present world, and nobody else hold the game.
    assert_eq!(Arc::strong_count(&game), 2);
}

#[test]
fn a_pack_is_read_back_plain_and_compressed_and_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = line(RuleSet::Old, COOL_GOAL);
    other.name = "valid/pick_cool_then_place_in_recep-Apple-None-Desk-1/trial_1".to_owned();
    let games = [other, line(RuleSet::New, LOOK_GOAL)];
    for name in ["games.jsonl", "games.jsonl.zst"] {
        let path = folder.path().join(name);
        write_pack(&path, &games).unwrap();
        let before = std::fs::read(&path).unwrap();
        let dataset = Dataset::open(&path).unwrap();
        assert_eq!(dataset.split("valid").unwrap(), [1]);
        assert_eq!(dataset.game(1).unwrap().rules(), RuleSet::Old);
        assert!(Arc::ptr_eq(&dataset.game(0).unwrap(), &dataset.game(0).unwrap()));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn two_games_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.jsonl");
    let game = line(RuleSet::New, LOOK_GOAL);
    write_pack(&path, [&game, &game]).unwrap();
    assert!(Dataset::open(&path).err().unwrap().to_string().contains("two games are named"));
}

#[test]
fn a_fault_in_a_problem_is_named_with_its_place() {
    let mut broken = line(RuleSet::New, LOOK_GOAL);
    broken.problem = broken.problem.replacen("(openable Drawer_bar_1)", "(openable Door)", 1);
    let message = broken.to_game().unwrap_err().to_string();
    assert!(message.contains("trial_1: problem text, line "), "{message}");
    assert!(message.contains("\"door\" is not declared"), "{message}");
}

fn broken(problem: String) -> PackLine {
    PackLine { problem, ..line(RuleSet::New, LOOK_GOAL) }
}

proptest! {
    /// Cut, overwritten or shuffled problems load or fail, and what loads can be played.
    #[test]
    fn no_problem_text_panics(
        goal in prop::sample::select(vec![LOOK_GOAL, COOL_GOAL, TWO_GOAL]),
        cut in 0.0f64..1.0,
        edits in prop::collection::vec((0.0f64..1.0, "[()a-z_ ;?\\n-]{0,8}|é"), 0..6),
        keeps_all in any::<bool>(),
    ) {
        let mut text = problem(goal);
        let at = |text: &str, share: f64| {
            let mut index = (text.len() as f64 * share) as usize;
            while !text.is_char_boundary(index) { index -= 1; }
            index
        };
        if !keeps_all {
            text.truncate(at(&text, cut));
        }
        for (share, insert) in edits {
            let start = at(&text, share);
            let mut end = (start + insert.len()).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, &insert);
        }
        if let Ok(game) = broken(text).to_game() {
            let mut world = World::new(Arc::new(game));
            for turn in 0..30usize {
                let choice = turn * 31 % world.admissible().len();
                let command = world.admissible().nth(choice).unwrap().to_owned();
                world.step(&command);
            }
        }
    }

    /// Words in a fact may be swapped for any other declared or undeclared one.
    #[test]
    fn no_swap_of_words_panics(from in 0usize..400, to in 0usize..400) {
        let text = problem(TWO_GOAL);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut swapped = words.clone();
        swapped[from % words.len()] = words[to % words.len()];
        if let Ok(game) = broken(swapped.join(" ")).to_game() {
            World::new(Arc::new(game)).step("go to desk 1");
        }
    }
}
