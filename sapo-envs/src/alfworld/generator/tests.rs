use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::alfworld::demonstration::{Demonstration, DemonstrationConfig, demonstrate};
use crate::alfworld::{AlfWorldConfig, TaskKind};

fn games(config: &GeneratorConfig, split: Split, count: u64) -> Vec<PackLine> {
    pack_lines(config, split, count).expect("games can be generated")
}

fn play(game: &PackLine, config: &DemonstrationConfig, seed: u64) -> Demonstration {
    let game = Arc::new(game.to_game().expect("a game"));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut world = AlfWorldConfig { step_limit: config.max_turns }.init();
    demonstrate(&mut world, &game, config, &mut rng).expect("a task the expert knows")
}

fn kind(game: &PackLine) -> TaskKind {
    TaskKind::from_path(&game.name).expect("the name tells the type")
}

/// The room's number, from `…-Desk-301/trial_…`.
fn room(game: &PackLine) -> u32 {
    let folder = game.name.split('/').nth(1).expect("split/task/trial");
    folder.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a room's number")
}

fn count(game: &PackLine, sort: &str) -> usize {
    game.problem.lines().filter(|line| line.ends_with(&format!(" - {sort}"))).count()
}

#[test]
fn the_same_seed_and_index_give_the_same_game() {
    let config = GeneratorConfig::small(7);
    let [first, again] = [0; 2].map(|_| generate(&config, Split::Train, 3).expect("a game"));
    assert_eq!(first, again);
    assert_eq!(games(&config, Split::Train, 4)[3], first, "an index stands for itself");
    let other = generate(&GeneratorConfig::small(8), Split::Train, 3).expect("a game");
    assert_ne!(first.problem, other.problem);
}

#[test]
fn all_six_types_are_generated_and_won_by_their_walkthroughs() {
    for config in [GeneratorConfig::small(1), GeneratorConfig::real(1)] {
        let games = games(&config, Split::Train, 120);
        let kinds: BTreeSet<TaskKind> = games.iter().map(kind).collect();
        assert_eq!(kinds.len(), 6);
        for game in games {
            let mut world = World::new(Arc::new(game.to_game().expect("a game")));
            assert!(!world.won(), "{}", game.name);
            for command in &game.walkthrough {
                assert!(world.admissible().any(|known| known == command), "{command}");
                world.step(command);
            }
            assert!(world.won(), "{}", game.name);
        }
    }
}

#[test]
fn the_expert_wins_nearly_all_games_of_both_presets() {
    for config in [GeneratorConfig::small(2), GeneratorConfig::real(2)] {
        let games = games(&config, Split::Train, 150);
        let won = |game: &&PackLine| {
            play(
                game,
                &DemonstrationConfig { disturbance: 0.0, ..DemonstrationConfig::default() },
                0,
            )
            .won
        };
        let wins = games.iter().filter(won).count();
        assert!(wins * 100 >= games.len() * 95, "{wins} of {}", games.len());
    }
}

#[test]
fn unseen_games_are_played_in_rooms_that_training_does_not_have() {
    let config = GeneratorConfig::small(3);
    let rooms = |split| -> BTreeSet<u32> { games(&config, split, 80).iter().map(room).collect() };
    assert!(rooms(Split::Train).is_disjoint(&rooms(Split::ValidUnseen)));
    assert!(!rooms(Split::Train).is_disjoint(&rooms(Split::ValidSeen)));
}

#[test]
fn the_rooms_receptacles_stay_while_its_objects_change() {
    let games = games(&GeneratorConfig::small(4), Split::Train, 200);
    let receptacles = |game: &PackLine| -> Vec<String> {
        let lines = game.problem.lines().filter(|line| line.ends_with(" - receptacle"));
        lines.map(str::to_owned).collect()
    };
    let pairs = games.iter().flat_map(|a| games.iter().map(move |b| (a, b)));
    let same_room = pairs.filter(|(a, b)| room(a) == room(b) && a.name != b.name);
    let mut seen = 0;
    for (a, b) in same_room {
        assert_eq!(receptacles(a), receptacles(b));
        assert_ne!(a.problem, b.problem);
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn presets_keep_to_their_sizes() {
    for game in games(&GeneratorConfig::small(5), Split::Train, 60) {
        assert!((3..=6).contains(&count(&game, "receptacle")), "{}", game.name);
        // Needed objects and a lamp may come on top of the count.
        assert!((4..=9).contains(&count(&game, "object")), "{}", game.name);
    }
    let real = games(&GeneratorConfig::real(5), Split::Train, 300);
    let mean = real.iter().map(|game| count(game, "receptacle")).sum::<usize>() as f64 / 300.0;
    assert!((20.0..27.0).contains(&mean), "real games have 23.5 receptacles, these {mean}");
}

#[test]
fn impossible_configurations_are_refused_with_advice() {
    let base = GeneratorConfig::small(0);
    let message = |config: GeneratorConfig| {
        generate(&config, Split::Train, 0).expect_err("impossible").to_string()
    };
    let no_tasks = GeneratorConfig { tasks: Vec::new(), ..base.clone() };
    assert!(message(no_tasks).contains("tasks must be at least one type"));
    let no_layouts = GeneratorConfig { layouts: 0, ..base.clone() };
    assert!(message(no_layouts).contains("layouts must be a number from 1 to 80"));
    let heat_in_bed = GeneratorConfig {
        rooms: vec![RoomKind::Bedroom],
        tasks: vec![(TaskKind::PickHeatThenPlaceInRecep, 1)],
        ..base
    };
    assert!(message(heat_in_bed).contains("no solvable game for train number 0"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_seed_gives_games_that_the_engine_reads_and_the_expert_can_demonstrate(
        seed in any::<u64>(), index in 0u64..1_000_000, disturbance in 0.0..0.4f64
    ) {
        let config = GeneratorConfig::small(seed);
        for split in Split::ALL {
            let game = generate(&config, split, index).expect("a game");
            prop_assert!(game.name.starts_with(split.name()));
            prop_assert!(game.walkthrough.len() <= config.max_walkthrough);
            let played = play(&game, &DemonstrationConfig {
                disturbance, max_turns: 200, ..DemonstrationConfig::default()
            }, seed);
            prop_assert!(played.won, "{}: {:#?}", game.name, played);
        }
    }
}
