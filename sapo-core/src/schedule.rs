//! Learning rates over a run.

use serde::{Deserialize, Serialize};

/// What the learning rate does after its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// It stays.
    #[default]
    Constant,
    /// It falls to 0 in a straight line.
    Linear,
    /// It falls to 0 along half a cosine.
    Cosine,
}

/// A learning rate with linear warm-up and decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The rate after the warm-up.
    pub peak: f64,
    /// How many iterations the rate takes to rise from 0.
    pub warmup_iterations: f64,
    /// How many iterations the run has.
    pub iterations: f64,
    /// What follows the warm-up.
    pub decay: Decay,
}

impl Schedule {
    /// The rate at `progress` iterations from the start; fractions are places within an iteration.
    pub fn rate(&self, progress: f64) -> f64 {
        if progress < self.warmup_iterations {
            return self.peak * progress / self.warmup_iterations;
        }
        let span = (self.iterations - self.warmup_iterations).max(f64::MIN_POSITIVE);
        let done = ((progress - self.warmup_iterations) / span).clamp(0.0, 1.0);
        match self.decay {
            Decay::Constant => self.peak,
            Decay::Linear => self.peak * (1.0 - done),
            Decay::Cosine => self.peak * 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
        }
    }
}

/// Steers the learning rate so that an iteration moves the policy by about as much as wanted.
///
/// The right rate differs between checkpoints by a factor of two and more; the KL divergence of an
/// iteration does not. The rule is that of adaptive-KL PPO (arXiv 1707.06347, section 4), applied to the
/// rate rather than to a penalty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KlController {
    /// The divergence wanted of an iteration, in nats a token.
    pub target: f32,
    /// What the scheduled rate is multiplied by.
    pub scale: f64,
}

impl KlController {
    const STEP: f64 = 1.5;
    const RANGE: (f64, f64) = (1.0 / 32.0, 4.0);

    /// A controller that starts at the scheduled rate.
    pub fn new(target: f32) -> Self {
        KlController { target, scale: 1.0 }
    }

    /// Reacts to the divergence of the iteration that ended.
    pub fn observe(&mut self, divergence: f32) {
        if divergence > 1.5 * self.target {
            self.scale /= Self::STEP;
        } else if divergence < self.target / 1.5 {
            self.scale *= Self::STEP;
        }
        self.scale = self.scale.clamp(Self::RANGE.0, Self::RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(decay: Decay) -> Schedule {
        Schedule { peak: 2.0, warmup_iterations: 4.0, iterations: 12.0, decay }
    }

    #[test]
    fn the_rate_rises_to_its_peak_and_then_decays() {
        assert_eq!(schedule(Decay::Constant).rate(1.0), 0.5);
        assert_eq!(schedule(Decay::Constant).rate(100.0), 2.0);
        assert_eq!(schedule(Decay::Linear).rate(8.0), 1.0);
        assert!((schedule(Decay::Cosine).rate(8.0) - 1.0).abs() < 1e-12);
        assert_eq!(schedule(Decay::Cosine).rate(12.0), 0.0);
    }

    #[test]
    fn without_warmup_the_first_rate_is_the_peak() {
        let schedule = Schedule { warmup_iterations: 0.0, ..schedule(Decay::Linear) };
        assert_eq!(schedule.rate(0.0), 2.0);
    }

    #[test]
    fn a_divergence_above_the_target_lowers_the_rate_and_one_below_raises_it() {
        let mut controller = KlController::new(0.01);
        controller.observe(0.1);
        assert!(controller.scale < 1.0);
        controller.observe(0.011);
        assert!((controller.scale - 1.0 / 1.5).abs() < 1e-12);
        controller.observe(0.0);
        assert!((controller.scale - 1.0).abs() < 1e-12);
    }
}
