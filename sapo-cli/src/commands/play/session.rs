//! One game between a person and the world.

use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Context, Result};
use sapo_core::env::{Environment, Observation, Status};
use sapo_envs::alfworld::expert::{Expert, Ties};
use sapo_envs::alfworld::{AlfWorld, Game};
use serde::Serialize;

use crate::output::{print, talk};

/// A game under way.
pub(super) struct Session {
    env: AlfWorld,
    game: Arc<Game>,
    observation: Observation,
    /// None where the task has words that the expert does not know.
    expert: Option<Expert>,
    steps: usize,
    status: Status,
    success: bool,
    has_prompt: bool,
}

/// How a game ended.
#[derive(Serialize)]
pub(super) struct Outcome {
    game: String,
    steps: usize,
    success: bool,
    /// Whether the world ended it, and not the player.
    done: bool,
}

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Input<'a> {
    Nothing,
    List,
    Hint,
    Quit,
    Act(&'a str),
    NoSuchNumber(usize),
}

impl Session {
    /// Starts a game and shows its first observation. With a prompt, the person is asked for each line.
    pub(super) fn start(game: Arc<Game>, has_prompt: bool) -> Result<Self> {
        let mut env = AlfWorld::new();
        let observation = env.reset(&game)?;
        print(format!("{}\n", observation.text))?;
        let expert = Expert::new(&observation.text, Ties::ByNumber).ok();
        let status = Status::Running;
        Ok(Session { env, game, observation, expert, steps: 0, status, success: false, has_prompt })
    }

    /// Plays until the game, the person or the input ends.
    pub(super) fn play(mut self, input: &mut impl BufRead) -> Result<Outcome> {
        while !self.status.is_done() {
            if self.has_prompt {
                print("> ")?;
            }
            let Some(line) = read_line(input)? else { break };
            match interpret(&line, &self.observation.admissible) {
                Input::Nothing => {}
                Input::Quit => break,
                Input::List => print(numbered(&self.observation.admissible))?,
                Input::Hint => print(format!("{}\n", self.hint()))?,
                Input::NoSuchNumber(number) => {
                    let count = self.observation.admissible.len();
                    talk(format!("there is no action {number}; `?` lists 1 to {count}"));
                }
                Input::Act(action) => {
                    let action = action.to_owned();
                    self.act(&action)?;
                }
            }
        }
        let name = self.game.name().to_owned();
        let (success, done) = (self.success, self.status.is_done());
        Ok(Outcome { game: name, steps: self.steps, success, done })
    }

    fn act(&mut self, action: &str) -> Result<()> {
        let step = self.env.step(action)?;
        if let Some(expert) = &mut self.expert {
            expert.notice_admissible(&self.observation.admissible);
            expert.observe(action, &step.observation.text);
        }
        self.steps += 1;
        self.status = step.status;
        self.success = step.success;
        self.observation = step.observation;
        print(format!("{}\n", self.observation.text))
    }

    fn hint(&mut self) -> String {
        let Some(expert) = &mut self.expert else {
            return "the expert does not understand this task".to_owned();
        };
        expert.notice_admissible(&self.observation.admissible);
        expert.act()
    }
}

impl Outcome {
    /// The last word to the player.
    pub(super) fn describe(&self) -> String {
        let steps = match self.steps {
            1 => "1 step".to_owned(),
            steps => format!("{steps} steps"),
        };
        match (self.success, self.done) {
            (true, _) => format!("solved in {steps}"),
            (false, true) => format!("not solved; the game is over after {steps}"),
            (false, false) => format!("left after {steps}"),
        }
    }
}

/// A line without its end; nothing at the end of the input. Bytes that are no text become `�`.
fn read_line(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let read = input.read_until(b'\n', &mut line).context("cannot read stdin")?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).trim().to_owned()))
}

fn interpret<'a>(line: &'a str, admissible: &'a [String]) -> Input<'a> {
    match line {
        "" => Input::Nothing,
        "?" => Input::List,
        "hint" => Input::Hint,
        "quit" => Input::Quit,
        line => match line.parse::<usize>() {
            Err(_) => Input::Act(line),
            Ok(number) => match number.checked_sub(1).and_then(|index| admissible.get(index)) {
                Some(action) => Input::Act(action),
                None => Input::NoSuchNumber(number),
            },
        },
    }
}

fn numbered(actions: &[String]) -> String {
    let line = |(index, action): (usize, &String)| format!("{:3}  {action}\n", index + 1);
    actions.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_action_its_number_or_a_wish() {
        let actions = ["look".to_owned(), "open drawer 1".to_owned()];
        assert_eq!(interpret("2", &actions), Input::Act("open drawer 1"));
        assert_eq!(interpret("go to bed 1", &actions), Input::Act("go to bed 1"));
        assert_eq!(interpret("help", &actions), Input::Act("help"));
        assert_eq!(interpret("0", &actions), Input::NoSuchNumber(0));
        assert_eq!(interpret("3", &actions), Input::NoSuchNumber(3));
        assert_eq!(interpret("?", &actions), Input::List);
    }
}
