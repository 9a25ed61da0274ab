//! Replays recordings of the Python stack and compares every state: what "exact" means here.

use std::path::Path;

use serde::Deserialize;

use super::dataset::Dataset;
use super::env::DEFAULT_STEP_LIMIT;
use super::error::AlfWorldError;
use super::pack::read_text;
use super::world::World;

/// One recorded state: a line of a recording. Other fields of the line are ignored.
#[derive(Deserialize)]
struct RecordedState {
    /// The game's path below the data's folder.
    game: String,
    /// Who chose the actions.
    policy: String,
    /// The number of the step; an episode begins with 0.
    step: usize,
    /// The action that led here; none at the start.
    action: Option<String>,
    /// The observation.
    observation: String,
    /// The admissible commands, sorted by code point.
    admissible: Vec<String>,
    /// 0 or 1.
    score: f64,
    /// Whether the goal holds.
    won: bool,
    /// Whether the episode is over.
    done: bool,
}

/// One field of one state where the engine differs from the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The recording.
    pub file: String,
    /// The game.
    pub game: String,
    /// Who chose the actions.
    pub policy: String,
    /// The step.
    pub step: usize,
    /// The field: `observation`, `admissible`, `score`, `won` or `done`.
    pub field: &'static str,
    /// What was recorded.
    pub expected: String,
    /// What the engine gives.
    pub got: String,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// How many episodes were played.
    pub episodes: usize,
    /// How many states were compared.
    pub states: usize,
    /// Where the engine differs.
    pub mismatches: Vec<Mismatch>,
}

/// Replays recordings (JSON lines; plain, gzip or zstd) on the games of a dataset.
///
/// A recording may go on after the end of an episode in either of the ways in which the Python stack
/// does: its engine plays on, its batch wrapper repeats the last state.
///
/// # Errors
/// If a recording or one of its games cannot be read; a mismatch is no error.
pub fn replay_transcripts<P: AsRef<Path>>(
    dataset: &Dataset,
    files: &[P],
) -> Result<ReplayReport, AlfWorldError> {
    let mut report = ReplayReport::default();
    for file in files {
        replay_file(dataset, file.as_ref(), &mut report)?;
    }
    Ok(report)
}

fn replay_file(
    dataset: &Dataset,
    path: &Path,
    report: &mut ReplayReport,
) -> Result<(), AlfWorldError> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    let mut episode: Option<Replayed> = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong =
            |message| AlfWorldError::Transcript { file: file.clone(), line: index + 1, message };
        let state: RecordedState =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        report.states += 1;
        match (&mut episode, state.action.clone()) {
            (_, None) => {
                report.episodes += 1;
                let world = World::new(dataset.game_named(&state.game)?);
                let mut begun = Replayed { world, last: None };
                begun.compare(state, &file, report);
                episode = Some(begun);
            }
            (Some(episode), Some(action)) if episode.continues_with(&state) => {
                episode.step(&action, state, &file, report);
            }
            (_, Some(_)) => {
                return Err(wrong("a step that does not follow a state of its episode".to_owned()));
            }
        }
    }
    Ok(())
}

/// An episode in replay, with the last recorded state.
struct Replayed {
    world: World,
    last: Option<RecordedState>,
}

impl Replayed {
    fn continues_with(&self, state: &RecordedState) -> bool {
        self.last
            .as_ref()
            .is_some_and(|last| last.game == state.game && last.policy == state.policy)
    }

    fn step(&mut self, action: &str, state: RecordedState, file: &str, report: &mut ReplayReport) {
        let before = self.repeats(&state).then(|| self.world.clone());
        self.world.step(action);
        match before {
            Some(before) if !differences(&self.world, &state).is_empty() => {
                self.world = before;
                self.last = Some(state);
            }
            _ => self.compare(state, file, report),
        }
    }

    /// Whether the state repeats an end: then the wrapper may have swallowed the action.
    fn repeats(&self, state: &RecordedState) -> bool {
        self.last.as_ref().is_some_and(|last| {
            last.done
                && state.done
                && last.observation == state.observation
                && last.admissible == state.admissible
                && last.won == state.won
                && last.score == state.score
        })
    }

    fn compare(&mut self, state: RecordedState, file: &str, report: &mut ReplayReport) {
        for (field, expected, got) in differences(&self.world, &state) {
            report.mismatches.push(Mismatch {
                file: file.to_owned(),
                game: state.game.clone(),
                policy: state.policy.clone(),
                step: state.step,
                field,
                expected,
                got,
            });
        }
        self.last = Some(state);
    }
}

/// The fields in which a world differs from a recorded state, with what is expected and what is there.
fn differences(world: &World, state: &RecordedState) -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    if state.observation != world.observation() {
        found.push(("observation", state.observation.clone(), world.observation().to_owned()));
    }
    if !world.admissible().eq(state.admissible.iter().map(String::as_str)) {
        let got: Vec<&str> = world.admissible().collect();
        found.push(("admissible", state.admissible.join("\n"), got.join("\n")));
    }
    if state.score != f64::from(world.score()) {
        found.push(("score", state.score.to_string(), world.score().to_string()));
    }
    if state.won != world.won() {
        found.push(("won", state.won.to_string(), world.won().to_string()));
    }
    // At the start nothing is done yet; with a step limit, an episode is also done there.
    let done = world.won() && state.step > 0;
    let at_limit = state.done && state.step >= DEFAULT_STEP_LIMIT;
    if state.done != done && !at_limit {
        found.push(("done", state.done.to_string(), done.to_string()));
    }
    found
}
