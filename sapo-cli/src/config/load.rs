//! Reads a configuration and explains what is wrong with it.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

use super::RunConfig;
use super::check::check;
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
        assign(&mut table, setting).with_context(|| setting.said.clone())?;
        resolve(table.clone()).with_context(|| setting.said.clone())?;
    }
    let mut config = resolve(table)?;
    check(&config)?;
    anchor(&mut config)?;
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
    let mut value = Value::Table(table);
    let mut read: Result<RunConfig, toml::de::Error> = value.clone().try_into();
    if let Err(error) = &read
        && error.message().ends_with("expected string only")
        && let Some(place) = find(&mut value, &key_of(error))
    {
        // toml tells which strings an enum may be only of what is a string.
        make_strings(place);
        read = value.try_into();
    }
    read.map_err(|error| explain(&error))
}

fn find<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    key.split('.').try_fold(value, |inner, part| inner.get_mut(part))
}

fn make_strings(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(make_strings),
        Value::String(_) | Value::Table(_) => {}
        other => *other = Value::String(other.to_string()),
    }
}

/// Puts a setting into the table.
fn assign(table: &mut Table, Setting { key, value, .. }: &Setting) -> Result<()> {
    let value = parse(value)?;
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

/// The value of a setting. What is no TOML is taken as a string.
fn parse(text: &str) -> Result<Value> {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    match parsed.and_then(|mut parsed| parsed.remove("value")) {
        Some(value) => Ok(value),
        None if text.parse::<i128>().is_ok_and(|number| i64::try_from(number).is_err()) => {
            bail!("out of range; the largest whole number is {}", i64::MAX)
        }
        None => Ok(Value::String(text.to_owned())),
    }
}

/// Serde's message behind its key or section, with the nearest known word where a word is unknown.
fn explain(error: &toml::de::Error) -> anyhow::Error {
    let what = clarify(error.message().trim());
    match key_of(error).as_str() {
        "" => anyhow!(what),
        key => anyhow!("{key}: {what}"),
    }
}

/// The key that toml shows as "in `key`" in a line below its message; empty if there is none.
fn key_of(error: &toml::de::Error) -> String {
    let shown = error.to_string();
    let below = shown.strip_prefix(error.message()).unwrap_or("");
    below.split('`').nth(1).unwrap_or("").to_owned()
}

fn clarify(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (Some((unknown, known)), true) = (quoted.split_first(), message.starts_with("unknown"))
    else {
        return message.to_owned();
    };
    let what = if message.starts_with("unknown field") { "key" } else { "value" };
    match nearest(unknown, known) {
        Some(near) => format!("unknown {what} `{unknown}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{unknown}`; known are {}", known.join(", ")),
    }
}

/// The candidate that is most like `word`, if one is alike at all.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let scored =
        candidates.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate));
    let (score, best) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.7).then_some(best)
}

/// Makes paths absolute, so that the run can be resumed from another folder. What is not there stays
/// as it was said, for the message of whoever looks for it.
fn anchor(config: &mut RunConfig) -> Result<()> {
    let is_folder = config.model.is_folder();
    let model = is_folder.then_some(&mut config.model.path);
    for path in config.env.data.iter_mut().chain(model).filter(|path| path.exists()) {
        *path = std::path::absolute(&path)
            .with_context(|| format!("{}: cannot make it absolute", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::config) fn set(assignments: &[&str]) -> Result<RunConfig> {
        let set = assignments.iter().map(|text| text.parse().unwrap()).collect();
        load(&ConfigSource { file: None, set })
    }

    /// What is said of assignments that are refused.
    pub(in crate::config) fn message(assignments: &[&str]) -> String {
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
    fn a_file_that_is_wrong_is_told_by_its_keys() {
        let told = |text: &str| format!("{:#}", resolve(text.parse().unwrap()).unwrap_err());
        assert_eq!(
            told("[optimizer]\nepochs = \"two\""),
            "optimizer.epochs: invalid type: string \"two\", expected usize"
        );
        assert_eq!(
            told("[rollout]\ntemprature = 1"),
            "rollout: unknown key `temprature`; did you mean `temperature`?"
        );
        assert_eq!(told("device = 1"), "device: unknown value `1`; known are flex");
        assert!(told("env.task_types = [1]").contains("known are pick_and_place_simple, "));
    }

    #[test]
    fn a_flag_is_told_as_it_was_written() {
        let set = vec![Setting::of_flag("device", "gpu".into())];
        let error = load(&ConfigSource { file: None, set }).unwrap_err();
        assert_eq!(error.to_string(), "--device gpu");
    }

    #[test]
    fn a_whole_number_that_is_too_large_is_no_string() {
        assert!(message(&["seed=99999999999999999999"]).contains("out of range"));
        assert_eq!(set(&["env.split=007"]).unwrap().env.split, "007");
    }

    #[test]
    fn paths_are_absolute_where_they_lead_somewhere() {
        let config = set(&["env.data=src", "model.path=src"]).unwrap();
        let src = std::path::absolute("src").unwrap();
        assert_eq!((config.env.data, config.model.path), (Some(src.clone()), src));
        assert_eq!(set(&["env.data=nowhere"]).unwrap().env.data, Some("nowhere".into()));
        assert_eq!(set(&[]).unwrap().model.path, PathBuf::from("builtin"));
    }

    #[test]
    fn a_resolved_configuration_resolves_to_itself() {
        let config = RunConfig::default();
        let text = toml::to_string(&config).unwrap();
        assert_eq!(resolve(text.parse().unwrap()).unwrap(), config);
    }
}
