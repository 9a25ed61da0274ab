//! Games on disk: a folder of a release, or a pack. Found at once, read one by one, never written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::{AlfWorldError, GAME_FILE};
use super::game::Game;
use super::kind::TaskKind;
use super::pack::read_pack;
use super::rules::RuleBook;
use super::source::{GameSource, load_game};

/// A folder or pack of games, sorted by name.
///
/// Games are parsed when first asked for and then kept: a reset later costs a copy of the state only.
pub struct Dataset {
    root: PathBuf,
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    book: RuleBook,
}

struct Entry {
    name: String,
    place: EntryPlace,
    game: OnceLock<Arc<Game>>,
}

enum EntryPlace {
    File(PathBuf),
    Line { number: usize, text: String },
}

impl Dataset {
    /// Finds the games in a folder, at any depth, or in a `.jsonl` or `.jsonl.zst` pack.
    ///
    /// # Errors
    /// If the path or a file cannot be read, if there are no games, or if two have one name.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AlfWorldError> {
        let root = path.as_ref().to_owned();
        let found = match std::fs::metadata(&root) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(AlfWorldError::Missing { path: root });
            }
            Err(source) => return Err(AlfWorldError::Read { path: root, source }),
            Ok(metadata) if metadata.is_dir() => game_files(&root)?,
            Ok(_) => pack_lines(&root)?,
        };
        Self::from_entries(root, found)
    }

    fn from_entries(
        root: PathBuf,
        mut found: Vec<(String, EntryPlace)>,
    ) -> Result<Self, AlfWorldError> {
        if found.is_empty() {
            return Err(AlfWorldError::NoGames { path: root });
        }
        found.sort_by(|(left, _), (right, _)| left.cmp(right));
        let entry = |(name, place)| Entry { name, place, game: OnceLock::new() };
        let entries: Vec<Entry> = found.into_iter().map(entry).collect();
        let numbered = entries.iter().enumerate();
        let by_name: HashMap<String, usize> =
            numbered.map(|(index, entry)| (entry.name.clone(), index)).collect();
        if by_name.len() < entries.len() {
            let repeated = entries.windows(2).find(|pair| pair[0].name == pair[1].name);
            let name = repeated.map_or("", |pair| &pair[0].name);
            return Err(AlfWorldError::Foreign {
                file: root.display().to_string(),
                message: format!("two games are named {name:?}"),
            });
        }
        Ok(Dataset { root, entries, by_name, book: RuleBook::new() })
    }

    /// The folder or pack.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many games there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none: never, since that is an error when opening.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The games' names, sorted: paths below the folder, or a pack's own names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The type of a game's task, read from its name alone.
    ///
    /// # Panics
    /// If there is no game of this index.
    pub fn kind(&self, index: usize) -> Option<TaskKind> {
        TaskKind::from_path(&self.entries[index].name)
    }

    /// The game at an index in the order of [`Dataset::names`]. Read at the first call, then shared.
    ///
    /// # Errors
    /// If the game cannot be read, is broken, or follows unknown rules.
    ///
    /// # Panics
    /// If there is no game of this index.
    pub fn game(&self, index: usize) -> Result<Arc<Game>, AlfWorldError> {
        let entry = &self.entries[index];
        if let Some(game) = entry.game.get() {
            return Ok(Arc::clone(game));
        }
        let game = Arc::new(self.load(index)?);
        Ok(Arc::clone(entry.game.get_or_init(|| game)))
    }

    /// Reads a game afresh, past the cache.
    ///
    /// # Errors
    /// As [`Dataset::game`].
    ///
    /// # Panics
    /// If there is no game of this index.
    pub fn load(&self, index: usize) -> Result<Game, AlfWorldError> {
        let entry = &self.entries[index];
        match &entry.place {
            EntryPlace::File(path) => load_game(path, &entry.name, &self.book),
            EntryPlace::Line { number, text } => {
                let file = format!("{}, line {number}", self.root.display());
                GameSource::Pack { file: &file, text }.load(&self.book)
            }
        }
    }

    /// The index of the game of a name. A path that starts further up than this folder is understood.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        let whole = self.by_name.get(name);
        let suffixes = name.match_indices('/').map(|(slash, _)| &name[slash + 1..]);
        // Less than task/trial/file would not tell one game from another.
        let mut telling = suffixes.filter(|suffix| suffix.matches('/').count() >= 2);
        whole.or_else(|| telling.find_map(|suffix| self.by_name.get(suffix))).copied()
    }

    /// The game of a name, as [`Dataset::index_of`] finds it.
    ///
    /// # Errors
    /// If there is no such game, or as [`Dataset::game`].
    pub fn game_named(&self, name: &str) -> Result<Arc<Game>, AlfWorldError> {
        match self.index_of(name) {
            Some(index) => self.game(index),
            None => Err(AlfWorldError::UnknownGame {
                path: self.root.clone(),
                game: name.to_owned(),
                advice: format!(
                    "names look like {:?} here; try another data folder",
                    self.entries.first().map_or("", |entry| &entry.name)
                ),
            }),
        }
    }

    /// How many games each split has. A split is the folder that holds the tasks' folders.
    pub fn splits(&self) -> BTreeMap<&str, usize> {
        let mut splits = BTreeMap::new();
        for name in self.names() {
            *splits.entry(split_of(name)).or_default() += 1;
        }
        splits
    }

    /// The indices of a split's games, in the order of their names.
    ///
    /// # Errors
    /// If the split has no games.
    pub fn split(&self, split: &str) -> Result<Vec<usize>, AlfWorldError> {
        let names = self.names().enumerate();
        let indices: Vec<usize> =
            names.filter(|(_, name)| split_of(name) == split).map(|(index, _)| index).collect();
        if !indices.is_empty() {
            return Ok(indices);
        }
        let count = |(split, count): (&str, usize)| format!("{split} ({count})");
        let found: Vec<String> = self.splits().into_iter().map(count).collect();
        Err(AlfWorldError::EmptySplit {
            path: self.root.clone(),
            split: split.to_owned(),
            found: found.join(", "),
        })
    }
}

/// The split in a name: what precedes the task's folder. "." if the folder opened is the split itself.
fn split_of(name: &str) -> &str {
    let folder = name.strip_suffix(GAME_FILE).map_or(name, |folder| folder.trim_end_matches('/'));
    let parts: Vec<&str> = folder.split('/').collect();
    // split/task/trial
    parts.len().checked_sub(3).map_or(".", |index| parts[index])
}

fn pack_lines(path: &Path) -> Result<Vec<(String, EntryPlace)>, AlfWorldError> {
    let lines = read_pack(path)?;
    let entry = |line: super::pack::NamedLine| {
        (line.name, EntryPlace::Line { number: line.number, text: line.text })
    };
    Ok(lines.into_iter().map(entry).collect())
}

fn game_files(root: &Path) -> Result<Vec<(String, EntryPlace)>, AlfWorldError> {
    let mut found = Vec::new();
    let mut links = Links::new(root);
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| AlfWorldError::Read { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() || (kind.is_symlink() && links.leads_on(&entry.path())) {
                folders.push(entry.path());
            } else if entry.file_name() == GAME_FILE {
                found.push((name_below(root, &entry.path()), EntryPlace::File(entry.path())));
            }
        }
    }
    Ok(found)
}

/// The links followed so far: one that leads back up would never end.
struct Links {
    root: Option<PathBuf>,
    followed: HashSet<PathBuf>,
}

impl Links {
    fn new(root: &Path) -> Self {
        Links { root: root.canonicalize().ok(), followed: HashSet::new() }
    }

    /// Whether the link leads to a folder that no earlier link led to.
    fn leads_on(&mut self, link: &Path) -> bool {
        let Ok(target) = link.canonicalize() else { return false };
        let is_above = self.root.as_ref().is_some_and(|root| root.starts_with(&target));
        target.is_dir() && !is_above && self.followed.insert(target)
    }
}

/// The path below the root, with `/` between its parts on every system.
fn name_below(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_is_the_folder_before_the_task() {
        assert_eq!(split_of("json_2.1.1/valid_seen/task/trial/game.tw-pddl"), "valid_seen");
        assert_eq!(split_of("train/task/trial"), "train");
        assert_eq!(split_of("task/trial/game.tw-pddl"), ".");
    }

    #[test]
    fn a_missing_folder_says_what_to_try() {
        let error = Dataset::open("no/such/folder").err().unwrap().to_string();
        assert!(error.contains("no/such/folder") && error.contains("game.tw-pddl"), "{error}");
    }

    #[test]
    fn a_folder_without_games_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Dataset::open(folder.path()).err().unwrap().to_string();
        assert!(error.starts_with("no games in"), "{error}");
    }
}
