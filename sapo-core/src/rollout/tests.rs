use std::convert::Infallible;

use super::*;
use crate::actor::Finish;
use crate::env::{Exchange, Message, Prompt};
use crate::episode::End;
use crate::testing::{episode, turn};

/// What a scripted world does with one reply.
#[derive(Clone, Copy, PartialEq)]
enum Move {
    Go,
    Fail,
    End(Status),
}

/// How a scripted world words its prompts.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Conversation,
    History,
}

/// A world that plays one script an attempt, and then its last script again.
struct Script {
    name: String,
    form: Form,
    attempts: Vec<Vec<Move>>,
    attempt: Option<usize>,
    turn: usize,
}

fn script(name: &str, form: Form, attempts: &[&[Move]]) -> Box<dyn Dialogue> {
    let attempts = attempts.iter().map(|moves| moves.to_vec()).collect();
    Box::new(Script { name: name.to_owned(), form, attempts, attempt: None, turn: 0 })
}

impl Script {
    fn moves(&self) -> &[Move] {
        let attempt = self.attempt.expect("it was opened");
        &self.attempts[attempt.min(self.attempts.len() - 1)]
    }

    fn fault(&self) -> DialogueError {
        DialogueError { task: self.name.clone(), source: "the world broke".into() }
    }

    /// The task's name and the number of the turn, as many characters as there are tokens.
    fn words(&self) -> Vec<Message> {
        vec![Message::user(format!("{}{}", self.name, self.turn))]
    }
}

impl Dialogue for Script {
    fn task(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &str {
        "script"
    }

    fn open(&mut self) -> Result<Prompt, DialogueError> {
        self.attempt = Some(self.attempt.map_or(0, |attempt| attempt + 1));
        self.turn = 0;
        if self.moves().is_empty() {
            return Err(self.fault());
        }
        Ok(Prompt::Fresh(self.words()))
    }

    fn reply(&mut self, reply: &str) -> Result<Exchange, DialogueError> {
        let now = self.moves()[self.turn];
        self.turn += 1;
        let status = match now {
            Move::Go => Status::Running,
            Move::Fail => return Err(self.fault()),
            Move::End(status) => status,
        };
        Ok(Exchange {
            action: reply.to_uppercase(),
            valid: self.turn != 2,
            reward: self.turn as f32,
            status,
            score: self.turn as f32 / 10.0,
            success: status == Status::Terminated,
            next: match self.form {
                Form::Conversation => Prompt::Continue(self.words()),
                Form::History => Prompt::Fresh(self.words()),
            },
        })
    }
}

/// Prompts that an [`Echo`] has no room for.
const TOO_LONG: [&str; 2] = ["full1", "huge0"];

/// Reads a prompt as the bytes of its text and replies "ok" to everything.
#[derive(Default)]
struct Echo {
    /// The prompts of each call.
    calls: Vec<Vec<String>>,
    slots: Vec<Vec<usize>>,
    seeds: Vec<u64>,
    released: Vec<usize>,
    /// The prompts whose value was asked for.
    valued: Vec<String>,
}

fn text(prompt: &Prompt) -> String {
    let (Prompt::Fresh(messages) | Prompt::Continue(messages)) = prompt;
    messages.iter().map(|message| message.content.as_str()).collect()
}

fn bytes(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

impl Actor for Echo {
    type Error = Infallible;

    fn act(
        &mut self,
        requests: &[TurnRequest<'_>],
    ) -> Result<Vec<Result<Reply, NoRoom>>, Infallible> {
        self.calls.push(requests.iter().map(|request| text(request.prompt)).collect());
        self.slots.push(requests.iter().map(|request| request.slot).collect());
        self.seeds.extend(requests.iter().map(|request| request.seed));
        let reply = |request: &TurnRequest<'_>| {
            let prompt = text(request.prompt);
            let full = NoRoom::Prompt { tokens: prompt.len(), limit: 0 };
            let reply = Reply {
                context: bytes(&prompt),
                tokens: bytes("ok"),
                log_probs: vec![-0.5, -0.25],
                value: 0.1,
                action_value: 0.2,
                finish: Finish::Stop,
                text: "ok".to_owned(),
            };
            if TOO_LONG.contains(&prompt.as_str()) { Err(full) } else { Ok(reply) }
        };
        Ok(requests.iter().map(reply).collect())
    }

    fn release(&mut self, slot: usize) {
        self.released.push(slot);
    }

    fn value(&mut self, request: &TurnRequest<'_>) -> Result<Result<f32, NoRoom>, Infallible> {
        self.valued.push(text(request.prompt));
        Ok(Ok(0.75))
    }
}

const CONFIG: RolloutConfig = RolloutConfig { slots: 2, seed: 1, retries: 1, bootstrap: false };
const WON: Move = Move::End(Status::Terminated);
const LATE: Move = Move::End(Status::Truncated);

fn play_all(tasks: Vec<Box<dyn Dialogue>>, config: RolloutConfig) -> (Rollout, Echo) {
    let mut actor = Echo::default();
    let Ok(rollout) = play(&mut actor, tasks, config, |_| ControlFlow::Continue(()));
    (rollout, actor)
}

fn names(rollout: &Rollout) -> Vec<&str> {
    rollout.episodes.iter().map(|episode| episode.task.as_str()).collect()
}

#[test]
fn a_slot_is_refilled_as_soon_as_its_episode_ends() {
    let task = |name, moves: &[Move]| script(name, Form::Conversation, &[moves]);
    let tasks =
        vec![task("a", &[Move::Go, Move::Go, WON]), task("b", &[WON]), task("c", &[Move::Go, WON])];
    let (rollout, actor) = play_all(tasks, CONFIG);
    assert_eq!(actor.calls, [["a0", "b0"], ["a1", "c0"], ["a2", "c1"]]);
    assert_eq!(actor.slots, [[0, 1]; 3]);
    assert_eq!(actor.released, [1, 0, 1]);
    assert_eq!(names(&rollout), ["a", "b", "c"]);
}

#[test]
fn episodes_come_in_the_order_of_their_tasks() {
    let long = [Move::Go, Move::Go, Move::Go, WON];
    let tasks =
        vec![script("long", Form::History, &[&long]), script("short", Form::History, &[&[WON]])];
    let (rollout, _) = play_all(tasks, CONFIG);
    assert_eq!(names(&rollout), ["long", "short"]);
    assert_eq!(rollout.episodes[0].turns.len(), 4);
}

// By hand: "a0" "ok" "a1" "ok" are two bytes each, so the replies are at 2..4 and 6..8.
#[test]
fn a_conversation_is_one_stream_with_many_turns() {
    let tasks = vec![script("a", Form::Conversation, &[&[Move::Go, WON]])];
    let (rollout, _) = play_all(tasks, CONFIG);
    let Episode { streams, turns, .. } = &rollout.episodes[0];
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0].tokens, bytes("a0oka1ok"));
    let places: Vec<_> = turns.iter().map(|turn| (turn.stream, turn.response.clone())).collect();
    assert_eq!(places, [(0, 2..4), (0, 6..8)]);
}

#[test]
fn prompts_with_a_history_are_one_stream_a_turn() {
    let tasks = vec![script("a", Form::History, &[&[Move::Go, WON]])];
    let (rollout, _) = play_all(tasks, CONFIG);
    let Episode { streams, turns, .. } = &rollout.episodes[0];
    let tokens: Vec<_> = streams.iter().map(|stream| stream.tokens.clone()).collect();
    assert_eq!(tokens, [bytes("a0ok"), bytes("a1ok")]);
    let places: Vec<_> = turns.iter().map(|turn| (turn.stream, turn.response.clone())).collect();
    assert_eq!(places, [(0, 2..4), (1, 2..4)]);
}

#[test]
fn an_episode_keeps_what_was_said_and_what_came_of_it() {
    let tasks = vec![script("a", Form::Conversation, &[&[Move::Go, WON]])];
    let (rollout, _) = play_all(tasks, CONFIG);
    let episode = &rollout.episodes[0];
    assert_eq!((episode.task.as_str(), episode.kind.as_str()), ("a", "script"));
    assert_eq!((episode.end, episode.success, episode.score), (End::Terminated, true, 0.2));
    assert_eq!((episode.total_reward(), episode.response_tokens()), (3.0, 4));
    let turn = &episode.turns[1];
    assert_eq!((turn.reply.as_str(), turn.action.as_str()), ("ok", "OK"));
    assert_eq!((turn.valid, turn.reward, turn.finish), (false, 2.0, Finish::Stop));
    assert_eq!((turn.value, turn.action_value), (0.1, 0.2));
    assert_eq!(turn.log_probs, [-0.5, -0.25]);
}

#[test]
fn a_task_whose_world_fails_begins_again_from_nothing() {
    let attempts: [&[Move]; 2] = [&[Move::Go, Move::Fail], &[Move::Go, WON]];
    let tasks = vec![script("a", Form::Conversation, &attempts)];
    let (rollout, actor) = play_all(tasks, CONFIG);
    assert_eq!((rollout.faults.len(), rollout.dropped), (1, 0));
    assert_eq!(rollout.faults[0].to_string(), "task a: the world broke");
    assert_eq!(actor.released, [0, 0], "after the fault and after the end");
    let Episode { streams, turns, .. } = &rollout.episodes[0];
    assert_eq!((streams.len(), turns.len()), (1, 2), "nothing is left of the first attempt");
    assert_eq!(streams[0].tokens, bytes("a0oka1ok"));
    let mut seeds = actor.seeds;
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4, "another attempt draws other replies");
}

#[test]
fn a_task_whose_world_fails_always_is_dropped_and_counted_and_the_others_go_on() {
    let tasks = vec![
        script("a", Form::Conversation, &[&[Move::Go, Move::Fail]]),
        script("b", Form::Conversation, &[&[Move::Go, WON]]),
        script("shut", Form::Conversation, &[&[]]),
        script("c", Form::Conversation, &[&[WON]]),
    ];
    let mut progress = Vec::new();
    let mut actor = Echo::default();
    let observe = |now| {
        progress.push(now);
        ControlFlow::Continue(())
    };
    let Ok(rollout) = play(&mut actor, tasks, CONFIG, observe);
    assert_eq!(names(&rollout), ["b", "c"]);
    // Two attempts of "a" and two of "shut".
    assert_eq!((rollout.faults.len(), rollout.dropped), (4, 2));
    let last = Progress { finished: 2, solved: 2, dropped: 2, total: 4 };
    assert_eq!(progress.last(), Some(&last));
    assert!(!rollout.interrupted);
}

#[test]
fn an_observer_may_end_a_rollout() {
    let tasks = vec![
        script("a", Form::Conversation, &[&[WON]]),
        script("b", Form::Conversation, &[&[Move::Go, Move::Go, WON]]),
        script("c", Form::Conversation, &[&[Move::Go, WON]]),
    ];
    let mut actor = Echo::default();
    let mut rounds = 0;
    let observe = |_| {
        rounds += 1;
        if rounds == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let Ok(rollout) = play(&mut actor, tasks, CONFIG, observe);
    assert!(rollout.interrupted);
    assert_eq!(names(&rollout), ["a"]);
    assert_eq!(actor.calls.len(), 2);
    assert_eq!(actor.released, [0, 0, 1], "no stream is left behind");
}

#[test]
fn only_truncated_episodes_are_asked_for_a_bootstrap() {
    let tasks = || {
        vec![
            script("late", Form::Conversation, &[&[Move::Go, LATE]]),
            script("won", Form::Conversation, &[&[WON]]),
        ]
    };
    let ends = |rollout: &Rollout| rollout.episodes.iter().map(|e| e.end).collect::<Vec<_>>();
    let (rollout, actor) = play_all(tasks(), RolloutConfig { bootstrap: true, ..CONFIG });
    assert_eq!(actor.valued, ["late2"], "the observation after the last turn");
    assert_eq!(ends(&rollout), [End::Truncated { value: Some(0.75) }, End::Terminated]);
    let (rollout, actor) = play_all(tasks(), CONFIG);
    assert!(actor.valued.is_empty());
    assert_eq!(ends(&rollout), [End::Truncated { value: None }, End::Terminated]);
}

#[test]
fn a_reply_is_seeded_by_its_place_and_not_by_its_neighbours() {
    let tasks = || -> Vec<_> {
        let moves = [Move::Go, Move::Go, WON];
        let task = |name| script(name, Form::Conversation, &[&moves]);
        ["a", "b", "c"].map(task).into()
    };
    let seeds = |slots| {
        let (_, actor) = play_all(tasks(), RolloutConfig { slots, ..CONFIG });
        let prompts = actor.calls.concat();
        let mut seeded: Vec<_> = prompts.into_iter().zip(actor.seeds).collect();
        seeded.sort();
        seeded
    };
    assert_eq!(seeds(1), seeds(3));
    assert_ne!(seeds(1)[0].1, seeds(1)[1].1);
}

#[test]
fn an_episode_without_room_for_another_reply_is_truncated_there() {
    let task = |name| script(name, Form::Conversation, &[&[Move::Go, Move::Go, WON]]);
    let config = RolloutConfig { bootstrap: true, ..CONFIG };
    let (rollout, actor) = play_all(vec![task("full"), task("a")], config);
    assert_eq!(names(&rollout), ["full", "a"]);
    let Episode { turns, end, success, .. } = &rollout.episodes[0];
    assert_eq!((turns.len(), *end, *success), (1, End::Truncated { value: None }, false));
    assert_eq!(rollout.episodes[1].turns.len(), 3, "its neighbour goes on");
    assert_eq!(actor.released, [0, 1]);
}

#[test]
fn a_task_whose_first_prompt_leaves_no_room_is_dropped() {
    let task = |name| script(name, Form::Conversation, &[&[WON]]);
    let (rollout, _) = play_all(vec![task("huge"), task("a")], CONFIG);
    assert_eq!(names(&rollout), ["a"]);
    assert_eq!((rollout.dropped, rollout.faults.len()), (1, 1), "and not tried again");
    let fault = "task huge: the prompt has 5 tokens, the limit is 0";
    assert_eq!(rollout.faults[0].to_string(), fault);
}

#[test]
fn no_tasks_are_played_at_once() {
    let (rollout, actor) = play_all(Vec::new(), RolloutConfig { slots: 0, ..CONFIG });
    assert!(rollout.episodes.is_empty() && actor.calls.is_empty());
    let summary = RolloutSummary { world_seconds: 0.0, ..rollout.summary() };
    assert_eq!(summary, RolloutSummary::default());
}

/// An actor that answers nobody.
struct Mute;

impl Actor for Mute {
    type Error = Infallible;

    fn act(
        &mut self,
        _requests: &[TurnRequest<'_>],
    ) -> Result<Vec<Result<Reply, NoRoom>>, Infallible> {
        Ok(Vec::new())
    }

    fn release(&mut self, _slot: usize) {}

    fn value(&mut self, _request: &TurnRequest<'_>) -> Result<Result<f32, NoRoom>, Infallible> {
        Ok(Ok(0.0))
    }
}

#[test]
#[should_panic(expected = "the actor answered 0 of 1 requests")]
fn an_actor_that_leaves_a_request_unanswered_is_refused() {
    let tasks = vec![script("a", Form::Conversation, &[&[WON]])];
    let _ = play(&mut Mute, tasks, CONFIG, |_| ControlFlow::Continue(()));
}

// By hand: two episodes of 1 and 2 turns, of which one is invalid; 4 response tokens of 9.
#[test]
fn a_rollout_is_summed_up_in_numbers() {
    let mut won = episode(vec![0; 3], vec![turn(1..3, 1.0)]);
    (won.success, won.score) = (true, 1.0);
    let mut late = episode(vec![0; 6], vec![turn(2..3, 0.5), turn(4..5, -0.5)]);
    (late.turns[0].valid, late.score) = (false, 0.5);
    late.end = End::Truncated { value: None };
    let rollout = Rollout {
        episodes: vec![won, late],
        faults: vec![DialogueError { task: "x".to_owned(), source: "broke".into() }],
        dropped: 1,
        actor_time: Duration::from_millis(1500),
        world_time: Duration::from_millis(250),
        ..Rollout::default()
    };
    let expected = RolloutSummary {
        episodes: 2,
        turns: 3,
        success: 0.5,
        mean_score: 0.75,
        mean_reward: 0.5,
        mean_turns: 1.5,
        response_tokens: 4,
        stream_tokens: 9,
        invalid_share: 1.0 / 3.0,
        truncated_share: 0.5,
        faults: 1,
        dropped: 1,
        actor_seconds: 1.5,
        world_seconds: 0.25,
    };
    assert_eq!(rollout.summary(), expected);
}
