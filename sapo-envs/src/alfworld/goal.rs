//! The goals that ALFWorld's problems have, as clauses that must all hold.

use std::collections::HashSet;

use super::problem::Predicate;
use super::tokens::{Fault, Token, Tokens, spell};

/// One conjunct of a goal, with the names of types as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clause<'a> {
    /// So many different objects of a type, each with these properties, in one receptacle of a type.
    Placed { object_type: &'a str, receptacle_type: &'a str, needs: Vec<Predicate>, copies: u32 },
    /// A lamp of this type is toggled and in a receptacle at the agent's spot.
    Lit { lamp_type: &'a str },
    /// The agent holds an object of this type.
    Holding { object_type: &'a str },
    /// No receptacle is open.
    AllClosed,
}

/// How deep brackets may nest in a goal: real ones reach 9.
const DEEPEST: usize = 32;

enum Expression<'a> {
    Word(&'a str),
    List(Vec<Expression<'a>>),
}

/// An atom with its argument names; `different` stands for `(not (= …))`.
struct Atom<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
}

/// Reads the expression after `:goal`.
pub(crate) fn read_goal<'a>(tokens: &mut Tokens<'a>) -> Result<Vec<Clause<'a>>, Fault> {
    let offset = tokens.offset();
    let expression = read_expression(tokens, 0)?;
    clauses(&expression).ok_or_else(|| {
        Fault::new(offset, "the engine knows the goals of ALFWorld's six task types; this is none")
    })
}

fn read_expression<'a>(tokens: &mut Tokens<'a>, depth: usize) -> Result<Expression<'a>, Fault> {
    let offset = tokens.offset();
    if depth > DEEPEST {
        return Err(Fault::new(offset, format!("brackets nest deeper than {DEEPEST} in the goal")));
    }
    match tokens.next()? {
        Token::Word(word) => Ok(Expression::Word(word)),
        Token::Close => {
            Err(Fault::new(offset, format!("expected a goal, found {}", spell(Token::Close))))
        }
        Token::Open => {
            let mut parts = Vec::new();
            loop {
                if tokens.clone().next()? == Token::Close {
                    tokens.next()?;
                    return Ok(Expression::List(parts));
                }
                parts.push(read_expression(tokens, depth + 1)?);
            }
        }
    }
}

fn clauses<'a>(goal: &Expression<'a>) -> Option<Vec<Clause<'a>>> {
    let (head, parts) = head_and_parts(goal)?;
    let clauses = match head {
        "and" => parts.iter().map(clause).collect::<Option<Vec<_>>>()?,
        _ => vec![clause(goal)?],
    };
    (!clauses.is_empty()).then_some(clauses)
}

fn head_and_parts<'e, 'a>(
    expression: &'e Expression<'a>,
) -> Option<(&'a str, &'e [Expression<'a>])> {
    match expression {
        Expression::List(parts) => match parts.split_first()? {
            (Expression::Word(head), rest) => Some((head, rest)),
            _ => None,
        },
        Expression::Word(_) => None,
    }
}

fn clause<'a>(expression: &Expression<'a>) -> Option<Clause<'a>> {
    let (head, parts) = head_and_parts(expression)?;
    if head == "forall" {
        return all_closed(parts);
    }
    let mut atoms = Vec::new();
    collect_atoms(expression, &mut atoms)?;
    let has = |name: &str| atoms.iter().any(|atom| atom.name == name);
    if has("holds") {
        holding(&atoms)
    } else if has("istoggled") {
        lit(&atoms)
    } else {
        placed(&atoms)
    }
}

/// `(forall (?r - receptacle) (not (opened ?r)))`
fn all_closed<'a>(parts: &[Expression<'a>]) -> Option<Clause<'a>> {
    let [Expression::List(variables), body] = parts else { return None };
    let [Expression::Word(variable), Expression::Word("-"), Expression::Word("receptacle")] =
        variables.as_slice()
    else {
        return None;
    };
    let ("not", [inner]) = head_and_parts(body)? else { return None };
    let atom = read_atom(inner)?;
    (atom.name == "opened" && atom.arguments == [*variable]).then_some(Clause::AllClosed)
}

/// Flattens nested `exists` and `and`: every variable of these goals has its own name.
fn collect_atoms<'a>(expression: &Expression<'a>, atoms: &mut Vec<Atom<'a>>) -> Option<()> {
    let (head, parts) = head_and_parts(expression)?;
    match head {
        "and" => parts.iter().try_for_each(|part| collect_atoms(part, atoms)),
        "exists" => match parts {
            [Expression::List(_), body] => collect_atoms(body, atoms),
            _ => None,
        },
        "not" => {
            let [inner] = parts else { return None };
            let atom = read_atom(inner)?;
            (atom.name == "=").then(|| atoms.push(Atom { name: "different", ..atom }))
        }
        _ => {
            atoms.push(read_atom(expression)?);
            Some(())
        }
    }
}

fn read_atom<'a>(expression: &Expression<'a>) -> Option<Atom<'a>> {
    let (name, parts) = head_and_parts(expression)?;
    let word = |part: &Expression<'a>| match part {
        Expression::Word(word) => Some(*word),
        Expression::List(_) => None,
    };
    Some(Atom { name, arguments: parts.iter().map(word).collect::<Option<_>>()? })
}

fn holding<'a>(atoms: &[Atom<'a>]) -> Option<Clause<'a>> {
    let &[_, held] = only(atoms, "holds")? else { return None };
    let object_type = type_of(atoms, "objecttype", held)?;
    (atoms.len() == 2).then_some(Clause::Holding { object_type })
}

fn lit<'a>(atoms: &[Atom<'a>]) -> Option<Clause<'a>> {
    let &[lamp] = only(atoms, "istoggled")? else { return None };
    let lamp_type = type_of(atoms, "objecttype", lamp)?;
    let &[inside, receptacle] = only(atoms, "inreceptacle")? else { return None };
    let &[here, spot] = only(atoms, "receptacleatlocation")? else { return None };
    let &[_, agent_spot] = only(atoms, "atlocation")? else { return None };
    let toggleable = only(atoms, "toggleable")? == [lamp];
    let joined = inside == lamp && here == receptacle && spot == agent_spot && toggleable;
    (joined && atoms.len() == 6).then_some(Clause::Lit { lamp_type })
}

fn placed<'a>(atoms: &[Atom<'a>]) -> Option<Clause<'a>> {
    let mut receptacles = HashSet::new();
    let mut objects = HashSet::new();
    let mut object_types = HashSet::new();
    let mut receptacle_types = HashSet::new();
    let mut inside = HashSet::new();
    let mut described = HashSet::new();
    let mut needs = Vec::new();
    let mut different = false;
    for atom in atoms {
        match (atom.name, atom.arguments.as_slice()) {
            ("objecttype", &[object, kind]) => {
                objects.insert(object);
                object_types.insert(kind);
            }
            ("receptacletype", &[receptacle, kind]) => {
                receptacles.insert(receptacle);
                receptacle_types.insert(kind);
            }
            ("inreceptacle", &[object, receptacle]) => {
                inside.insert(object);
                receptacles.insert(receptacle);
            }
            ("different", &[one, other]) => different = one != other,
            (name, &[object]) => {
                needs.push(need(name)?);
                described.insert(object);
            }
            _ => return None,
        }
    }
    let copies = u32::try_from(objects.len()).ok()?;
    let alike = receptacles.len() == 1 && objects == inside && different == (copies == 2);
    let plain = described.is_subset(&objects) && (needs.is_empty() || copies == 1);
    let (object_type, receptacle_type) = (sole(&object_types)?, sole(&receptacle_types)?);
    (alike && plain && (1..=2).contains(&copies)).then_some(Clause::Placed {
        object_type,
        receptacle_type,
        needs,
        copies,
    })
}

fn need(name: &str) -> Option<Predicate> {
    Some(match name {
        "cleanable" => Predicate::Cleanable,
        "heatable" => Predicate::Heatable,
        "coolable" => Predicate::Coolable,
        "sliceable" => Predicate::Sliceable,
        "pickupable" => Predicate::Pickupable,
        "isclean" => Predicate::Clean,
        "ishot" => Predicate::Hot,
        "iscool" => Predicate::Cool,
        "issliced" => Predicate::Sliced,
        _ => return None,
    })
}

fn only<'e, 'a>(atoms: &'e [Atom<'a>], name: &str) -> Option<&'e [&'a str]> {
    let mut found = atoms.iter().filter(|atom| atom.name == name);
    let first = found.next()?;
    found.next().is_none().then_some(&first.arguments)
}

fn type_of<'a>(atoms: &[Atom<'a>], name: &str, variable: &str) -> Option<&'a str> {
    match only(atoms, name)? {
        &[subject, kind] if subject == variable => Some(kind),
        _ => None,
    }
}

fn sole<'a>(names: &HashSet<&'a str>) -> Option<&'a str> {
    (names.len() == 1).then(|| names.iter().next().copied())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(goal: &str) -> Result<Vec<Clause<'_>>, Fault> {
        read_goal(&mut Tokens::new(goal))
    }

    #[test]
    fn a_hot_object_in_a_receptacle_is_one_clause() {
        let goal = "(and (exists (?r - receptacle) (exists (?o - object) (and (heatable ?o) \
                    (objecttype ?o mugtype) (receptacletype ?r shelftype) (ishot ?o) \
                    (inreceptacle ?o ?r)))))";
        let expected = Clause::Placed {
            object_type: "mugtype",
            receptacle_type: "shelftype",
            needs: vec![Predicate::Heatable, Predicate::Hot],
            copies: 1,
        };
        assert_eq!(read(goal), Ok(vec![expected]));
    }

    #[test]
    fn two_different_objects_are_two_copies() {
        let goal = "(exists (?r - receptacle) (exists (?o1 - object) (and \
                    (objecttype ?o1 pentype) (receptacletype ?r desktype) (inreceptacle ?o1 ?r) \
                    (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objecttype ?o2 pentype) \
                    (receptacletype ?r desktype) (inreceptacle ?o2 ?r))))))";
        let read = read(goal).unwrap();
        assert!(matches!(read[..], [Clause::Placed { copies: 2, .. }]));
    }

    #[test]
    fn closed_receptacles_can_be_part_of_a_goal() {
        let goal = "(and (forall (?re - receptacle) (not (opened ?re))))";
        assert_eq!(read(goal), Ok(vec![Clause::AllClosed]));
    }

    #[test]
    fn other_goals_are_refused() {
        for goal in ["(and)", "(or (opened ?r))", "x", "(exists (?o) (objecttype ?o t))", "(and ("]
        {
            assert!(read(goal).is_err(), "{goal}");
        }
        assert!(read(&"(".repeat(100_000)).unwrap_err().message.contains("nest deeper"));
    }
}
