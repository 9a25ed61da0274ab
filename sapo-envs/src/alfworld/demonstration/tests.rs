use std::sync::Arc;

use rand::SeedableRng;

use super::*;
use crate::alfworld::generator::{GeneratorConfig, Split, pack_lines};
use crate::alfworld::{AlfWorld, Game};

fn games(count: u64) -> Vec<Arc<Game>> {
    let lines = pack_lines(&GeneratorConfig::small(11), Split::Train, count).expect("games");
    lines.iter().map(|line| Arc::new(line.to_game().expect("a game"))).collect()
}

fn played(config: &DemonstrationConfig, count: u64) -> Vec<Demonstration> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut world = AlfWorld::new();
    let demonstrate = |game| demonstrate(&mut world, game, config, &mut rng).expect("a game");
    games(count).iter().map(demonstrate).collect()
}

fn undisturbed() -> DemonstrationConfig {
    DemonstrationConfig { disturbance: 0.0, ..DemonstrationConfig::default() }
}

#[test]
fn without_disturbance_every_turn_is_worth_imitating() {
    let all = played(&undisturbed(), 30);
    assert!(all.iter().all(|demonstration| demonstration.won));
    assert!(all.iter().flat_map(|demonstration| &demonstration.turns).all(|turn| turn.imitate));
}

#[test]
fn the_share_of_disturbed_turns_is_the_one_asked_for() {
    let all = played(&DemonstrationConfig { disturbance: 0.3, ..undisturbed() }, 100);
    let turns: Vec<&DemonstrationTurn> = all.iter().flat_map(|played| &played.turns).collect();
    let disturbed = turns.iter().filter(|turn| !turn.imitate).count() as f64;
    let share = disturbed / turns.len() as f64;
    assert!((0.25..0.35).contains(&share), "{share}");
}

#[test]
fn a_wrong_action_is_refused_by_the_world() {
    let config = DemonstrationConfig { disturbance: 0.3, wrong: 1.0, ..undisturbed() };
    for played in played(&config, 50) {
        let next = played.turns.iter().skip(1).map(|turn| &turn.observation);
        let next = next.chain([&played.last]);
        for (turn, answer) in played.turns.iter().zip(next) {
            assert!(turn.imitate || answer.text == "Nothing happens.", "{}", turn.action);
        }
    }
}

#[test]
fn the_expert_recovers_from_frequent_disturbance() {
    let all = played(&DemonstrationConfig { disturbance: 0.3, ..undisturbed() }, 100);
    let won = all.iter().filter(|played| played.won).count();
    assert!(won >= 98, "{won} of 100");
}

#[test]
fn the_same_randomness_gives_the_same_demonstrations() {
    let config = DemonstrationConfig::default();
    assert_eq!(played(&config, 10), played(&config, 10));
}

#[test]
fn no_turns_are_played_where_none_is_allowed() {
    let config = DemonstrationConfig { max_turns: 0, ..undisturbed() };
    let all = played(&config, 2);
    assert!(all.iter().all(|played| played.turns.is_empty() && !played.won));
}
