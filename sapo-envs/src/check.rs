//! Checks that any [`Environment`] must pass before its rewards are worth training on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sapo_core::env::{Environment, Observation, Step};

/// One check and what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is checked, as a sentence.
    pub name: &'static str,
    /// Whether it holds.
    pub passed: bool,
    /// What was played, or what went wrong.
    pub detail: String,
}

/// The longest episode that is played, in steps.
const LONGEST: usize = 200;

/// Runs every check on fresh environments from `make`, with random admissible actions.
///
/// The tasks' order and the seed fix the actions. Without tasks there is nothing to check, which is a
/// failed check.
pub fn check_env<E>(make: impl Fn() -> E, tasks: &[E::Task], seed: u64) -> Vec<Check>
where
    E: Environment,
    E::Task: Clone,
{
    let checker = Checker { make: &make, tasks, seed };
    vec![
        named("there are tasks", || checker.has_tasks()),
        named("the same actions give the same episode", || checker.is_deterministic()),
        named("a reset starts afresh", || checker.resets()),
        named("interleaved play equals serial play", || checker.interleaves()),
        named("odd actions are answered", || checker.answers_odd_actions()),
        named("a step after the end repeats the last", || checker.stays_ended()),
        named("rewards are finite and scores between 0 and 1", || checker.has_sane_numbers()),
    ]
}

fn named(name: &'static str, check: impl FnOnce() -> Result<String, String>) -> Check {
    let found = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("it panics: {text}"))
    });
    let passed = found.is_ok();
    Check { name, passed, detail: found.unwrap_or_else(|failure| failure) }
}

struct Checker<'a, E: Environment, M: Fn() -> E> {
    make: &'a M,
    tasks: &'a [E::Task],
    seed: u64,
}

/// An episode as it was seen.
#[derive(PartialEq)]
struct Trace {
    first: Observation,
    actions: Vec<String>,
    steps: Vec<Step>,
}

impl<E: Environment, M: Fn() -> E> Checker<'_, E, M> {
    fn has_tasks(&self) -> Result<String, String> {
        match self.tasks.len() {
            0 => Err("no tasks were given".to_owned()),
            count => Ok(format!("{count} tasks")),
        }
    }

    fn is_deterministic(&self) -> Result<String, String> {
        let mut steps = 0;
        for (index, task) in self.tasks.iter().enumerate() {
            let trace = self.explore(&mut (self.make)(), index)?;
            let again = replay(&mut (self.make)(), task, &trace.actions)?;
            same(index, &trace, &again)?;
            steps += trace.steps.len();
        }
        Ok(format!("{steps} steps"))
    }

    /// One environment for all tasks, left in the middle of each and after its end.
    fn resets(&self) -> Result<String, String> {
        let mut env = (self.make)();
        for (index, task) in self.tasks.iter().enumerate() {
            let trace = self.explore(&mut (self.make)(), index)?;
            let half = &trace.actions[..trace.actions.len() / 2];
            replay(&mut env, task, half)?;
            same(index, &trace, &replay(&mut env, task, &trace.actions)?)?;
            same(index, &trace, &replay(&mut env, task, &trace.actions)?)?;
        }
        Ok(format!("{} tasks on one environment", self.tasks.len()))
    }

    fn interleaves(&self) -> Result<String, String> {
        let explore = |index| self.explore(&mut (self.make)(), index);
        let serial: Vec<Trace> = (0..self.tasks.len()).map(explore).collect::<Result<_, _>>()?;
        let mut envs: Vec<E> = serial.iter().map(|_| (self.make)()).collect();
        let mut woven = Vec::new();
        for (env, task) in envs.iter_mut().zip(self.tasks) {
            let first = env.reset(task).map_err(|error| error.to_string())?;
            woven.push(Trace { first, actions: Vec::new(), steps: Vec::new() });
        }
        for turn in 0..LONGEST {
            for ((env, trace), serial) in envs.iter_mut().zip(&mut woven).zip(&serial) {
                let Some(action) = serial.actions.get(turn) else { continue };
                trace.steps.push(env.step(action).map_err(|error| error.to_string())?);
                trace.actions.push(action.clone());
            }
        }
        for (index, (serial, woven)) in serial.iter().zip(&woven).enumerate() {
            same(index, serial, woven)?;
        }
        Ok(format!("{} environments", envs.len()))
    }

    fn answers_odd_actions(&self) -> Result<String, String> {
        let odd = odd_actions();
        for task in self.tasks {
            for action in &odd {
                let mut env = (self.make)();
                env.reset(task).map_err(|error| error.to_string())?;
                env.step(action).map_err(|error| {
                    let start: String = action.chars().take(20).collect();
                    format!("{start:?} is an error: {error}")
                })?;
            }
        }
        Ok(format!("{} actions", odd.len()))
    }

    fn stays_ended(&self) -> Result<String, String> {
        let mut ended = 0;
        for index in 0..self.tasks.len() {
            let mut env = (self.make)();
            let trace = self.explore(&mut env, index)?;
            let Some(last) = trace.steps.last().filter(|step| step.status.is_done()) else {
                continue;
            };
            for action in trace.actions.iter().take(3).map(String::as_str).chain([""]) {
                let after = env.step(action).map_err(|error| error.to_string())?;
                if after != *last {
                    return Err(format!(
                        "task {index}: {action:?} after the end changes the result"
                    ));
                }
            }
            ended += 1;
        }
        Ok(format!("{ended} episodes ended within {LONGEST} steps"))
    }

    fn has_sane_numbers(&self) -> Result<String, String> {
        for index in 0..self.tasks.len() {
            let trace = self.explore(&mut (self.make)(), index)?;
            for (turn, step) in trace.steps.iter().enumerate() {
                if !step.reward.is_finite() || !(0.0..=1.0).contains(&step.score) {
                    let Step { reward, score, .. } = step;
                    return Err(format!(
                        "task {index}, step {turn}: reward {reward}, score {score}"
                    ));
                }
            }
        }
        Ok(format!("{} episodes", self.tasks.len()))
    }

    /// Plays random actions, mostly admissible ones, until the end or long enough.
    fn explore(&self, env: &mut E, index: usize) -> Result<Trace, String> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed.wrapping_add(index as u64));
        let first = env.reset(&self.tasks[index]).map_err(|error| error.to_string())?;
        let mut trace = Trace { first, actions: Vec::new(), steps: Vec::new() };
        while trace.steps.len() < LONGEST {
            let last = trace.steps.last();
            if last.is_some_and(|step| step.status.is_done()) {
                break;
            }
            let admissible =
                last.map_or(&trace.first.admissible, |step| &step.observation.admissible);
            // One choice more than there are actions: now and then the world should refuse.
            let choice = random.random_range(0..=admissible.len());
            let action = admissible.get(choice).map_or("no such action", String::as_str).to_owned();
            trace.steps.push(env.step(&action).map_err(|error| error.to_string())?);
            trace.actions.push(action);
        }
        Ok(trace)
    }
}

fn replay<E: Environment>(
    env: &mut E,
    task: &E::Task,
    actions: &[String],
) -> Result<Trace, String> {
    let first = env.reset(task).map_err(|error| error.to_string())?;
    let step = |action: &String| env.step(action).map_err(|error| error.to_string());
    let steps = actions.iter().map(step).collect::<Result<_, _>>()?;
    Ok(Trace { first, actions: actions.to_vec(), steps })
}

fn same(index: usize, expected: &Trace, found: &Trace) -> Result<(), String> {
    if expected.first != found.first {
        return Err(format!("task {index}: the first observation differs"));
    }
    let differs = expected.steps.iter().zip(&found.steps).position(|(left, right)| left != right);
    match differs {
        Some(turn) => Err(format!("task {index}: step {turn} differs")),
        None if expected.steps.len() != found.steps.len() => {
            Err(format!("task {index}: the episodes differ in length"))
        }
        None => Ok(()),
    }
}

fn odd_actions() -> Vec<String> {
    let odd =
        ["", " ", "\n", "\0", "go", "take", "ÄÖ", "去桌子", "🙂", "\u{202e}look", "<action>", "{}"];
    let mut odd: Vec<String> = odd.map(str::to_owned).to_vec();
    odd.push("a".repeat(100_000));
    odd.push("go to ".repeat(20_000));
    odd
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use sapo_core::env::Status;

    use super::*;

    /// Counts to three; `broken` says how it misbehaves.
    struct Counter {
        count: usize,
        broken: &'static str,
    }

    impl Environment for Counter {
        type Task = ();
        type Error = Infallible;

        fn reset(&mut self, (): &()) -> Result<Observation, Infallible> {
            if self.broken != "keeps its state" {
                self.count = 0;
            }
            Ok(Observation { text: self.count.to_string(), admissible: vec!["add".to_owned()] })
        }

        fn step(&mut self, action: &str) -> Result<Step, Infallible> {
            assert!(self.broken != "panics" || action.is_ascii(), "not ASCII");
            let ended = self.count == 3 && self.broken != "plays on";
            if action == "add" && !ended {
                self.count += 1;
            }
            let done = self.count >= 3;
            Ok(Step {
                observation: Observation {
                    text: self.count.to_string(),
                    admissible: vec!["add".to_owned()],
                },
                reward: if self.broken == "pays NaN" { f32::NAN } else { 1.0 },
                status: if done { Status::Terminated } else { Status::Running },
                score: 0.0,
                success: done,
            })
        }
    }

    fn failures(broken: &'static str, tasks: &[()]) -> Vec<&'static str> {
        let checks = check_env(|| Counter { count: 0, broken }, tasks, 1);
        checks.into_iter().filter(|check| !check.passed).map(|check| check.name).collect()
    }

    #[test]
    fn a_sound_environment_passes() {
        assert_eq!(failures("", &[(), ()]), [""; 0]);
        assert_eq!(failures("", &[]), ["there are tasks"]);
    }

    #[test]
    fn each_fault_fails_its_check() {
        assert_eq!(failures("keeps its state", &[()]), ["a reset starts afresh"]);
        assert_eq!(failures("plays on", &[()]), ["a step after the end repeats the last"]);
        assert_eq!(failures("panics", &[()]), ["odd actions are answered"]);
        assert!(
            failures("pays NaN", &[()]).contains(&"rewards are finite and scores between 0 and 1")
        );
    }
}
