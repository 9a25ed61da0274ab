//! Drawing tokens from logits, on the host.

use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use sapo_core::value::ValueTokens;
use sapo_kernels::softmax_numerators;

/// How tokens are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the likeliest token always.
    pub temperature: f32,
    /// Only so many of the likeliest tokens are drawn from; of equal ones those of the lower ids.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens are drawn from, as few as together reach this probability.
    pub top_p: Option<f32>,
    /// Entries that are never drawn.
    pub value_tokens: Option<ValueTokens>,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { temperature: 1.0, top_k: None, top_p: None, value_tokens: None }
    }
}

/// A token and how likely it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// The token.
    pub token: u32,
    /// Its log-probability in nats under the distribution it was drawn from: at the temperature, without
    /// value tokens, renormalised over what `top_k` and `top_p` left. 0 at temperature 0.
    pub log_prob: f32,
}

/// The logits hold a NaN or an infinity, or no token can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's logits are not finite")]
pub struct NotFinite;

/// A token that may be drawn, and its scaled logit.
type Candidate = (u32, f64);

impl Sampling {
    /// Draws one token.
    ///
    /// # Errors
    /// If the logits hold a NaN or a positive infinity.
    pub fn draw(&self, logits: &[f32], random: &mut ChaCha12Rng) -> Result<Drawn, NotFinite> {
        if self.temperature == 0.0 {
            return self.likeliest(logits);
        }
        match (self.top_k, self.top_p) {
            (None, None) => self.draw_from_all(logits, random),
            (top_k, top_p) => {
                let mut kept: Vec<Candidate> = self.candidates(logits).collect();
                if let Some(count) = top_k {
                    keep_likeliest(&mut kept, count);
                }
                if let Some(mass) = top_p {
                    keep_nucleus(&mut kept, f64::from(mass));
                }
                draw_from(|| kept.iter().copied(), random)
            }
        }
    }

    /// As [`draw_from`] all candidates, a vector of them at a time: vocabularies are large.
    fn draw_from_all(&self, logits: &[f32], random: &mut ChaCha12Rng) -> Result<Drawn, NotFinite> {
        let mut weights = logits.to_vec();
        for token in self.value_tokens.iter().flat_map(|tokens| [tokens.plus(), tokens.minus()]) {
            weights[token as usize] = f32::NEG_INFINITY;
        }
        let highest = softmax_numerators(&mut weights, 1.0 / self.temperature);
        let sums: Vec<f64> = weights.chunks(BLOCK).map(sum).collect();
        let total: f64 = sums.iter().sum();
        if !total.is_finite() || !highest.is_finite() {
            return Err(NotFinite);
        }
        let token = find(&weights, &sums, random.random::<f64>() * total).ok_or(NotFinite)?;
        let distance = f64::from(logits[token]) - f64::from(highest);
        let log_prob = distance / f64::from(self.temperature) - total.ln();
        Ok(Drawn { token: token as u32, log_prob: log_prob as f32 })
    }

    fn candidates(&self, logits: &[f32]) -> impl Iterator<Item = Candidate> {
        let temperature = f64::from(self.temperature);
        let value_tokens = self.value_tokens;
        (0_u32..)
            .zip(logits)
            .filter(move |(id, _)| value_tokens.is_none_or(|tokens| !tokens.contains(*id)))
            .map(move |(id, &logit)| (id, f64::from(logit) / temperature))
    }

    fn likeliest(&self, logits: &[f32]) -> Result<Drawn, NotFinite> {
        let greedy = Sampling { temperature: 1.0, ..*self };
        let mut best: Option<Candidate> = None;
        for (id, logit) in greedy.candidates(logits) {
            if logit.is_nan() {
                return Err(NotFinite);
            }
            if best.is_none_or(|(_, highest)| logit > highest) {
                best = Some((id, logit));
            }
        }
        best.map(|(token, _)| Drawn { token, log_prob: 0.0 }).ok_or(NotFinite)
    }
}

/// Sums are kept for so many weights at a time.
const BLOCK: usize = 256;

/// The sum of a block, in an order that leaves the compiler room for vectors.
fn sum(block: &[f32]) -> f64 {
    let mut lanes = [0.0_f64; 8];
    for (place, &weight) in block.iter().enumerate() {
        lanes[place % 8] += f64::from(weight);
    }
    lanes.iter().sum()
}

/// Where the running sum of the weights exceeds `left`. Rounding may leave a little at the end: then the
/// last weight above 0 is meant.
fn find(weights: &[f32], sums: &[f64], mut left: f64) -> Option<usize> {
    let mut start = 0;
    for &sum in sums {
        if left < sum {
            break;
        }
        left -= sum;
        start += BLOCK;
    }
    let reached = weights.iter().skip(start).position(|&weight| {
        left -= f64::from(weight);
        left < 0.0
    });
    match reached {
        Some(offset) => Some(start + offset),
        None => weights.iter().rposition(|&weight| weight > 0.0),
    }
}

/// Draws from the softmax of the candidates, which are walked three times.
fn draw_from<I: Iterator<Item = Candidate>>(
    candidates: impl Fn() -> I,
    random: &mut ChaCha12Rng,
) -> Result<Drawn, NotFinite> {
    let highest = candidates().map(|(_, logit)| logit).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = candidates().map(|(_, logit)| (logit - highest).exp()).sum();
    if !total.is_finite() || !highest.is_finite() {
        return Err(NotFinite);
    }
    let mut left = random.random::<f64>() * total;
    let mut chosen = None;
    for (token, logit) in candidates() {
        let mass = (logit - highest).exp();
        if mass > 0.0 {
            // Rounding may leave a little at the end: then the last possible token is meant.
            chosen = Some((token, logit));
        }
        left -= mass;
        if left < 0.0 {
            break;
        }
    }
    let (token, logit) = chosen.ok_or(NotFinite)?;
    Ok(Drawn { token, log_prob: (logit - highest - total.ln()) as f32 })
}

fn by_descending_logit(one: &Candidate, other: &Candidate) -> std::cmp::Ordering {
    other.1.total_cmp(&one.1).then(one.0.cmp(&other.0))
}

fn keep_likeliest(candidates: &mut Vec<Candidate>, count: usize) {
    let count = count.max(1);
    if count < candidates.len() {
        candidates.select_nth_unstable_by(count - 1, by_descending_logit);
        candidates.truncate(count);
    }
}

fn keep_nucleus(candidates: &mut Vec<Candidate>, mass: f64) {
    candidates.sort_unstable_by(by_descending_logit);
    let Some(&(_, highest)) = candidates.first() else { return };
    let weight = |candidate: &Candidate| (candidate.1 - highest).exp();
    let wanted = mass * candidates.iter().map(weight).sum::<f64>();
    let mut reached = 0.0;
    let enough = candidates.iter().position(|candidate| {
        reached += weight(candidate);
        reached >= wanted
    });
    if let Some(last) = enough {
        candidates.truncate(last + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const LOGITS: [f32; 5] = [2.0, 1.0, 0.0, 5.0, -5.0];

    fn without_value_tokens() -> Sampling {
        let tokens = ValueTokens::new(3, 4, 5).unwrap();
        Sampling { value_tokens: Some(tokens), ..Sampling::default() }
    }

    fn draws(sampling: &Sampling, count: usize) -> Vec<Drawn> {
        let mut random = ChaCha12Rng::seed_from_u64(0);
        (0..count).map(|_| sampling.draw(&LOGITS, &mut random).unwrap()).collect()
    }

    /// exp(2), exp(1), 1 over their sum: log-probabilities -0.407606, -1.407606, -2.407606.
    #[test]
    fn value_tokens_are_never_drawn_and_have_no_mass() {
        for drawn in draws(&without_value_tokens(), 500) {
            assert!(drawn.token < 3);
            let expected = -0.407_606 - drawn.token as f32;
            assert!((drawn.log_prob - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let drawn = draws(&without_value_tokens(), 20_000);
        let share = drawn.iter().filter(|drawn| drawn.token == 0).count() as f64 / 20_000.0;
        // Standard deviation sqrt(0.665 * 0.335 / 20000) = 0.0033.
        assert!((share - (-0.407_606_f64).exp()).abs() < 0.014);
    }

    #[test]
    fn top_k_renormalises() {
        let sampling = Sampling { top_k: Some(2), ..without_value_tokens() };
        for drawn in draws(&sampling, 200) {
            // 1 / (1 + exp(-1)) = 0.731059, log -0.313262.
            let expected = [-0.313_262, -1.313_262][drawn.token as usize];
            assert!((drawn.log_prob - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn top_p_keeps_as_few_as_reach_it() {
        let only_first = Sampling { top_p: Some(0.66), ..without_value_tokens() };
        assert!(draws(&only_first, 100).iter().all(|d| (d.token, d.log_prob) == (0, 0.0)));
        let two = Sampling { top_p: Some(0.67), ..without_value_tokens() };
        let drawn = draws(&two, 200);
        assert!(drawn.iter().all(|drawn| drawn.token < 2));
        assert!(drawn.iter().any(|drawn| drawn.token == 1));
    }

    #[test]
    fn temperature_zero_takes_the_likeliest_and_the_lower_of_equals() {
        let sampling = Sampling { temperature: 0.0, ..without_value_tokens() };
        assert_eq!(draws(&sampling, 1)[0], Drawn { token: 0, log_prob: 0.0 });
        let mut random = ChaCha12Rng::seed_from_u64(0);
        let drawn = sampling.draw(&[1.0, 3.0, 3.0, 9.0, 9.0], &mut random).unwrap();
        assert_eq!(drawn.token, 1);
    }

    #[test]
    fn temperature_scales_logits() {
        let sampling = Sampling { temperature: 0.5, ..without_value_tokens() };
        for drawn in draws(&sampling, 100) {
            // Logits 4, 2, 0: log sum exp 4.142932.
            let expected = 4.0 - 2.0 * drawn.token as f32 - 4.142_932;
            assert!((drawn.log_prob - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_nan_is_an_error() {
        let mut random = ChaCha12Rng::seed_from_u64(0);
        for temperature in [0.0, 1.0] {
            let sampling = Sampling { temperature, ..Sampling::default() };
            assert_eq!(sampling.draw(&[0.0, f32::NAN], &mut random), Err(NotFinite));
            assert_eq!(sampling.draw(&[f32::INFINITY], &mut random).is_err(), temperature > 0.0);
        }
    }
}
