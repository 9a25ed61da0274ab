//! A world, a task and a form of prompts, played as a dialogue.

use sapo_core::env::{
    Dialogue, DialogueError, Environment, Exchange, Observation, Prompt, Status, Step,
};

use super::{PastTurn, Projected, Projection, PromptForm, Scene};

/// How a task is played with a model.
#[derive(Clone, Debug)]
pub struct PlayConfig {
    /// How the episode is shown.
    pub form: PromptForm,
    /// How actions are read out of replies.
    pub projection: Projection,
    /// Finds the task in the first observation.
    pub task: fn(&str) -> &str,
    /// What the world's rewards are multiplied by.
    pub reward_scale: f32,
    /// Ends the episode after so many invalid replies in a row, as a terminal state. It spares training
    /// the long tails of lost episodes; evaluation leaves it out.
    pub max_invalid_streak: Option<usize>,
}

impl PlayConfig {
    /// A form and a reading, with rewards as they are and no limit to invalid replies; the whole first
    /// observation is the task.
    pub fn new(form: PromptForm, projection: Projection) -> Self {
        PlayConfig { form, projection, task: whole, reward_scale: 1.0, max_invalid_streak: None }
    }
}

fn whole(first_observation: &str) -> &str {
    first_observation
}

/// One task of an [`Environment`], played as a [`Dialogue`].
///
/// The history keeps the action that was read out of a reply, not the reply.
#[derive(Clone, Debug)]
pub struct Play<E: Environment> {
    environment: E,
    task: E::Task,
    name: String,
    kind: String,
    config: PlayConfig,
    scene: Progress,
}

/// What has happened since the dialogue was opened.
#[derive(Clone, Debug, Default)]
struct Progress {
    task: String,
    past: Vec<PastTurn>,
    now: Observation,
    invalid_streak: usize,
}

impl<E: Environment> Play<E> {
    /// Sets a task up; `name` and `kind` label its episodes.
    pub fn new(
        environment: E,
        task: E::Task,
        name: impl Into<String>,
        kind: impl Into<String>,
        config: PlayConfig,
    ) -> Self {
        let (name, kind, scene) = (name.into(), kind.into(), Progress::default());
        Play { environment, task, name, kind, config, scene }
    }

    /// The world as it stands.
    pub fn environment(&self) -> &E {
        &self.environment
    }

    /// What the world showed last.
    pub fn observation(&self) -> &Observation {
        &self.scene.now
    }

    fn prompt(&self) -> Prompt {
        let Progress { task, past, now, .. } = &self.scene;
        self.config.form.prompt(Scene { task, past, now })
    }

    fn advance(&mut self, action: &str, valid: bool, next: Observation) {
        let Progress { past, now, invalid_streak, .. } = &mut self.scene;
        let seen = std::mem::replace(now, next);
        past.push(PastTurn { observation: seen.text, action: action.into() });
        *invalid_streak = if valid { 0 } else { *invalid_streak + 1 };
    }

    fn status(&self, of_world: Status) -> Status {
        let lost =
            self.config.max_invalid_streak.is_some_and(|max| self.scene.invalid_streak >= max);
        match of_world {
            Status::Running if lost && self.scene.invalid_streak > 0 => Status::Terminated,
            status => status,
        }
    }

    fn fault(&self, source: E::Error) -> DialogueError {
        DialogueError { task: self.name.clone(), source: Box::new(source) }
    }
}

impl<E> Dialogue for Play<E>
where
    E: Environment,
    E::Task: Send,
{
    fn task(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &str {
        &self.kind
    }

    fn open(&mut self) -> Result<Prompt, DialogueError> {
        let now = self.environment.reset(&self.task).map_err(|error| self.fault(error))?;
        let task = (self.config.task)(&now.text).to_owned();
        self.scene = Progress { task, now, ..Progress::default() };
        Ok(self.prompt())
    }

    fn reply(&mut self, reply: &str) -> Result<Exchange, DialogueError> {
        let Projected { action, valid } =
            self.config.projection.read(reply, &self.scene.now.admissible);
        let step = self.environment.step(&action).map_err(|error| self.fault(error))?;
        let Step { observation, reward, status, score, success } = step;
        self.advance(&action, valid, observation);
        Ok(Exchange {
            action,
            valid,
            reward: reward * self.config.reward_scale,
            status: self.status(status),
            score,
            success,
            next: self.prompt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use sapo_core::env::Message;

    use super::*;
    use crate::prompt::Conversation;
    use crate::toy::{Corridor, CorridorTask};

    fn config() -> PlayConfig {
        PlayConfig::new(PromptForm::Conversation(Conversation::default()), Projection::Plain)
    }

    fn play(config: PlayConfig) -> Play<Corridor> {
        let task = CorridorTask { rooms: 2, start: 0, key: 0 };
        Play::new(Corridor::new(9), task, "corridor/2", "corridor", config)
    }

    #[test]
    fn a_solved_task_gives_its_scaled_reward_once() {
        let mut play = play(PlayConfig { reward_scale: 10.0, ..config() });
        assert!(matches!(play.open().unwrap(), Prompt::Fresh(_)));
        let rewards: Vec<f32> = ["take key", "go right", "open door"]
            .map(|action| play.reply(action).unwrap().reward)
            .to_vec();
        assert_eq!(rewards, [0.0, 0.0, 10.0]);
    }

    #[test]
    fn an_invalid_reply_is_performed_reported_and_not_punished() {
        let mut play = play(config());
        play.open().unwrap();
        let exchange = play.reply("sing").unwrap();
        assert!(!exchange.valid);
        assert_eq!((exchange.reward, exchange.status), (0.0, Status::Running));
        assert_eq!(exchange.action, "sing");
        let Prompt::Continue(messages) = exchange.next else { panic!("one chat") };
        assert_eq!(messages, [Message::user(play.observation().text.clone())]);
    }

    #[test]
    fn too_many_invalid_replies_in_a_row_end_the_episode() {
        let mut play = play(PlayConfig { max_invalid_streak: Some(2), ..config() });
        play.open().unwrap();
        let statuses =
            ["sing", "take key", "sing", "sing"].map(|action| play.reply(action).unwrap().status);
        let [going @ .., last] = statuses;
        assert_eq!(going, [Status::Running; 3]);
        assert_eq!(last, Status::Terminated);
        play.open().unwrap();
        assert_eq!(play.reply("sing").unwrap().status, Status::Running);
    }

    #[test]
    fn the_worlds_own_end_is_kept() {
        let mut play = Play::new(
            Corridor::new(1),
            CorridorTask { rooms: 2, start: 0, key: 0 },
            "corridor/2",
            "corridor",
            PlayConfig { max_invalid_streak: Some(1), ..config() },
        );
        play.open().unwrap();
        assert_eq!(play.reply("sing").unwrap().status, Status::Truncated);
    }

    #[test]
    fn opening_again_forgets_the_past() {
        let mut play = play(config());
        let first = play.open().unwrap();
        play.reply("take key").unwrap();
        assert_eq!(play.open().unwrap(), first);
    }

    #[test]
    fn a_failing_world_is_named_by_its_task() {
        let mut play = play(config());
        let error = play.reply("take key").unwrap_err();
        assert!(error.to_string().contains("corridor/2"), "{error}");
    }
}
