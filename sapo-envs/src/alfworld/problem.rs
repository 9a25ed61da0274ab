//! Reads the text of a problem: what is declared, what is true at the start, and the goal.
//!
//! Only the shape that ALFWorld's problems have is read; anything else is a [`Fault`] with its position.

use std::collections::HashMap;

use super::goal::{Clause, read_goal};
use super::tokens::{Fault, Token, Tokens, spell};

/// The type of a declared id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Agent,
    Place,
    Receptacle,
    Object,
    ReceptacleType,
    ObjectType,
}

impl Sort {
    fn from_name(name: &str) -> Option<Sort> {
        Some(match name {
            "agent" => Sort::Agent,
            "location" => Sort::Place,
            "receptacle" => Sort::Receptacle,
            "object" => Sort::Object,
            "rtype" => Sort::ReceptacleType,
            "otype" => Sort::ObjectType,
            _ => return None,
        })
    }
}

/// A fact of the start that the engine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Predicate {
    AgentAt,
    ReceptacleAt,
    ObjectAt,
    In,
    InsideObject,
    ReceptacleType,
    ObjectType,
    CanContain,
    Openable,
    Opened,
    Pickupable,
    Cleanable,
    Heatable,
    Coolable,
    Sliceable,
    Toggleable,
    ReceptacleObject,
    Clean,
    Hot,
    Cool,
    Sliced,
    Toggled,
    /// Facts that no message, precondition or goal looks at; they still give an id its number.
    Unused,
}

impl Predicate {
    /// The predicate and the types of its arguments, by its name in lower case.
    fn from_name(name: &str) -> Option<(Predicate, &'static [Sort])> {
        use Predicate as P;
        use Sort::{Agent, Object, ObjectType, Place, Receptacle, ReceptacleType};
        Some(match name {
            "atlocation" => (P::AgentAt, &[Agent, Place]),
            "receptacleatlocation" => (P::ReceptacleAt, &[Receptacle, Place]),
            "objectatlocation" => (P::ObjectAt, &[Object, Place]),
            "inreceptacle" => (P::In, &[Object, Receptacle]),
            "inreceptacleobject" => (P::InsideObject, &[Object, Object]),
            "receptacletype" => (P::ReceptacleType, &[Receptacle, ReceptacleType]),
            "objecttype" => (P::ObjectType, &[Object, ObjectType]),
            "cancontain" => (P::CanContain, &[ReceptacleType, ObjectType]),
            "openable" => (P::Openable, &[Receptacle]),
            "opened" => (P::Opened, &[Receptacle]),
            "pickupable" => (P::Pickupable, &[Object]),
            "cleanable" => (P::Cleanable, &[Object]),
            "heatable" => (P::Heatable, &[Object]),
            "coolable" => (P::Coolable, &[Object]),
            "sliceable" => (P::Sliceable, &[Object]),
            "toggleable" => (P::Toggleable, &[Object]),
            "isreceptacleobject" => (P::ReceptacleObject, &[Object]),
            "isclean" => (P::Clean, &[Object]),
            "ishot" => (P::Hot, &[Object]),
            "iscool" => (P::Cool, &[Object]),
            "issliced" => (P::Sliced, &[Object]),
            "istoggled" => (P::Toggled, &[Object]),
            "moveable" | "ison" | "isreceptacleobjectfull" => (P::Unused, &[Object]),
            "full" | "checked" => (P::Unused, &[Receptacle]),
            "examined" => (P::Unused, &[Place]),
            "wasinreceptacle" => (P::Unused, &[Object, Receptacle]),
            _ => return None,
        })
    }
}

/// One fact of the start. A predicate of one argument repeats it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact<'a> {
    pub(crate) predicate: Predicate,
    pub(crate) arguments: [&'a str; 2],
    pub(crate) offset: usize,
}

/// A problem as it is written, with the ids in lower case.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) sorts: HashMap<&'a str, Sort>,
    pub(crate) facts: Vec<Fact<'a>>,
    pub(crate) goal: Vec<Clause<'a>>,
    pub(crate) goal_offset: usize,
}

/// Reads a problem from its text in lower case.
pub(crate) fn read_problem(text: &str) -> Result<Problem<'_>, Fault> {
    let mut tokens = Tokens::new(text);
    tokens.expect(Token::Open)?;
    tokens.expect(Token::Word("define"))?;
    let mut problem = Problem {
        sorts: HashMap::with_capacity(512),
        facts: Vec::with_capacity(1024),
        goal: Vec::new(),
        goal_offset: 0,
    };
    loop {
        let offset = tokens.offset();
        match tokens.next()? {
            Token::Open => read_section(&mut tokens, &mut problem)?,
            Token::Close => break,
            other => {
                let message = format!("expected a section in brackets, found {}", spell(other));
                return Err(Fault::new(offset, message));
            }
        }
    }
    if problem.goal.is_empty() {
        return Err(Fault::new(tokens.offset(), "the problem has no (:goal …)"));
    }
    Ok(problem)
}

fn read_section<'a>(tokens: &mut Tokens<'a>, problem: &mut Problem<'a>) -> Result<(), Fault> {
    let offset = tokens.offset();
    match tokens.word()? {
        "problem" | ":domain" | ":metric" | ":requirements" => tokens.skip_to_close(),
        ":objects" => read_declarations(tokens, &mut problem.sorts),
        ":init" => read_facts(tokens, problem),
        ":goal" => {
            problem.goal_offset = offset;
            problem.goal = read_goal(tokens)?;
            tokens.expect(Token::Close)
        }
        other => Err(Fault::new(offset, format!("unknown section {}", spell(Token::Word(other))))),
    }
}

/// `id id - type id - type …)`
fn read_declarations<'a>(
    tokens: &mut Tokens<'a>,
    sorts: &mut HashMap<&'a str, Sort>,
) -> Result<(), Fault> {
    let mut untyped = Vec::new();
    loop {
        let offset = tokens.offset();
        match tokens.next()? {
            Token::Close if untyped.is_empty() => return Ok(()),
            Token::Word("-") => {
                let sort = read_sort(tokens)?;
                for (id, offset) in untyped.drain(..) {
                    if sorts.insert(id, sort).is_some() {
                        let message = format!("{} is declared twice", spell(Token::Word(id)));
                        return Err(Fault::new(offset, message));
                    }
                }
            }
            Token::Word(id) => untyped.push((id, offset)),
            other => {
                let message = format!("expected \"id - type\", found {}", spell(other));
                return Err(Fault::new(offset, message));
            }
        }
    }
}

fn read_sort(tokens: &mut Tokens<'_>) -> Result<Sort, Fault> {
    let offset = tokens.offset();
    let name = tokens.word()?;
    Sort::from_name(name)
        .ok_or_else(|| Fault::new(offset, format!("unknown type {}", spell(Token::Word(name)))))
}

fn read_facts<'a>(tokens: &mut Tokens<'a>, problem: &mut Problem<'a>) -> Result<(), Fault> {
    loop {
        let offset = tokens.offset();
        match tokens.next()? {
            Token::Close => return Ok(()),
            Token::Open => problem.facts.extend(read_fact(tokens, &problem.sorts, offset)?),
            other => {
                let message = format!("expected a fact in brackets, found {}", spell(other));
                return Err(Fault::new(offset, message));
            }
        }
    }
}

/// The rest of a fact; none for a cost, which plays no part.
fn read_fact<'a>(
    tokens: &mut Tokens<'a>,
    sorts: &HashMap<&'a str, Sort>,
    offset: usize,
) -> Result<Option<Fact<'a>>, Fault> {
    let name = tokens.word()?;
    if name == "=" {
        return tokens.skip_to_close().map(|()| None);
    }
    let Some((predicate, wanted)) = Predicate::from_name(name) else {
        let message = format!("the engine has no fact {} at the start", spell(Token::Word(name)));
        return Err(Fault::new(offset, message));
    };
    let mut arguments = [""; 2];
    for (index, &sort) in wanted.iter().enumerate() {
        let offset = tokens.offset();
        let id = tokens.word()?;
        match sorts.get(id) {
            Some(&found) if found == sort => arguments[index] = id,
            Some(&found) => {
                let message = format!("{id} is declared as {found:?}, but {name} wants {sort:?}");
                return Err(Fault::new(offset, message));
            }
            None => {
                let message = format!("{} is not declared", spell(Token::Word(id)));
                return Err(Fault::new(offset, message));
            }
        }
    }
    tokens.expect(Token::Close)?;
    if wanted.len() == 1 {
        arguments[1] = arguments[0];
    }
    Ok(Some(Fact { predicate, arguments, offset }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: &str = "(:goal (and (exists (?o - object ?a - agent) \
                        (and (objecttype ?o mugtype) (holds ?a ?o)))))";

    fn fault(declarations: &str, facts: &str) -> String {
        let text = format!("(define (problem p) (:objects {declarations}) (:init {facts}) {GOAL})");
        read_problem(&text).unwrap_err().message
    }

    #[test]
    fn a_fact_needs_declared_ids_of_its_types() {
        assert!(fault("b - receptacle", "(openable c)").contains("\"c\" is not declared"));
        let message = fault("b - receptacle", "(pickupable b)");
        assert!(message.contains("b is declared as Receptacle, but pickupable wants Object"));
    }

    #[test]
    fn unknown_facts_types_and_sections_are_named() {
        assert!(fault("b - receptacle", "(holds b)").contains("no fact \"holds\""));
        assert!(fault("b - robot", "").contains("unknown type \"robot\""));
        assert!(fault("b - object b - object", "").contains("declared twice"));
        let message = read_problem("(define (:oops))").unwrap_err().message;
        assert!(message.contains("unknown section \":oops\""));
    }

    #[test]
    fn costs_play_no_part() {
        let text = format!("(define (:init (= (total-cost) 0)) {GOAL} (:metric minimize (x)))");
        assert!(read_problem(&text).unwrap().facts.is_empty());
    }
}
