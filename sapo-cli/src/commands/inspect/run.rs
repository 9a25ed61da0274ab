//! A run folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::RUN_FILE;
use crate::output::{key_values, percent};

/// The settings that tell runs apart at a glance, by their keys in the configuration.
const SHOWN: [&str; 10] = [
    "algorithm",
    "device",
    "seed",
    "env.name",
    "env.data",
    "model.path",
    "model.hidden",
    "model.layers",
    "episodes",
    "learning_rate",
];
/// Those among them that only a new model heeds.
const SHAPE: [&str; 2] = ["model.hidden", "model.layers"];

/// What a run folder holds. It may be of a run under way, or of another version of this program.
#[derive(Serialize)]
pub(super) struct Report {
    kind: &'static str,
    folder: String,
    finished: bool,
    /// RL iterations done, and how many the configuration asks for.
    iterations: u64,
    iterations_planned: Option<u64>,
    success_before: Option<f64>,
    success_after: Option<f64>,
    config: Value,
    /// The last line of the metrics.
    last_metrics: Option<Map<String, Value>>,
}

/// Reads a run folder.
pub(super) fn read(folder: &Path) -> Result<Report> {
    let config = config(&folder.join(RUN_FILE))?;
    let summary = summary(&folder.join("summary.json"))?;
    let last_metrics = last_metrics(&folder.join("metrics.jsonl"));
    let number = |key| summary.as_ref().and_then(|summary| summary.get(key));
    let done = last_metrics.as_ref().and_then(|line| line.get("iteration"));
    let iterations = number("iterations").or(done).and_then(Value::as_u64).unwrap_or(0);
    let iterations_planned = config.get("iterations").and_then(Value::as_u64);
    Ok(Report {
        kind: "run",
        folder: folder.display().to_string(),
        // As `RunFolder::is_finished` has it: the last evaluations belong to the run.
        finished: number("interrupted") == Some(&Value::Bool(false)),
        iterations,
        iterations_planned,
        success_before: number("success_before").and_then(Value::as_f64),
        success_after: number("success_after").and_then(Value::as_f64),
        config,
        last_metrics,
    })
}

fn config(path: &Path) -> Result<Value> {
    let context = || format!("{}: not a run's configuration", path.display());
    let text = fs::read_to_string(path).with_context(context)?;
    let table: toml::Table = text.parse().with_context(context)?;
    serde_json::to_value(table).with_context(context)
}

/// Nothing while the run is under way; that of an interrupted run says so.
fn summary(path: &Path) -> Result<Option<Value>> {
    if !path.exists() {
        return Ok(None);
    }
    let context = || format!("{}: not a run's summary", path.display());
    let text = fs::read_to_string(path).with_context(context)?;
    Ok(Some(serde_json::from_str(&text).with_context(context)?))
}

/// The last whole line: a run that was killed may have left half of one behind it.
fn last_metrics(path: &Path) -> Option<Map<String, Value>> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

/// The report in words.
pub(super) fn describe(report: &Report) -> String {
    let planned =
        report.iterations_planned.map_or(String::new(), |planned| format!(" of {planned}"));
    let state = if report.finished { "finished" } else { "not finished" };
    let success = |share: Option<f64>| share.map_or("not measured yet".into(), percent);
    let mut rows = vec![
        ("run", report.folder.clone()),
        ("iterations", format!("{}{planned}, {state}", report.iterations)),
        ("success before", success(report.success_before)),
        ("success after", success(report.success_after)),
    ];
    let is_new = report.config["model"]["path"] == "new";
    let keys = SHOWN.iter().filter(|key| is_new || !SHAPE.contains(key));
    rows.extend(keys.filter_map(|key| Some((*key, setting(&report.config, key)?))));
    let mut text = key_values(rows);
    if let Some(metrics) = &report.last_metrics {
        let rows = metrics.iter().map(|(key, value)| (key.as_str(), shown(value)));
        text += &format!("\nlast metrics\n{}", key_values(rows));
    }
    text
}

fn setting(config: &Value, key: &str) -> Option<String> {
    let value = key.split('.').try_fold(config, |table, part| table.get(part))?;
    Some(shown(value))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
