//! The world's messages, word for word.

use super::commands::Action;
use super::game::{Ability, Game};
use super::rules::TASK_MARK;
use super::state::{Property, State};

/// The answer to a command that is not admissible.
pub(crate) const NOTHING_HAPPENS: &str = "Nothing happens.";

const HELP: &str = "Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
";

/// Writes messages about one state of one game.
pub(crate) struct Writer<'a> {
    pub(crate) game: &'a Game,
    pub(crate) state: &'a State,
    pub(crate) text: &'a mut String,
}

impl Writer<'_> {
    /// The first observation: the room and the task.
    pub(crate) fn intro(&mut self) {
        self.put(&["-= Welcome to TextWorld, ALFRED! =-\n\n"]);
        if self.game.here(self.state).is_empty() {
            self.room(true);
        } else {
            self.look();
        }
        let game = self.game;
        self.put(&["\n\n", TASK_MARK, " ", &game.task]);
    }

    /// The message for an action that was just performed.
    pub(crate) fn outcome(&mut self, action: Action) {
        let game = self.game;
        let o = |index: u16| game.object_names[usize::from(index)].as_str();
        let r = |index: u16| game.receptacle_names[usize::from(index)].as_str();
        match action {
            Action::Look => self.look(),
            Action::Inventory => self.inventory(),
            Action::Help => self.put(&[HELP]),
            Action::GoTo { receptacle } => self.arrival(receptacle.into()),
            Action::Open { receptacle } => self.opening(receptacle.into()),
            Action::Close { receptacle } => self.put(&["You close the ", r(receptacle), "."]),
            Action::ExamineReceptacle { receptacle } => self.receptacle(receptacle.into()),
            Action::ExamineObject { object } => self.object(object.into()),
            Action::Take { object, receptacle } => {
                self.put(&["You pick up the ", o(object), " from the ", r(receptacle), "."]);
            }
            Action::Put { object, receptacle } => {
                let (verb, to) = game.rules.put_words();
                self.put(&["You ", verb, " the ", o(object), " ", to, " the ", r(receptacle), "."]);
            }
            // `isToggled` is set and never cleared, so "turn off" is never said.
            Action::Use { object } => self.put(&["You turn on the ", o(object), "."]),
            Action::Clean { object, receptacle } => {
                self.put(&["You clean the ", o(object), " using the ", r(receptacle), "."]);
            }
            Action::Heat { object, receptacle } => {
                self.put(&["You heat the ", o(object), " using the ", r(receptacle), "."]);
            }
            Action::Cool { object, receptacle } => {
                self.put(&["You cool the ", o(object), " using the ", r(receptacle), "."]);
            }
            Action::Slice { object, knife } => {
                self.put(&["You sliced the ", o(object), " with the ", o(knife), "."]);
            }
        }
    }

    fn put(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.text.push_str(part));
    }

    /// A spot without receptacles gets the room's sentence with nothing in it: only the intro lists.
    fn look(&mut self) {
        let (game, state) = (self.game, self.state);
        let here = game.here(state);
        if here.is_empty() {
            return self.room(false);
        }
        self.put(&["You are facing the "]);
        self.list(here.iter().map(|&it| ("", game.receptacle_names[it].as_str())));
        self.put(&[". Next to it, you see "]);
        let lying = state.lying_at.columns(state.place);
        let next_to = lying.flat_map(|object| {
            let taken = here.iter().filter(move |&&it| state.taken_from.contains(it, object));
            taken.map(move |_| ("a ", game.object_names[object].as_str()))
        });
        self.list(next_to);
        self.put(&["."]);
    }

    fn room(&mut self, lists: bool) {
        let names = self.game.receptacle_names.iter().map(|name| ("a ", name.as_str()));
        self.put(&["You are in the middle of a room. Looking quickly around you, you see "]);
        self.list(names.filter(|_| lists));
        self.put(&["."]);
    }

    fn inventory(&mut self) {
        let game = self.game;
        match self.state.held {
            Some(held) => self.put(&["You are carrying: a ", &game.object_names[held], "."]),
            None => self.put(&["You are not carrying anything."]),
        }
    }

    fn arrival(&mut self, receptacle: usize) {
        let game = self.game;
        let name = if game.rules.arrives_at_receptacle() {
            &game.receptacle_names[receptacle]
        } else {
            &game.places[game.receptacles[receptacle].place].name
        };
        self.put(&["You arrive at ", name, ". "]);
        self.receptacle(receptacle);
    }

    fn opening(&mut self, receptacle: usize) {
        let game = self.game;
        self.put(&["You open the ", &game.receptacle_names[receptacle], "."]);
        if game.rules.opening_shows_contents() {
            self.put(&[" "]);
            self.receptacle(receptacle);
        }
    }

    fn receptacle(&mut self, receptacle: usize) {
        let (game, state) = (self.game, self.state);
        let name = &game.receptacle_names[receptacle];
        if !game.receptacles[receptacle].openable {
            self.put(&["On the ", name, ", you see "]);
        } else if state.opened.contains(receptacle) {
            self.put(&["The ", name, " is open. In it, you see "]);
        } else {
            return self.put(&["The ", name, " is closed."]);
        }
        self.contents(state.inside.columns(receptacle));
    }

    /// A vessel is described as one, whatever else it is.
    fn object(&mut self, object: usize) {
        let (game, state) = (self.game, self.state);
        let name = &game.object_names[object];
        if game.can(Ability::Vessel, object) {
            self.put(&["This is a normal ", name, ". In it, you see "]);
            return self.contents(game.vessels.columns(object));
        }
        let toggled = game.can(Ability::Toggleable, object) && state.has(Property::Toggled, object);
        let sliced = game.can(Ability::Sliceable, object) && state.has(Property::Sliced, object);
        match condition(state, object) {
            Some(condition) => self.put(&["This is a ", condition, " ", name, "."]),
            None if toggled => self.put(&["This ", name, " is on."]),
            None if sliced => self.put(&["This is a sliced ", name, "."]),
            None => self.put(&["There's nothing special about ", name, "."]),
        }
    }

    fn contents(&mut self, objects: impl Iterator<Item = usize>) {
        let game = self.game;
        self.list(objects.map(|object| ("a ", game.object_names[object].as_str())));
        self.put(&["."]);
    }

    /// Joins with ", ", and with ", and " before the last, even of two.
    fn list<'n>(&mut self, names: impl Iterator<Item = (&'n str, &'n str)>) {
        let mut names = names.peekable();
        let mut first = true;
        while let Some((article, name)) = names.next() {
            let separator = match (first, names.peek().is_some()) {
                (true, _) => "",
                (false, true) => ", ",
                (false, false) => ", and ",
            };
            self.put(&[separator, article, name]);
            first = false;
        }
        if first {
            self.put(&["nothing"]);
        }
    }
}

/// The words for an object's temperature and cleanness. Hot goes before cool, and only alone is an
/// object "cold"; the start of some games has cool objects, and slicing shows in every combination.
fn condition(state: &State, object: usize) -> Option<&'static str> {
    let has = |property| state.has(property, object);
    let sliced = has(Property::Sliced);
    Some(match (has(Property::Clean), has(Property::Hot), has(Property::Cool)) {
        (true, true, _) if sliced => "hot and clean sliced",
        (true, _, true) if sliced => "cool and clean sliced",
        (true, _, _) if sliced => "clean sliced",
        (_, true, _) if sliced => "hot sliced",
        (_, _, true) if sliced => "cool sliced",
        (true, true, _) => "hot and clean",
        (true, _, true) => "cool and clean",
        (_, true, _) => "hot",
        (true, _, _) => "clean",
        (_, _, true) => "cold",
        _ => return None,
    })
}
