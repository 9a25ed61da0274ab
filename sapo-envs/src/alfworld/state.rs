//! What changes while a game is played.

use super::bits::{BitSet, BitTable};

/// A property that an object can gain, as a row of [`State::properties`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    Clean,
    Hot,
    Cool,
    Sliced,
    Toggled,
}

impl Property {
    pub(crate) const COUNT: usize = 5;
}

/// The mutable world: all of it, so that a clone is a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The agent's spot.
    pub(crate) place: usize,
    /// The object in the agent's hand.
    pub(crate) held: Option<usize>,
    /// Receptacles that are open.
    pub(crate) opened: BitSet,
    /// Receptacle by object: what is in it. An object can be in two.
    pub(crate) inside: BitTable,
    /// Receptacle by object: taken out of it and not put back. `look` lists such objects as being next
    /// to the receptacle, since the Python engine learns that a fact is false only when it changes.
    pub(crate) taken_from: BitTable,
    /// Place by object: what is at the spot.
    pub(crate) lying_at: BitTable,
    /// Property by object.
    pub(crate) properties: BitTable,
}

impl State {
    /// A world with nothing anywhere and the agent at the first place.
    pub(crate) fn empty(receptacles: usize, places: usize, objects: usize) -> Self {
        State {
            place: 0,
            held: None,
            opened: BitSet::new(receptacles),
            inside: BitTable::new(receptacles, objects),
            taken_from: BitTable::new(receptacles, objects),
            lying_at: BitTable::new(places, objects),
            properties: BitTable::new(Property::COUNT, objects),
        }
    }

    /// Whether an object has a property.
    pub(crate) fn has(&self, property: Property, object: usize) -> bool {
        self.properties.contains(property as usize, object)
    }

    /// Gives an object a property.
    pub(crate) fn gain(&mut self, property: Property, object: usize) {
        self.properties.insert(property as usize, object);
    }

    /// Takes a property from an object.
    pub(crate) fn lose(&mut self, property: Property, object: usize) {
        self.properties.remove(property as usize, object);
    }
}
