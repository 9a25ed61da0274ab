use clap::Args;
use sapo_core::actor::{Actor, Finish, TurnRequest};
use sapo_core::env::{Message, Prompt};
use sapo_core::value::{Readout, ValueTokens};
use sapo_models::{Codec, CodecError, Generator, GeneratorConfig, Sampling};

use crate::meter::{Cost, measure};
use crate::models::model;
use crate::{device, tokens};

/// Replies to prompts of equal length, sampled at temperature 1 with all that training needs of them.
#[derive(Args)]
pub(crate) struct Generate {
    /// A shape or a folder.
    model: String,
    /// Conversations at once.
    rows: usize,
    /// Tokens of a prompt.
    prompt: usize,
    /// Tokens of a reply.
    reply: usize,
}

impl Generate {
    pub(crate) fn run(&self) -> Cost {
        let decoder = model(&self.model, &device());
        let vocabulary = sapo_core::model::CausalLm::vocabulary(&decoder);
        let last = vocabulary as u32 - 1;
        let value_tokens = ValueTokens::new(last, last - 1, vocabulary).ok();
        let settings = GeneratorConfig {
            sampling: Sampling { value_tokens, ..Sampling::default() },
            readout: Readout::default(),
            max_new_tokens: self.reply,
            ..GeneratorConfig::new(2048)
        };
        let codec = Fixed(tokens(1, self.prompt, vocabulary).remove(0));
        let mut generator = Generator::new(&decoder, codec, settings);
        let prompt = Prompt::Fresh(vec![Message::user("go")]);
        measure(3, || {
            let request = |slot| TurnRequest { slot, prompt: &prompt, seed: slot as u64 };
            let requests: Vec<TurnRequest<'_>> = (0..self.rows).map(request).collect();
            generator.act(&requests).expect("replies");
        })
    }
}

/// The same prompt, whatever is said.
struct Fixed(Vec<u32>);

impl Codec for Fixed {
    fn fresh(&self, _messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.0.clone())
    }

    fn follow(&self, _last: Finish, _messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.0.clone())
    }

    fn decode(&self, _tokens: &[u32]) -> String {
        String::new()
    }

    fn stop_ids(&self) -> &[u32] {
        &[]
    }
}
