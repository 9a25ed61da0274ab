//! The model of a run with all that belongs to it: tokenizer, template, value tokens.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::prelude::*;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sapo_core::algorithm::Sapo;
use sapo_core::objective::Objective;
use sapo_core::value::{ActionSoftmax, Readout, ValueTokens};
use sapo_models::{
    ChatCodec, Decoder, Family, Generator, GeneratorConfig, Model, ModelConfig, Reservation,
    ResidualInit, Sampling, StoredType, ValueMetadata, WordTokenizerConfig, append_rows,
    load_model, new_model, reserve_value_tokens, save_model, small_codec, start_value_rows,
};

use crate::builtin;
use crate::config::{DeviceName, Dtype, ModelSection, RunConfig, SapoSection};

/// What a language model needs beside its weights to play and to be trained.
pub(crate) struct Agent {
    pub(crate) config: ModelConfig,
    pub(crate) codec: ChatCodec,
    pub(crate) value: ValueMetadata,
}

impl Agent {
    /// The agent that a run starts from, with its weights: a model folder, or a new model whose words are
    /// those of `corpus`.
    pub(crate) fn start(
        config: &RunConfig,
        device: &Device,
        corpus: impl FnOnce() -> Result<Vec<String>>,
    ) -> Result<(Self, Decoder)> {
        let readout = readout(&config.sapo);
        match config.model.path.to_str() {
            Some("new") => Self::small(&config.model, readout, config.seed, device, &corpus()?),
            Some("builtin") => {
                let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
                builtin::unpack(folder.path())?;
                Self::from_folder(folder.path(), &config.model, Some(readout), device)
            }
            _ => Self::from_folder(&config.model.path, &config.model, Some(readout), device),
        }
    }

    /// Reads a model folder. A folder that this program wrote names its value tokens; in others two
    /// entries are reserved.
    pub(crate) fn from_folder(
        folder: &Path,
        section: &ModelSection,
        readout: Option<Readout>,
        device: &Device,
    ) -> Result<(Self, Decoder)> {
        ensure!(folder.is_dir(), "{}: there is no such model folder", folder.display());
        let codec = ChatCodec::from_folder(folder, TimeZone::UTC.to_datetime(Timestamp::now()))?;
        let Model { mut config, mut decoder, value } = load_model(folder, device)?;
        let highest = codec.tokenizer().highest_id();
        let stored = value.filter(|value| {
            let ids = [value.value_tokens.plus(), value.value_tokens.minus()];
            section.value_tokens.is_none_or(|chosen| chosen == ids)
        });
        let value = match (stored, section.value_tokens) {
            (Some(value), _) => {
                ValueMetadata::new(value.value_tokens, readout.unwrap_or(value.readout))
            }
            (None, chosen) => {
                let tokens = match chosen {
                    Some(ids) => chosen_tokens(ids, &codec, config.vocab_size)?,
                    None => {
                        let reservation = reserve_value_tokens(config.vocab_size, highest);
                        if let Reservation::Appended(tokens) = reservation {
                            let rows = tokens.plus().max(tokens.minus()) as usize + 1;
                            decoder = append_rows(decoder, &mut config, rows);
                        }
                        reservation.tokens()
                    }
                };
                decoder = start_value_rows(decoder, tokens, section.value_rows);
                ValueMetadata::new(tokens, readout.unwrap_or_default())
            }
        };
        Ok((Agent { config, codec, value }, decoder))
    }

    fn small(
        section: &ModelSection,
        readout: Readout,
        seed: u64,
        device: &Device,
        corpus: &[String],
    ) -> Result<(Self, Decoder)> {
        let texts = corpus.iter().map(String::as_str);
        let codec = small_codec(texts, WordTokenizerConfig::default())?;
        let words = codec.tokenizer().highest_id() as usize + 1;
        let ModelSection { hidden, layers, heads, kv_heads, intermediate, .. } = *section;
        let shape = [heads, kv_heads];
        let config =
            ModelConfig::new(Family::Qwen2, words + 2, hidden, intermediate, layers, shape);
        config.check().context("the [model] section")?;
        let decoder = new_model(&config, ResidualInit::Scaled, seed, device)?;
        let tokens =
            reserve_value_tokens(config.vocab_size, codec.tokenizer().highest_id()).tokens();
        let decoder = start_value_rows(decoder, tokens, section.value_rows);
        Ok((Agent { config, codec, value: ValueMetadata::new(tokens, readout) }, decoder))
    }

    /// The distribution over actions at a sampling temperature.
    pub(crate) fn softmax(&self, temperature: f32) -> ActionSoftmax {
        ActionSoftmax { value_tokens: Some(self.value.value_tokens), temperature }
    }

    /// SAPO over this agent's vocabulary.
    pub(crate) fn sapo(&self, section: &SapoSection, temperature: f32) -> Sapo {
        Sapo {
            discount: section.discount,
            max_return: section.max_return,
            invalid_action_penalty: section.invalid_action_penalty,
            truncation: section.truncation,
            normalization: section.normalization,
            objective: Objective {
                clip: section.clip,
                value_coefficient: section.value_coefficient,
                action_value_coefficient: section.action_value_coefficient,
                value_clip: section.value_clip,
                action_value_clip: section.action_value_clip,
                kl_coefficient: section.kl_coefficient,
                kl_estimator: section.kl_estimator,
                entropy_coefficient: section.entropy_coefficient,
                readout: readout(section),
            },
            softmax: self.softmax(temperature),
        }
    }

    /// A player with the weights of `decoder`.
    pub(crate) fn generator(
        &self,
        decoder: &Decoder,
        config: &RunConfig,
        temperature: f32,
    ) -> Generator<ChatCodec> {
        let positions = self.config.max_position_embeddings;
        let section = &config.rollout;
        let config = GeneratorConfig {
            sampling: Sampling {
                temperature,
                value_tokens: Some(self.value.value_tokens),
                ..Sampling::default()
            },
            readout: self.value.readout,
            max_new_tokens: section.max_new_tokens,
            max_prompt_tokens: section.max_prompt_tokens,
            workers: config.workers,
            ..GeneratorConfig::new(positions)
        };
        Generator::new(decoder, self.codec.clone(), config)
    }

    /// Writes a model folder with the weights of `decoder`.
    pub(crate) fn save(&self, decoder: &Decoder, folder: &Path, dtype: Dtype) -> Result<()> {
        let model = Model {
            config: self.config.clone(),
            decoder: decoder.valid(),
            value: Some(self.value),
        };
        let stored = match dtype {
            Dtype::F32 => StoredType::F32,
            Dtype::Bf16 => StoredType::Bf16,
        };
        save_model(folder, &model, stored)?;
        self.codec.save(folder)?;
        Ok(())
    }
}

pub(crate) fn readout(section: &SapoSection) -> Readout {
    Readout { kind: section.readout, temperature: section.readout_temperature }
}

/// A device with gradients.
pub(crate) fn device(name: DeviceName) -> Device {
    match name {
        DeviceName::Flex => Device::flex().autodiff(),
    }
}

fn chosen_tokens(
    [plus, minus]: [u32; 2],
    codec: &ChatCodec,
    vocabulary: usize,
) -> Result<ValueTokens> {
    for id in [plus, minus] {
        if let Some(text) = codec.tokenizer().token(id) {
            bail!(
                "model.value_tokens: the tokenizer uses {id} for {text:?}; choose ids above {}, or \
                 leave the key out",
                codec.tokenizer().highest_id()
            );
        }
    }
    Ok(ValueTokens::new(plus, minus, vocabulary)?)
}
