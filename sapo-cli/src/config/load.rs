//! Reads a configuration and explains what is wrong with it.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

use super::RunConfig;
use crate::cli::Setting;

/// Where a configuration comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigSource {
    /// A TOML file; the built-in defaults without it.
    pub(crate) file: Option<PathBuf>,
    /// Settings that win over the file.
    pub(crate) set: Vec<Setting>,
}

/// Resolves a configuration.
pub(crate) fn load(source: &ConfigSource) -> Result<RunConfig> {
    let mut table = match &source.file {
        Some(file) => read(file)?,
        None => Table::new(),
    };
    if let Some(file) = &source.file {
        resolve(table.clone()).with_context(|| format!("{}", file.display()))?;
    }
    for setting in &source.set {
        let context = || format!("--set {}={}", setting.key, setting.value);
        assign(&mut table, setting).with_context(context)?;
        resolve(table.clone()).with_context(context)?;
    }
    let mut config = resolve(table)?;
    check(&config)?;
    if config.workers == 0 {
        config.workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    }
    Ok(config)
}

fn read(file: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{}: cannot read the configuration", file.display()))?;
    text.parse().with_context(|| format!("{}: not valid TOML", file.display()))
}

fn resolve(table: Table) -> Result<RunConfig> {
    Value::Table(table).try_into().map_err(|error: toml::de::Error| explain(error.message()))
}

/// Puts a setting into the table. A value that is no TOML is taken as a string.
fn assign(table: &mut Table, Setting { key, value }: &Setting) -> Result<()> {
    let value = format!("value = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| Value::String(value.clone()));
    let (sections, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = table;
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        table = table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()))
            .as_table_mut()
            .ok_or_else(|| anyhow!("{section} is no section"))?;
    }
    table.insert(last.into(), value);
    Ok(())
}

/// Serde's message, with the nearest known key where a key is unknown.
fn explain(message: &str) -> anyhow::Error {
    let message = message.trim();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (Some((unknown, known)), true) = (quoted.split_first(), message.starts_with("unknown"))
    else {
        return anyhow!("{message}");
    };
    let what = if message.starts_with("unknown field") { "key" } else { "value" };
    match nearest(unknown, known) {
        Some(near) => anyhow!("unknown {what} `{unknown}`; did you mean `{near}`?"),
        None => anyhow!("unknown {what} `{unknown}`; known are {}", known.join(", ")),
    }
}

/// The candidate that is most like `word`, if one is alike at all.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let scored =
        candidates.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate));
    let (score, best) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.7).then_some(best)
}

fn check(config: &RunConfig) -> Result<()> {
    check_counts(config)?;
    check_numbers(config)?;
    if config.model.path.as_os_str() == "new" && config.model.value_tokens.is_some() {
        bail!("model.value_tokens is for model folders; a new model reserves its own");
    }
    Ok(())
}

fn check_counts(config: &RunConfig) -> Result<()> {
    let RunConfig { env, warm_start, rollout, optimizer, evaluation, model, .. } = config;
    const MANY: usize = 10_000_000;
    let counts = [
        ("episodes", config.episodes, 1..=MANY),
        ("iterations", config.iterations, 0..=MANY),
        ("workers", config.workers, 0..=1024),
        ("env.max_turns", env.max_turns, 1..=MANY),
        ("env.generated", env.generated, 1..=MANY),
        ("rollout.slots", rollout.slots, 1..=MANY),
        ("rollout.max_new_tokens", rollout.max_new_tokens, 1..=MANY),
        ("rollout.max_prompt_tokens", rollout.max_prompt_tokens, 1..=MANY),
        ("warm_start.batch", warm_start.batch, 1..=MANY),
        ("warm_start.steps", warm_start.steps, 0..=MANY),
        ("optimizer.epochs", optimizer.epochs, 1..=MANY),
        ("optimizer.micro_batch_tokens", optimizer.micro_batch_tokens, 1..=usize::MAX),
        ("evaluation.episodes", evaluation.episodes, 0..=MANY),
        ("model.hidden", model.hidden, 1..=65_536),
        ("model.intermediate", model.intermediate, 1..=262_144),
        ("model.layers", model.layers, 1..=1024),
    ];
    for (key, value, range) in counts {
        if !range.contains(&value) {
            bail!("{key} is {value}; it must be from {} to {}", range.start(), range.end());
        }
    }
    if optimizer.mini_batches == 0 && optimizer.mini_batch_turns == 0 {
        bail!("optimizer.mini_batches and optimizer.mini_batch_turns are both 0; set one of them");
    }
    Ok(())
}

fn check_numbers(config: &RunConfig) -> Result<()> {
    let RunConfig { env, warm_start, rollout, sapo, optimizer, evaluation, .. } = config;
    let above_zero = [
        ("rollout.temperature", rollout.temperature),
        ("sapo.max_return", sapo.max_return),
        ("sapo.readout_temperature", sapo.readout_temperature),
        ("optimizer.max_gradient_norm", optimizer.max_gradient_norm),
        ("optimizer.epsilon", optimizer.epsilon),
    ];
    for (key, value) in above_zero {
        if !(value > 0.0 && value.is_finite()) {
            bail!("{key} is {value}; it must be a number above 0");
        }
    }
    let numbers = [
        ("env.reward", env.reward.into(), -1e6, 1e6),
        ("evaluation.temperature", evaluation.temperature.into(), 0.0, 1e3),
        ("learning_rate", config.learning_rate, 0.0, 1e3),
        ("optimizer.beta_1", optimizer.beta_1.into(), 0.0, 0.999_999),
        ("optimizer.beta_2", optimizer.beta_2.into(), 0.0, 0.999_999),
        ("optimizer.target_kl", optimizer.target_kl.into(), 0.0, 1e3),
        ("optimizer.warmup_iterations", optimizer.warmup_iterations, 0.0, 1e9),
        ("optimizer.weight_decay", optimizer.weight_decay.into(), 0.0, 1e3),
        ("sapo.action_value_clip", sapo.action_value_clip.into(), 0.0, 1e6),
        ("sapo.action_value_coefficient", sapo.action_value_coefficient.into(), 0.0, 1e6),
        ("sapo.clip.high", sapo.clip.high.into(), 0.0, 1e6),
        ("sapo.clip.low", sapo.clip.low.into(), 0.0, 1.0),
        ("sapo.discount.gamma", sapo.discount.gamma.into(), 0.0, 1.0),
        ("sapo.discount.lambda", sapo.discount.lambda.into(), 0.0, 1.0),
        ("sapo.entropy_coefficient", sapo.entropy_coefficient.into(), -1e6, 1e6),
        ("sapo.invalid_action_penalty", sapo.invalid_action_penalty.into(), 0.0, 1e6),
        ("sapo.kl_coefficient", sapo.kl_coefficient.into(), 0.0, 1e6),
        ("sapo.normalization.epsilon", sapo.normalization.epsilon, 0.0, 1e6),
        ("sapo.value_clip", sapo.value_clip.into(), 0.0, 1e6),
        ("sapo.value_coefficient", sapo.value_coefficient.into(), 0.0, 1e6),
        ("warm_start.disturbance", warm_start.disturbance, 0.0, 1.0),
        ("warm_start.learning_rate", warm_start.learning_rate, 0.0, 1e3),
        ("warm_start.observation_weight", warm_start.observation_weight.into(), 0.0, 1e6),
        ("warm_start.share", warm_start.share, 0.0, 0.999_999),
    ];
    for (key, value, low, high) in numbers {
        if !(low..=high).contains(&value) {
            bail!("{key} is {value}; it must be from {low} to {high}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(assignments: &[&str]) -> Result<RunConfig> {
        let set = assignments.iter().map(|text| text.parse().unwrap()).collect();
        load(&ConfigSource { file: None, set })
    }

    fn message(assignments: &[&str]) -> String {
        format!("{:#}", set(assignments).unwrap_err())
    }

    #[test]
    fn assignments_reach_sections_and_need_no_quotes() {
        let config = set(&["seed=3", "env.data=games/all", "sapo.discount.gamma=0.9"]).unwrap();
        assert_eq!(config.seed, 3);
        assert_eq!(config.env.data, Some("games/all".into()));
        assert_eq!(config.sapo.discount.gamma, 0.9);
        assert_eq!(config.sapo.discount.lambda, 0.95);
    }

    #[test]
    fn a_typo_names_the_nearest_key() {
        assert_eq!(
            message(&["learnin_rate=1"]),
            "--set learnin_rate=1: unknown key `learnin_rate`; did you mean `learning_rate`?"
        );
        assert!(message(&["rollout.temprature=1"]).contains("did you mean `temperature`?"));
        assert!(message(&["algorithm=sapp"]).contains("did you mean `sapo`?"));
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_key() {
        assert!(message(&["episodes=0"]).contains("episodes is 0"));
        assert!(message(&["rollout.temperature=0"]).contains("rollout.temperature"));
        assert!(message(&["learning_rate=nan"]).contains("learning_rate"));
        assert!(message(&["sapo.discount.gamma=2.0"]).contains("from 0 to 1"));
        assert!(message(&["optimizer.beta_1=1.0"]).contains("optimizer.beta_1"));
        assert!(message(&["workers=99999999"]).contains("workers is 99999999"));
    }

    #[test]
    fn a_resolved_configuration_resolves_to_itself() {
        let config = RunConfig::default();
        let text = toml::to_string(&config).unwrap();
        assert_eq!(resolve(text.parse().unwrap()).unwrap(), config);
    }
}
