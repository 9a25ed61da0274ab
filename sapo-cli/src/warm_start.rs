//! The warm start: imitation of an expert that is disturbed on purpose, so that the model also sees how
//! to go on from a mistake. The disturbances themselves are not imitated.

use anyhow::Result;
use sapo_core::actor::Finish;
use sapo_core::env::{Prompt, Status};
use sapo_core::imitation::{ImitationReport, Lesson};
use sapo_core::learner::Learner;
use sapo_core::schedule::{Decay, Schedule};
use sapo_core::seed;
use sapo_models::{ChatCodec, Codec, CodecError, Decoder};

use crate::agent::Agent;
use crate::config::RunConfig;
use crate::world::{TaskSet, Use};

/// Sets demonstrations apart from other randomness of a run.
const DEMONSTRATIONS: u64 = 1;
/// How many games of each use the words of a small tokenizer are taken from.
const CORPUS_GAMES: usize = 2000;
/// High, so that all that the world answers to mistakes is in the corpus.
const CORPUS_DISTURBANCE: f64 = 0.3;

/// The texts of disturbed play, in games of both uses: the words that a small model needs.
pub(crate) fn corpus(config: &RunConfig) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for usage in [Use::Imitation, Use::Training] {
        let tasks = TaskSet::part(&config.env, usage, config.warm_start.share)?;
        for task in 0..tasks.len().min(CORPUS_GAMES) {
            let played = tasks.demonstration(task, CORPUS_DISTURBANCE, task as u64)?;
            for turn in played.turns {
                texts.push(turn.observation.text);
                texts.push(tasks.phrase(&turn.action));
            }
            texts.push(played.last.text);
        }
    }
    Ok(texts)
}

/// Imitates the expert for the configured number of steps. `observe` sees each step and may end it.
pub(crate) fn imitate(
    config: &RunConfig,
    agent: &Agent,
    learner: &mut Learner<Decoder>,
    mut observe: impl FnMut(usize, ImitationReport) -> bool,
) -> Result<()> {
    let section = &config.warm_start;
    let tasks = TaskSet::training(&config.env, Use::Imitation, section.share)?;
    let schedule = Schedule {
        peak: section.learning_rate,
        warmup_iterations: section.warmup as f64,
        iterations: section.steps as f64,
        decay: Decay::Cosine,
    };
    let softmax = agent.softmax(1.0);
    for step in 0..section.steps {
        let seed = seed::derive(config.seed, &[DEMONSTRATIONS, step as u64]);
        let mut lessons = Vec::new();
        for task in tasks.draw(step, section.batch, config.seed) {
            let seed = seed::derive(seed, &[task as u64]);
            lessons.extend(demonstrate(config, &tasks, task, seed, &agent.codec)?);
        }
        let lessons: Vec<&Lesson> = lessons.iter().collect();
        let report = learner.imitate(&softmax, &lessons, schedule.rate(step as f64 + 1.0));
        if !observe(step, report) {
            break;
        }
    }
    Ok(())
}

/// One demonstration as the streams that the model would see.
fn demonstrate(
    config: &RunConfig,
    tasks: &TaskSet,
    task: usize,
    seed: u64,
    codec: &ChatCodec,
) -> Result<Vec<Lesson>> {
    let section = &config.warm_start;
    let played = tasks.demonstration(task, section.disturbance, seed)?;
    let mut dialogue = tasks.dialogue(task)?;
    let mut prompt = dialogue.open()?;
    let mut lessons: Vec<Lesson> = Vec::new();
    for turn in played.turns {
        let context = context_ids(codec, &prompt).map_err(anyhow::Error::from_boxed)?;
        if matches!(prompt, Prompt::Fresh(_)) {
            lessons.push(Lesson { tokens: Vec::new(), weights: Vec::new() });
        }
        let reply = tasks.phrase(&turn.action);
        let reply_ids = codec.reply_ids(&reply)?;
        if let Some(lesson) = lessons.last_mut() {
            append(lesson, &context, section.observation_weight);
            append(lesson, &reply_ids, if turn.imitate { 1.0 } else { 0.0 });
        }
        let exchange = dialogue.reply(&reply)?;
        if exchange.status != Status::Running {
            break;
        }
        prompt = exchange.next;
    }
    Ok(lessons)
}

fn context_ids(codec: &ChatCodec, prompt: &Prompt) -> Result<Vec<u32>, CodecError> {
    match prompt {
        Prompt::Fresh(messages) => codec.fresh(messages),
        Prompt::Continue(messages) => codec.follow(Finish::Stop, messages),
    }
}

fn append(lesson: &mut Lesson, tokens: &[u32], weight: f32) {
    lesson.tokens.extend_from_slice(tokens);
    lesson.weights.resize(lesson.tokens.len(), weight);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_without_games_leaves_a_corpus_of_the_others() {
        let mut config = RunConfig::default();
        config.env.generated = 2;
        config.warm_start.share = 0.0;
        let all = corpus(&config).unwrap();
        assert!(all.iter().any(|text| text.contains("Your task is to")));
    }
}
