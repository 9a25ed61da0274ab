//! `sapo generate`: text from a model folder.

mod plain;

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::prelude::Device;
use clap::Args;
use sapo_core::actor::{Actor, Finish, Reply, TurnRequest};
use sapo_core::env::{Message, Prompt};
use sapo_models::{
    ChatCodec, ChatError, Codec, Generator, GeneratorConfig, Model, Sampling, load_model,
};
use serde::Serialize;

use self::plain::PlainCodec;
use crate::output::{Format, print_result, talk};

/// Lets a model answer a message or, with --raw, continue a text.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// The model folder, in the layout of Hugging Face
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The message or text; without it, stdin is read
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// The longest answer, in tokens
    #[arg(long, value_name = "N", default_value_t = 128)]
    max_new_tokens: usize,
    /// Tokens are drawn at this temperature; 0 always takes the likeliest
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value_t = 1.0)]
    #[arg(value_parser = crate::cli::temperature)]
    temperature: f32,
    /// Draw from so many of the likeliest tokens only
    #[arg(long, value_name = "K", value_parser = top_k)]
    top_k: Option<usize>,
    /// Draw from the likeliest tokens only that together reach this probability
    #[arg(long, value_name = "P", value_parser = top_p)]
    top_p: Option<f32>,
    /// Equal seeds give equal texts
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Continue the text as it is, without the model's chat template
    #[arg(long)]
    raw: bool,
}

#[derive(Serialize)]
struct Answer {
    text: String,
    finish: Finish,
    prompt_tokens: Vec<u32>,
    tokens: Vec<u32>,
    log_probs: Vec<f32>,
    /// `V` after the prompt, if the model has value tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f32>,
    /// `Q` after the answer, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    action_value: Option<f32>,
}

/// Runs the command.
pub(crate) fn run(args: GenerateArgs, format: Format) -> Result<()> {
    let model = load_model(&args.model, &Device::flex())
        .with_context(|| format!("{} cannot be loaded as a model", args.model.display()))?;
    let chat = chat_codec(&args.model)?;
    let prompt = prompt(args.prompt.as_deref())?;
    ensure!(!prompt.is_empty(), "the prompt is empty; say something to answer or to continue");
    let answer = match chat {
        Some(chat) if !args.raw => answer(&model, chat, prompt, &args)?,
        chat => {
            if !args.raw {
                talk("the model has no chat template: the text is continued as it is");
            }
            answer(&model, PlainCodec::new(&args.model, chat.as_ref())?, prompt, &args)?
        }
    };
    print_result(format, &answer, |answer| answer.text.clone())
}

/// The folder's own chat format; nothing if it has no template.
fn chat_codec(folder: &Path) -> Result<Option<ChatCodec>> {
    let now = jiff::tz::TimeZone::UTC.to_datetime(jiff::Timestamp::now());
    match ChatCodec::from_folder(folder, now) {
        Ok(codec) => Ok(Some(codec)),
        Err(ChatError::NoTemplate { .. } | ChatError::NoStop) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn prompt(argument: Option<&str>) -> Result<String> {
    if let Some(prompt) = argument {
        return Ok(prompt.to_owned());
    }
    if io::stdin().is_terminal() {
        bail!("no prompt; give one as an argument or pipe one in");
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
}

fn answer<C: Codec>(
    model: &Model,
    codec: C,
    prompt: String,
    args: &GenerateArgs,
) -> Result<Answer> {
    let config = generator_config(model, args)?;
    let mut generator = Generator::new(&model.decoder, codec, config);
    let prompt = Prompt::Fresh(vec![Message::user(prompt)]);
    let request = TurnRequest { slot: 0, prompt: &prompt, seed: args.seed };
    let mut replies = generator.act(&[request])?;
    let Reply { context, tokens, log_probs, value, action_value, finish, text } =
        replies.pop().context("the model gave no answer")??;
    let has_values = model.value.is_some();
    Ok(Answer {
        text,
        finish,
        prompt_tokens: context,
        tokens,
        log_probs,
        value: has_values.then_some(value),
        action_value: has_values.then_some(action_value),
    })
}

fn generator_config(model: &Model, args: &GenerateArgs) -> Result<GeneratorConfig> {
    let GenerateArgs { max_new_tokens, temperature, top_k, top_p, .. } = *args;
    let positions = model.config.max_position_embeddings;
    ensure!(
        (1..positions).contains(&max_new_tokens),
        "--max-new-tokens is {max_new_tokens}; the model has {positions} positions for prompt and answer"
    );
    let value_tokens = model.value.map(|value| value.value_tokens);
    Ok(GeneratorConfig {
        sampling: Sampling { temperature, top_k, top_p, value_tokens },
        readout: model.value.map(|value| value.readout).unwrap_or_default(),
        max_new_tokens,
        max_prompt_tokens: positions - max_new_tokens,
        ..GeneratorConfig::new(positions)
    })
}

fn top_k(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "write a whole number from 1".to_owned())
}

fn top_p(text: &str) -> Result<f32, String> {
    let mass = text.parse().ok().filter(|mass| *mass > 0.0 && *mass <= 1.0);
    mass.ok_or_else(|| "write a number above 0, up to 1".to_owned())
}
