//! ALFWorld as the papers show it to a model, and as small models play it.
//!
//! The wording of the prompts, the reading of replies and the reward are those of GiGPO (Feng et al.,
//! arXiv 2505.10978, appendix) as published with it in `langfengQ/verl-agent`, files
//! `agent_system/environments/prompts/alfworld.py`, `.../env_package/alfworld/projection.py` and
//! `agent_system/memory/memory.py`. They are kept to the letter, slips of the pen included, because
//! results are compared under the same prompts.

use std::sync::Arc;

use super::rules::TASK_MARK;
use super::{AlfWorld, AlfWorldConfig, Game};
use crate::prompt::{
    ActionList, Conversation, History, Play, PlayConfig, Projection, PromptForm, Wording,
};

/// The reward of a solved task in the papers.
pub const PAPERS_REWARD: f32 = 10.0;
/// How many past turns the papers' prompts retell.
pub const PAPERS_HISTORY_TURNS: usize = 2;
/// How much of a reply without tags the papers take for an action, in characters.
pub const PAPERS_TAIL_CHARS: usize = 30;

const FIRST: &str = "
You are an expert agent operating in the ALFRED Embodied Environment.
Your current observation is: {current_observation}
Your admissible actions of the current situation are: [{admissible_actions}].

Now it's your turn to take an action.
You should first reason step-by-step about the current situation. This reasoning process MUST be \
enclosed within <think> </think> tags.\x20
Once you've finished your reasoning, you should choose an admissible action for current step and present \
it within <action> </action> tags.
";

const LATER: &str = "
You are an expert agent operating in the ALFRED Embodied Environment. Your task is to: {task_description}
Prior to this step, you have already taken {step_count} step(s). Below are the most recent \
{history_length} observaitons and the corresponding actions you took: {action_history}
You are now at step {current_step} and your current observation is: {current_observation}
Your admissible actions of the current situation are: [{admissible_actions}].

Now it's your turn to take an action.
You should first reason step-by-step about the current situation. This reasoning process MUST be \
enclosed within <think> </think> tags.\x20
Once you've finished your reasoning, you should choose an admissible action for current step and present \
it within <action> </action> tags.
";

/// The task in the first observation; the whole text where it names none.
pub fn task_sentence(introduction: &str) -> &str {
    let sentence = introduction.split_once(TASK_MARK).map(|(_, sentence)| sentence.trim());
    sentence.unwrap_or(introduction)
}

/// The papers' prompts: each turn a chat of its own with the last two turns and the admissible actions.
pub fn papers_history() -> History {
    History {
        first: Wording::built_in(FIRST),
        later: Wording::built_in(LATER),
        turns: PAPERS_HISTORY_TURNS,
        actions: ActionList {
            before: "'".into(),
            after: "'".into(),
            separator: "\n ".into(),
            hidden: vec!["help".into()],
        },
    }
}

/// Play as in the papers: their prompts, their reading of replies, reward 10.
pub fn papers_play() -> PlayConfig {
    let projection = Projection::Tagged { tail_chars: PAPERS_TAIL_CHARS };
    let config = PlayConfig::new(PromptForm::History(papers_history()), projection);
    PlayConfig { task: task_sentence, reward_scale: PAPERS_REWARD, ..config }
}

/// Play for small models: one growing chat of bare observations, whole replies as actions, reward 1.
pub fn plain_play() -> PlayConfig {
    let form = PromptForm::Conversation(Conversation::default());
    PlayConfig { task: task_sentence, ..PlayConfig::new(form, Projection::Plain) }
}

/// A game to be played as a dialogue, labelled with its name and its kind of task.
pub fn play(game: Arc<Game>, world: AlfWorldConfig, config: PlayConfig) -> Play<AlfWorld> {
    let name = game.name().to_owned();
    let kind = game.kind().map_or("", |kind| kind.name());
    Play::new(world.init(), game, name, kind, config)
}

#[cfg(test)]
mod tests {
    use sapo_core::env::{Observation, Prompt};

    use super::*;
    use crate::prompt::{PastTurn, Scene};

    const INTRODUCTION: &str = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. \
        Looking quickly around you, you see a fridge 1, and a shelf 1.\n\nYour task is to: put a clean \
        kettle in shelf.";

    fn content(past: &[PastTurn], now: &Observation) -> String {
        let scene = Scene { task: task_sentence(INTRODUCTION), past, now };
        match papers_history().prompt(scene) {
            Prompt::Fresh(messages) if messages.len() == 1 => messages[0].content.clone(),
            other => panic!("one user message, not {other:?}"),
        }
    }

    fn past(observation: &str, action: &str) -> PastTurn {
        PastTurn { observation: observation.into(), action: action.into() }
    }

    #[test]
    fn the_task_is_what_follows_the_mark() {
        assert_eq!(task_sentence(INTRODUCTION), "put a clean kettle in shelf.");
        assert_eq!(task_sentence("nothing"), "nothing");
    }

    // Both prompts are the published templates filled in by hand.

    #[test]
    fn the_first_prompt_is_the_published_one() {
        let now = Observation {
            text: INTRODUCTION.into(),
            admissible: ["go to fridge 1", "go to shelf 1", "help", "inventory", "look"]
                .map(String::from)
                .to_vec(),
        };
        let wanted = [
            "",
            "You are an expert agent operating in the ALFRED Embodied Environment.",
            "Your current observation is: -= Welcome to TextWorld, ALFRED! =-",
            "",
            "You are in the middle of a room. Looking quickly around you, you see a fridge 1, and a shelf 1.",
            "",
            "Your task is to: put a clean kettle in shelf.",
            "Your admissible actions of the current situation are: ['go to fridge 1'",
            " 'go to shelf 1'",
            " 'inventory'",
            " 'look'].",
            "",
            "Now it's your turn to take an action.",
            "You should first reason step-by-step about the current situation. This reasoning process MUST be enclosed within <think> </think> tags. ",
            "Once you've finished your reasoning, you should choose an admissible action for current step and present it within <action> </action> tags.",
            "",
        ];
        assert_eq!(content(&[], &now), wanted.join("\n"));
    }

    #[test]
    fn later_prompts_retell_two_turns() {
        let now = Observation {
            text: "You arrive at shelf 1. On the shelf 1, you see nothing.".into(),
            admissible: vec!["help".into(), "look".into()],
        };
        let turns = [
            past(INTRODUCTION, "look"),
            past("Nothing happens.", "go to fridge 1"),
            past("You arrive at fridge 1. The fridge 1 is closed.", "go to shelf 1"),
        ];
        let wanted = [
            "",
            "You are an expert agent operating in the ALFRED Embodied Environment. Your task is to: put a clean kettle in shelf.",
            "Prior to this step, you have already taken 3 step(s). Below are the most recent 2 observaitons and the corresponding actions you took: [Observation 2: 'Nothing happens.', Action 2: 'go to fridge 1']",
            "[Observation 3: 'You arrive at fridge 1. The fridge 1 is closed.', Action 3: 'go to shelf 1']",
            "You are now at step 4 and your current observation is: You arrive at shelf 1. On the shelf 1, you see nothing.",
            "Your admissible actions of the current situation are: ['look'].",
            "",
            "Now it's your turn to take an action.",
            "You should first reason step-by-step about the current situation. This reasoning process MUST be enclosed within <think> </think> tags. ",
            "Once you've finished your reasoning, you should choose an admissible action for current step and present it within <action> </action> tags.",
            "",
        ];
        assert_eq!(content(&turns, &now), wanted.join("\n"));
    }

    #[test]
    fn the_papers_play_reads_tags_and_scales_the_reward() {
        let config = papers_play();
        assert_eq!(config.reward_scale, 10.0);
        assert_eq!(config.projection, Projection::Tagged { tail_chars: 30 });
        assert_eq!(config.max_invalid_streak, None);
    }
}
