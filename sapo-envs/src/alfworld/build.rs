//! From a problem as written to a game ready to play: ids become indices, commands are formatted.

use std::collections::{HashMap, HashSet};

use super::bits::{BitSet, BitTable};
use super::commands::Commands;
use super::game::{Ability, Appliance, Game, Place, Receptacle, Target, ability, property};
use super::goal::Clause;
use super::kind::TaskKind;
use super::names::player_names;
use super::numbering::number_commands;
use super::problem::{Predicate, Problem, Sort, read_problem};
use super::rules::RuleSet;
use super::state::State;
use super::tokens::Fault;

/// What comes with a problem text.
pub(crate) struct Heading {
    pub(crate) name: String,
    pub(crate) rules: RuleSet,
    pub(crate) task: String,
    pub(crate) walkthrough: Vec<String>,
}

/// Builds a game from a problem text.
pub(crate) fn build_game(heading: Heading, problem_text: &str) -> Result<Game, Fault> {
    let text = problem_text.to_ascii_lowercase();
    let problem = read_problem(&text)?;
    let ids = Ids::new(&problem);
    let mut game = empty_game(heading, &ids);
    let types = Types::new(&problem, &ids)?;
    game.abilities = abilities(&problem, &ids, &types);
    game.receptacles = receptacles(&problem, &ids, &types)?;
    for (index, receptacle) in game.receptacles.iter().enumerate() {
        game.places[receptacle.place].receptacles.push(index);
    }
    game.fits = fits(&problem, &ids, &types);
    game.vessels = vessels(&problem, &ids);
    game.start = start(&problem, &ids)?;
    game.goal = targets(&problem, &ids, &types, &game.abilities);
    number_commands(&mut game).ok_or_else(|| Fault::new(0, "more than 65535 commands"))?;
    Ok(game)
}

/// The ids that facts mention, by kind and in order, with their names.
struct Ids<'a> {
    objects: Vec<&'a str>,
    receptacles: Vec<&'a str>,
    places: Vec<&'a str>,
    index: HashMap<&'a str, usize>,
    names: HashMap<&'a str, String>,
}

impl<'a> Ids<'a> {
    fn new(problem: &Problem<'a>) -> Self {
        let mentioned = mentioned(problem);
        let of_sort = |sort: Sort| -> Vec<&'a str> {
            mentioned.iter().copied().filter(|id| problem.sorts.get(id) == Some(&sort)).collect()
        };
        let (objects, receptacles, places) =
            (of_sort(Sort::Object), of_sort(Sort::Receptacle), of_sort(Sort::Place));
        let mut index = HashMap::with_capacity(mentioned.len());
        for ids in [&objects, &receptacles, &places] {
            index.extend(ids.iter().enumerate().map(|(index, &id)| (id, index)));
        }
        Ids { index, names: player_names(&mentioned), objects, receptacles, places }
    }

    fn names_of(&self, ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| self.names[id].clone()).collect()
    }

    /// The index of an id that a fact mentions.
    fn at(&self, id: &str) -> usize {
        self.index[id]
    }
}

/// Every id in a fact, sorted. Types count only if they look like things, since only those get numbers.
fn mentioned<'a>(problem: &Problem<'a>) -> Vec<&'a str> {
    let is_type = |predicate: Predicate, position: usize| match predicate {
        Predicate::CanContain => true,
        Predicate::ReceptacleType | Predicate::ObjectType => position == 1,
        _ => false,
    };
    let mut seen = HashSet::with_capacity(256);
    for fact in &problem.facts {
        for (position, id) in fact.arguments.into_iter().enumerate() {
            if !is_type(fact.predicate, position) || id.contains("_bar_") {
                seen.insert(id);
            }
        }
    }
    let mut ids: Vec<_> = seen.into_iter().collect();
    ids.sort_unstable();
    ids
}

fn empty_game(heading: Heading, ids: &Ids<'_>) -> Game {
    let Heading { name, rules, task, walkthrough } = heading;
    let place = |name| Place { name, receptacles: Vec::new() };
    Game {
        kind: TaskKind::from_path(&name),
        name,
        rules,
        task,
        walkthrough,
        object_names: ids.names_of(&ids.objects),
        receptacle_names: ids.names_of(&ids.receptacles),
        receptacles: Vec::new(),
        places: ids.names_of(&ids.places).into_iter().map(place).collect(),
        abilities: BitTable::default(),
        fits: BitTable::default(),
        vessels: BitTable::default(),
        commands: Commands::default(),
        always: Vec::new(),
        start: State::empty(0, 0, 0),
        goal: Vec::new(),
    }
}

/// Which things have which type. A thing has one at most.
///
/// Objects and receptacles apart: a sink is an object, and its type no receptacle's.
struct Types<'a> {
    objects: HashMap<&'a str, Vec<usize>>,
    receptacles: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Types<'a> {
    fn new(problem: &Problem<'a>, ids: &Ids<'a>) -> Result<Self, Fault> {
        let objects = by_type(problem, Predicate::ObjectType, ids)?;
        let receptacles = by_type(problem, Predicate::ReceptacleType, ids)?;
        Ok(Types { objects, receptacles })
    }

    /// The objects that have this type.
    fn objects(&self, kind: &str) -> &[usize] {
        self.objects.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The receptacles that have this type.
    fn receptacles(&self, kind: &str) -> &[usize] {
        self.receptacles.get(kind).map_or(&[], Vec::as_slice)
    }
}

fn by_type<'a>(
    problem: &Problem<'a>,
    predicate: Predicate,
    ids: &Ids<'a>,
) -> Result<HashMap<&'a str, Vec<usize>>, Fault> {
    let mut type_of = vec![None; ids.objects.len().max(ids.receptacles.len())];
    let mut having: HashMap<&str, Vec<usize>> = HashMap::with_capacity(64);
    for fact in problem.facts.iter().filter(|fact| fact.predicate == predicate) {
        let [id, kind] = fact.arguments;
        match type_of[ids.at(id)].replace(kind) {
            None => having.entry(kind).or_default().push(ids.at(id)),
            Some(before) if before == kind => {}
            Some(_) => return Err(Fault::new(fact.offset, format!("{id} has two types"))),
        }
    }
    Ok(having)
}

fn abilities(problem: &Problem<'_>, ids: &Ids<'_>, types: &Types<'_>) -> BitTable {
    let mut table = BitTable::new(Ability::COUNT, ids.objects.len());
    for fact in &problem.facts {
        if let Some(ability) = ability(fact.predicate) {
            table.insert(ability as usize, ids.at(fact.arguments[0]));
        }
    }
    for kind in ["knifetype", "butterknifetype"] {
        for knife in types.objects(kind) {
            table.insert(Ability::Knife as usize, *knife);
        }
    }
    table
}

fn receptacles(
    problem: &Problem<'_>,
    ids: &Ids<'_>,
    types: &Types<'_>,
) -> Result<Vec<Receptacle>, Fault> {
    let mut places: Vec<Option<usize>> = vec![None; ids.receptacles.len()];
    let mut openable = BitSet::new(ids.receptacles.len());
    for fact in &problem.facts {
        let [id, place] = fact.arguments;
        match fact.predicate {
            Predicate::Openable => openable.insert(ids.at(id)),
            Predicate::ReceptacleAt if contradicts(&mut places[ids.at(id)], ids.at(place)) => {
                return Err(Fault::new(fact.offset, format!("{id} is at two places")));
            }
            _ => {}
        }
    }
    let receptacle = |(index, &id): (usize, &&str)| {
        let place = places[index]
            .ok_or_else(|| Fault::new(0, format!("{id} is nowhere: no receptacleAtLocation")))?;
        let appliance = appliance(index, types);
        let openable = openable.contains(index);
        Ok(Receptacle { place, openable, appliance, go_to: 0, examine: 0 })
    };
    ids.receptacles.iter().enumerate().map(receptacle).collect()
}

/// Remembers a value, or tells that another one was remembered before.
fn contradicts(slot: &mut Option<usize>, value: usize) -> bool {
    *slot.get_or_insert(value) != value
}

fn appliance(receptacle: usize, types: &Types<'_>) -> Option<Appliance> {
    let kinds = [
        ("sinktype", Appliance::Sink),
        ("sinkbasintype", Appliance::Sink),
        ("microwavetype", Appliance::Microwave),
        ("fridgetype", Appliance::Fridge),
    ];
    let found = kinds.into_iter().find(|(kind, _)| types.receptacles(kind).contains(&receptacle));
    found.map(|(_, appliance)| appliance)
}

fn fits(problem: &Problem<'_>, ids: &Ids<'_>, types: &Types<'_>) -> BitTable {
    let mut table = BitTable::new(ids.receptacles.len(), ids.objects.len());
    for fact in problem.facts.iter().filter(|fact| fact.predicate == Predicate::CanContain) {
        let [receptacle_type, object_type] = fact.arguments;
        let objects = types.objects(object_type);
        for &receptacle in types.receptacles(receptacle_type) {
            objects.iter().for_each(|&object| table.insert(receptacle, object));
        }
    }
    table
}

fn vessels(problem: &Problem<'_>, ids: &Ids<'_>) -> BitTable {
    let mut table = BitTable::new(ids.objects.len(), ids.objects.len());
    for fact in problem.facts.iter().filter(|fact| fact.predicate == Predicate::InsideObject) {
        let [inner, outer] = fact.arguments.map(|id| ids.at(id));
        // A query never gives two variables the same value: a thing in itself is not listed.
        if inner != outer {
            table.insert(outer, inner);
        }
    }
    table
}

fn start(problem: &Problem<'_>, ids: &Ids<'_>) -> Result<State, Fault> {
    let mut state = State::empty(ids.receptacles.len(), ids.places.len(), ids.objects.len());
    let mut place = None;
    for fact in &problem.facts {
        let [first, second] = fact.arguments;
        match fact.predicate {
            Predicate::AgentAt if contradicts(&mut place, ids.at(second)) => {
                return Err(Fault::new(fact.offset, "the agent starts at two places"));
            }
            Predicate::In => state.inside.insert(ids.at(second), ids.at(first)),
            Predicate::ObjectAt => state.lying_at.insert(ids.at(second), ids.at(first)),
            Predicate::Opened => state.opened.insert(ids.at(first)),
            predicate => {
                if let Some(property) = property(predicate) {
                    state.gain(property, ids.at(first));
                }
            }
        }
    }
    state.place = place.ok_or_else(|| Fault::new(0, "the agent is nowhere: no atLocation"))?;
    Ok(state)
}

fn targets(
    problem: &Problem<'_>,
    ids: &Ids<'_>,
    types: &Types<'_>,
    abilities: &BitTable,
) -> Vec<Target> {
    let able = |kind: &str, needs: &[Predicate]| {
        let mut set = BitSet::new(ids.objects.len());
        let wanted: Vec<Ability> = needs.iter().copied().filter_map(ability).collect();
        let has_all = |object: &usize| {
            wanted.iter().all(|&ability| abilities.contains(ability as usize, *object))
        };
        let objects = types.objects(kind).iter().copied();
        objects.filter(has_all).for_each(|object| set.insert(object));
        set
    };
    let target = |clause: &Clause<'_>| match clause {
        Clause::Placed { object_type, receptacle_type, needs, copies } => Target::Placed {
            objects: able(object_type, needs),
            receptacles: types.receptacles(receptacle_type).to_vec(),
            needs: needs.iter().copied().filter_map(property).collect(),
            copies: *copies,
        },
        Clause::Lit { lamp_type } => {
            Target::Lit { lamps: able(lamp_type, &[Predicate::Toggleable]) }
        }
        Clause::Holding { object_type } => Target::Holding { objects: able(object_type, &[]) },
        Clause::AllClosed => Target::AllClosed,
    };
    problem.goal.iter().map(target).collect()
}
