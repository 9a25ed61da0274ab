//! A toy conversation of a fixed shape, so that every method plays equally many tokens.

use std::ops::ControlFlow;

use sapo_core::actor::Finish;
use sapo_core::env::{Dialogue, DialogueError, Exchange, Message, Prompt, Status};
use sapo_core::episode::Episode;
use sapo_core::model::CausalLm;
use sapo_core::rollout::{RolloutConfig, play};
use sapo_core::value::ValueTokens;
use sapo_models::{Codec, CodecError, Decoder, Generator, GeneratorConfig, Sampling};

use crate::tokens;

/// How long a conversation is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Replies of an episode.
    pub(crate) turns: usize,
    /// Tokens of an observation, before each reply.
    pub(crate) observed: usize,
    /// Tokens of a reply.
    pub(crate) reply: usize,
}

impl Shape {
    /// Plays `count` conversations at once with the weights of `decoder`. So many in a row as `group` says
    /// have one task.
    pub(crate) fn play(
        self,
        decoder: &Decoder,
        value_tokens: Option<ValueTokens>,
        count: usize,
        group: usize,
    ) -> Vec<Episode> {
        let mut actor = self.generator(decoder, value_tokens);
        let config = RolloutConfig { slots: count, seed: 0, retries: 0, bootstrap: false };
        let dialogues = self.dialogues(count, group);
        let rollout = play(&mut actor, dialogues, config, |_| ControlFlow::Continue(()));
        rollout.expect("replies").episodes
    }

    fn dialogues(self, count: usize, group: usize) -> Vec<Box<dyn Dialogue>> {
        let talk = |index: usize| Talk { shape: self, task: (index / group).to_string(), said: 0 };
        (0..count).map(|index| Box::new(talk(index)) as Box<dyn Dialogue>).collect()
    }

    /// An actor with the weights of `decoder`, at temperature 1.
    fn generator(self, decoder: &Decoder, value_tokens: Option<ValueTokens>) -> Generator<Numbers> {
        let vocabulary = decoder.vocabulary();
        let codec = Numbers { observed: self.observed, vocabulary };
        let positions = self.turns * (self.observed + self.reply);
        let config = GeneratorConfig {
            sampling: Sampling { value_tokens, ..Sampling::default() },
            max_new_tokens: self.reply,
            max_prompt_tokens: positions,
            ..GeneratorConfig::new(positions)
        };
        Generator::new(decoder, codec, config)
    }
}

/// A world that hears whether a reply begins with an even token, and pays for it.
struct Talk {
    shape: Shape,
    task: String,
    said: usize,
}

impl Talk {
    fn message(&self) -> Vec<Message> {
        vec![Message::user(format!("{}{}", self.task, self.said))]
    }
}

impl Dialogue for Talk {
    fn task(&self) -> &str {
        &self.task
    }

    fn kind(&self) -> &str {
        ""
    }

    fn open(&mut self) -> Result<Prompt, DialogueError> {
        self.said = 0;
        Ok(Prompt::Fresh(self.message()))
    }

    fn reply(&mut self, reply: &str) -> Result<Exchange, DialogueError> {
        self.said += 1;
        let is_even = reply.parse::<u32>().is_ok_and(|token| token.is_multiple_of(2));
        let is_last = self.said == self.shape.turns;
        Ok(Exchange {
            action: reply.to_owned(),
            valid: true,
            reward: if is_even { 1.0 } else { 0.0 },
            status: if is_last { Status::Terminated } else { Status::Running },
            score: 0.0,
            success: false,
            next: Prompt::Continue(self.message()),
        })
    }
}

/// Messages are numbers and stand for so many tokens each; a reply is written as its first token.
pub(crate) struct Numbers {
    observed: usize,
    vocabulary: usize,
}

impl Numbers {
    fn read(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        let mut read = Vec::new();
        for message in messages {
            let row = message.content.parse::<usize>()? % self.vocabulary;
            read.extend(tokens(row + 1, self.observed, self.vocabulary).swap_remove(row));
        }
        Ok(read)
    }
}

impl Codec for Numbers {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        self.read(messages)
    }

    fn follow(&self, _last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        self.read(messages)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        tokens.first().map_or_else(String::new, u32::to_string)
    }

    fn stop_ids(&self) -> &[u32] {
        &[]
    }
}
