//! Writes generated games to disk.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::config::{GeneratorConfig, GeneratorError, Split};
use super::generate;
use crate::alfworld::error::GAME_FILE;
use crate::alfworld::rules::{RuleBook, TASK_MARK};
use crate::alfworld::source::{GameSource, PackLine};

/// The first `count` games of a split, as lines of a pack.
///
/// # Errors
/// Whatever [`generate`] refuses.
pub fn pack_lines(
    config: &GeneratorConfig,
    split: Split,
    count: u64,
) -> Result<Vec<PackLine>, GeneratorError> {
    (0..count).map(|index| generate(config, split, index)).collect()
}

/// Writes the game as a `game.tw-pddl` below `folder` and returns the file's path.
///
/// The texts of domain and grammar, which are not this project's, come from `template`: any game file
/// of the release whose rules the game follows. The Python stack can play the result.
///
/// # Errors
/// If the template is no game file, or a file cannot be read or written.
pub fn write_tw_pddl(
    game: &PackLine,
    template: &Path,
    folder: &Path,
) -> Result<PathBuf, GeneratorError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| GeneratorError::File { path, source }
    };
    let text = std::fs::read_to_string(template).map_err(failed(template))?;
    let unfit = |problem| GeneratorError::Template { path: template.to_owned(), problem };
    let file = fill(game, &text).map_err(unfit)?;
    check_rules(game, &file).map_err(unfit)?;
    let target = folder.join(&game.name).join(GAME_FILE);
    let parent = target.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(failed(parent))?;
    std::fs::write(&target, file).map_err(failed(&target))?;
    Ok(target)
}

/// The template's text with the game's problem, task and walkthrough.
fn fill(game: &PackLine, template: &str) -> Result<String, String> {
    let mut file: Map<String, Value> =
        serde_json::from_str(template).map_err(|error| error.to_string())?;
    let grammar = file.get("grammar").and_then(Value::as_str).ok_or("it has no grammar")?;
    if !file.contains_key("pddl_domain") {
        return Err("it has no pddl_domain".to_owned());
    }
    let grammar = with_task(grammar, &game.task).ok_or("its grammar states no task")?;
    file.insert("grammar".to_owned(), grammar.into());
    file.insert("pddl_problem".to_owned(), game.problem.clone().into());
    file.insert("solvable".to_owned(), true.into());
    file.insert("walkthrough".to_owned(), game.walkthrough.clone().into());
    Ok(Value::Object(file).to_string())
}

/// The walkthrough is worded in the game's own rule set: another one would not understand it.
fn check_rules(game: &PackLine, file: &str) -> Result<(), String> {
    let source = GameSource::File { file: &game.name, name: &game.name, text: file };
    let rules = source.load(&RuleBook::new()).map_err(|error| error.to_string())?.rules();
    if rules == game.rules {
        Ok(())
    } else {
        Err(format!("its rule set is {rules:?}, but the game is written for {:?}", game.rules))
    }
}

/// The grammar with another task sentence between its quotation marks.
fn with_task(grammar: &str, task: &str) -> Option<String> {
    let (before, rest) = grammar.split_once(TASK_MARK)?;
    let (_, after) = rest.split_once('"')?;
    Some(format!("{before}{TASK_MARK} {task}\"{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alfworld::source::load_game;

    #[test]
    fn only_the_task_of_the_grammar_is_replaced() {
        let grammar = r#"{"task": [{"rhs": "Your task is to: put a mug in desk."}], "x": []}"#;
        let expected = r#"{"task": [{"rhs": "Your task is to: put a pen in bed."}], "x": []}"#;
        assert_eq!(with_task(grammar, "put a pen in bed.").as_deref(), Some(expected));
        assert_eq!(with_task("{}", "put a pen in bed."), None);
    }

    #[test]
    fn a_written_game_is_read_back_as_the_same_game() {
        let Some(releases) = templates() else { return };
        let line = generate(&GeneratorConfig::small(0), Split::Train, 0).expect("a game");
        let folder = tempfile::tempdir().expect("a folder");
        let path = write_tw_pddl(&line, &releases.today, folder.path()).expect("written");
        assert_eq!(path, folder.path().join(&line.name).join(GAME_FILE));
        let read = load_game(&path, &line.name, &RuleBook::new()).expect("read");
        assert_eq!((read.task(), read.walkthrough()), (line.task.as_str(), &line.walkthrough[..]));
        let error = write_tw_pddl(&line, &releases.older, folder.path()).expect_err("other rules");
        assert!(error.to_string().contains("the game is written for New"), "{error}");
    }

    struct Templates {
        today: PathBuf,
        older: PathBuf,
        _folder: tempfile::TempDir,
    }

    /// One game of each release, where they are at hand.
    fn templates() -> Option<Templates> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
        let root = std::env::var_os("SAPO_DATA").map_or_else(|| beside.into(), PathBuf::from);
        let data = root.join("alfworld");
        if !data.is_dir() {
            eprintln!("skipped: no games in {}; set SAPO_DATA", data.display());
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let [today, older] = ["synth_games.tar.zst", "old_games.tar.zst"].map(|archive| {
            let target = folder.path().join(archive);
            std::fs::write(&target, first_game(&data.join(archive))).expect("written");
            target
        });
        Some(Templates { today, older, _folder: folder })
    }

    fn first_game(archive: &Path) -> String {
        let file = std::fs::File::open(archive).expect("the archive");
        let mut decoder = zstd::Decoder::new(file).expect("zstd");
        decoder.window_log_max(27).expect("a window of 2^27 bytes");
        let mut archive = tar::Archive::new(decoder);
        let mut entries = archive.entries().expect("a tar archive").filter_map(Result::ok);
        let is_game =
            |entry: &tar::Entry<'_, _>| entry.path().is_ok_and(|p| p.ends_with(GAME_FILE));
        let mut game = entries.find(is_game).expect("a game");
        std::io::read_to_string(&mut game).expect("text")
    }

    #[test]
    fn a_template_that_is_no_game_is_refused_with_the_reason() {
        let config = GeneratorConfig::small(0);
        let game = generate(&config, Split::Train, 0).expect("a game");
        assert_eq!(fill(&game, r#"{"pddl_domain": ""}"#), Err("it has no grammar".to_owned()));
        assert!(fill(&game, "[]").is_err());
    }
}
