//! Prompt texts with named fields.

use std::fmt;
use std::str::FromStr;

/// What a field of a prompt text stands for.
///
/// The names are those of the published prompts, so that those can be taken over as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Task,
    StepCount,
    HistoryLength,
    History,
    CurrentStep,
    Observation,
    Actions,
}

const FIELDS: [(&str, Field); 8] = [
    ("task_description", Field::Task),
    ("step_count", Field::StepCount),
    ("history_length", Field::HistoryLength),
    ("action_history", Field::History),
    ("current_step", Field::CurrentStep),
    ("current_observation", Field::Observation),
    ("admissible_actions", Field::Actions),
    ("available_actions", Field::Actions),
];

/// What is wrong with a prompt text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordingError {
    /// A field that no prompt has.
    #[error("the prompt text has an unknown field {{{name}}}; the fields are {}", Known)]
    UnknownField {
        /// The name between the braces.
        name: String,
    },
    /// A brace without its counterpart.
    #[error("the prompt text has a lone brace near {near:?}; write it twice to show it")]
    LoneBrace {
        /// The text from there.
        near: String,
    },
}

struct Known;

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = FIELDS.iter().map(|(name, _)| format!("{{{name}}}")).collect();
        f.write_str(&names.join(", "))
    }
}

/// A prompt text whose fields, such as `{current_observation}`, are filled in each turn. A brace that is
/// to be shown is written twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

impl FromStr for Wording {
    type Err = WordingError;

    fn from_str(text: &str) -> Result<Self, WordingError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            pieces.push(Piece::Text(before.into()));
            let piece;
            (piece, rest) = first_piece(brace)?;
            pieces.push(piece);
        }
        pieces.push(Piece::Text(rest.into()));
        Ok(Wording { pieces })
    }
}

/// The piece at the beginning of a text that begins with a brace, and the text after it.
fn first_piece(text: &str) -> Result<(Piece, &str), WordingError> {
    for (twice, once) in [("{{", "{"), ("}}", "}")] {
        if let Some(rest) = text.strip_prefix(twice) {
            return Ok((Piece::Text(once.into()), rest));
        }
    }
    let lone = || WordingError::LoneBrace { near: text.chars().take(20).collect() };
    let inner = text.strip_prefix('{').ok_or_else(lone)?;
    let (name, rest) = inner.split_once('}').ok_or_else(lone)?;
    let field = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
    let field = field.ok_or_else(|| WordingError::UnknownField { name: name.into() })?;
    Ok((Piece::Field(field), rest))
}

impl Wording {
    /// A text of this crate.
    ///
    /// # Panics
    /// If it does not parse.
    pub(crate) fn built_in(text: &str) -> Self {
        text.parse().unwrap_or_else(|error| panic!("built-in prompt: {error}"))
    }

    /// The text with each field replaced; what is put in is never searched for fields.
    pub(super) fn fill(&self, value: impl Fn(Field) -> String) -> String {
        let filled = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Field(field) => value(*field),
        });
        filled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, WordingError> {
        Ok(text.parse::<Wording>()?.fill(|field| format!("<{field:?} {{x}}>")))
    }

    #[test]
    fn fields_are_filled_once() {
        assert_eq!(
            filled("a {current_step}{available_actions} {{b}}").unwrap(),
            "a <CurrentStep {x}><Actions {x}> {b}"
        );
    }

    #[test]
    fn an_unknown_field_is_an_error_that_lists_the_known_ones() {
        let message = filled("a {obs}").unwrap_err().to_string();
        assert!(
            message.contains("{obs}") && message.contains("{current_observation}"),
            "{message}"
        );
    }

    #[test]
    fn a_lone_brace_is_an_error() {
        for text in ["a { b", "a } b", "{"] {
            assert!(matches!(filled(text), Err(WordingError::LoneBrace { .. })), "{text}");
        }
    }
}
