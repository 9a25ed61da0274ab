//! Trains a foreign model with the SAPO loss alone, on made-up episodes.
//!
//! The model is no [`CausalLm`](sapo_core::CausalLm) and there is no rollout: only logits and episodes.
//! The task is to answer the question 1 with the token 2, in one turn; other answers are worth nothing.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::prelude::*;
use sapo_core::{
    ActionSoftmax, Algorithm, End, Episode, Error, Evaluation, Finish, LossBatch, Sapo, Stream,
    Turn, TurnTarget, ValueTokens,
};

/// Eight tokens to say, and the two value tokens.
const VOCABULARY: usize = 10;
const QUESTION: u32 = 1;
const ANSWER: u32 = 2;

/// A model that looks at one token at a time.
#[derive(Module, Debug)]
struct Foreign {
    embedding: Embedding,
    head: Linear,
}

impl Foreign {
    fn new(device: &Device) -> Self {
        Foreign {
            embedding: EmbeddingConfig::new(VOCABULARY, 16).init(device),
            head: LinearConfig::new(16, VOCABULARY).init(device),
        }
    }

    /// The logits after each token. `[positions, vocabulary]`
    fn logits(&self, tokens: &[u32]) -> Tensor<2> {
        let tokens = int(tokens, &self.head.weight.device());
        self.head.forward(self.embedding.forward(tokens.unsqueeze())).squeeze_dim(0)
    }
}

fn main() -> Result<(), Error> {
    let device = Device::flex().autodiff();
    device.seed(0);
    let value_tokens = ValueTokens::new(8, 9, VOCABULARY)?;
    let softmax = ActionSoftmax { value_tokens: Some(value_tokens), temperature: 1.0 };
    let mut sapo = Sapo { max_return: 1.0, ..Sapo::new(softmax) };
    sapo.objective.kl_coefficient = 0.0;
    let mut model = Foreign::new(&device);
    let mut optimizer = AdamWConfig::new().init();
    for step in 0..30 {
        let episodes: Vec<Episode> =
            (0..8).map(|answer| play(&model, &sapo, QUESTION, answer)).collect();
        let loss = loss(&model, &sapo, &episodes);
        println!(
            "step {step:2}  loss {:+.4}  p(answer) {:.3}",
            scalar(&loss),
            skill(&model, &sapo)
        );
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.02, model, gradients);
    }
    Ok(())
}

/// The SAPO loss of one-turn episodes: all that is specific to it.
fn loss(model: &Foreign, sapo: &Sapo, episodes: &[Episode]) -> Tensor<1> {
    let targets: Vec<TurnTarget> = sapo.targets(episodes).turns.concat();
    let turns: Vec<&Turn> = episodes.iter().flat_map(|episode| &episode.turns).collect();
    let column = |read: &dyn Fn(usize) -> f32| float((0..turns.len()).map(read).collect(), model);
    let batch = LossBatch {
        old_log_probs: column(&|turn| turns[turn].log_probs[0]),
        reference_log_probs: None,
        advantages: column(&|turn| targets[turn].advantage),
        token_weights: column(&|_| 1.0 / turns.len() as f32),
        old_values: column(&|turn| turns[turn].value),
        value_targets: column(&|turn| targets[turn].value),
        old_action_values: column(&|turn| turns[turn].action_value),
        action_value_targets: column(&|turn| targets[turn].action_value),
        turn_weights: column(&|_| 1.0 / turns.len() as f32),
    };
    sapo.loss(evaluate(model, sapo, episodes), &batch).loss
}

/// What the model says now: `V` after the question, `log pi` of the answer, `Q` after the answer.
fn evaluate(model: &Foreign, sapo: &Sapo, episodes: &[Episode]) -> Evaluation {
    let questions: Vec<u32> = episodes.iter().map(|episode| episode.streams[0].tokens[0]).collect();
    let answers: Vec<u32> = episodes.iter().map(|episode| episode.streams[0].tokens[1]).collect();
    let (before, after) = (model.logits(&questions), model.logits(&answers));
    let value_tokens = sapo.softmax.value_tokens.expect("SAPO reads values off two tokens");
    let scores = sapo.softmax.score(before.clone(), int(&answers, &before.device()));
    Evaluation {
        log_probs: scores.log_probs,
        entropy: scores.entropy,
        value_logits: scores.value_logits,
        action_value_logits: value_tokens.difference(after),
    }
}

/// An episode in which the model said `answer` to `question`. A real agent would sample.
fn play(model: &Foreign, sapo: &Sapo, question: u32, answer: u32) -> Episode {
    let correct = answer == ANSWER;
    let mut episode = Episode {
        task: "answer".to_owned(),
        kind: String::new(),
        streams: vec![Stream { tokens: vec![question, answer] }],
        turns: vec![Turn {
            stream: 0,
            response: 1..2,
            log_probs: vec![0.0],
            value: 0.0,
            action_value: 0.0,
            finish: Finish::Stop,
            reply: answer.to_string(),
            action: answer.to_string(),
            valid: true,
            reward: if correct { 1.0 } else { 0.0 },
        }],
        end: End::Terminated,
        success: correct,
        score: if correct { 1.0 } else { 0.0 },
    };
    let now = evaluate(model, sapo, std::slice::from_ref(&episode));
    let turn = &mut episode.turns[0];
    turn.log_probs = vec![scalar(&now.log_probs)];
    turn.value = scalar(&sapo.readout().read(now.value_logits));
    turn.action_value = scalar(&sapo.readout().read(now.action_value_logits));
    episode
}

/// The probability of the right answer.
fn skill(model: &Foreign, sapo: &Sapo) -> f32 {
    let right = play(model, sapo, QUESTION, ANSWER);
    right.turns[0].log_probs[0].exp()
}

fn int(tokens: &[u32], device: &Device) -> Tensor<1, Int> {
    let ids: Vec<i32> = tokens.iter().map(|&token| token as i32).collect();
    Tensor::from_data(TensorData::new(ids, [tokens.len()]), device)
}

fn float(numbers: Vec<f32>, model: &Foreign) -> Tensor<1> {
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), &model.head.weight.device())
}

fn scalar(tensor: &Tensor<1>) -> f32 {
    tensor.to_data().iter::<f32>().next().unwrap_or(f32::NAN)
}
