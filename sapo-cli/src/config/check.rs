//! What a configuration must not say, whatever its types allow.

use anyhow::{Result, bail};

use super::{ModelSection, RunConfig};

/// Refuses what cannot be meant, by its keys.
pub(super) fn check(config: &RunConfig) -> Result<()> {
    check_counts(config)?;
    check_numbers(config)?;
    check_share(config)?;
    if config.model.is_new() { check_new(&config.model) } else { check_given(&config.model) }
}

/// Each use of the training games needs some.
fn check_share(config: &RunConfig) -> Result<()> {
    let steps = config.warm_start.steps;
    let share = config.warm_start.share;
    if steps > 0 && share == 0.0 {
        bail!(
            "warm_start.steps is {steps}, but warm_start.share is 0 and leaves no game to imitate; \
             raise the share, or set the steps to 0"
        );
    }
    if share == 1.0 {
        bail!("warm_start.share is 1 and leaves no game for reinforcement learning; lower it");
    }
    Ok(())
}

fn check_new(model: &ModelSection) -> Result<()> {
    let ModelSection { hidden, heads, kv_heads, .. } = *model;
    if model.value_tokens.is_some() {
        bail!("model.value_tokens is for model folders; a new model reserves its own");
    }
    if !heads.is_multiple_of(kv_heads) {
        bail!("model.kv_heads is {kv_heads}; it must divide model.heads, {heads}");
    }
    if !hidden.is_multiple_of(2 * heads) {
        bail!(
            "model.hidden is {hidden}; it must be a multiple of twice model.heads, {}",
            2 * heads
        );
    }
    Ok(())
}

/// A model that is there already has its shape. Defaults pass: a run's configuration holds them all.
fn check_given(model: &ModelSection) -> Result<()> {
    let default = ModelSection::default();
    let shape = [
        ("hidden", model.hidden, default.hidden),
        ("layers", model.layers, default.layers),
        ("heads", model.heads, default.heads),
        ("kv_heads", model.kv_heads, default.kv_heads),
        ("intermediate", model.intermediate, default.intermediate),
    ];
    match shape.iter().find(|(_, value, default)| value != default) {
        Some((key, ..)) => bail!(
            "model.{key} is for a new model (model.path = \"new\"); {} has its shape already",
            model.path.display()
        ),
        None => Ok(()),
    }
}

fn check_counts(config: &RunConfig) -> Result<()> {
    let RunConfig { env, warm_start, rollout, optimizer, evaluation, model, .. } = config;
    const MANY: usize = 10_000_000;
    let counts = [
        ("episodes", config.episodes, 1..=MANY),
        ("iterations", config.iterations, 0..=MANY),
        ("workers", config.workers, 0..=1024),
        ("env.max_turns", env.max_turns, 1..=MANY),
        ("env.generated", env.generated, 1..=MANY),
        ("rollout.slots", rollout.slots, 1..=MANY),
        ("rollout.max_new_tokens", rollout.max_new_tokens, 1..=MANY),
        ("rollout.max_prompt_tokens", rollout.max_prompt_tokens, 1..=MANY),
        ("warm_start.batch", warm_start.batch, 1..=MANY),
        ("warm_start.steps", warm_start.steps, 0..=MANY),
        ("optimizer.epochs", optimizer.epochs, 1..=MANY),
        ("optimizer.micro_batch_tokens", optimizer.micro_batch_tokens, 1..=usize::MAX),
        ("evaluation.episodes", evaluation.episodes, 0..=MANY),
        ("model.hidden", model.hidden, 1..=65_536),
        ("model.intermediate", model.intermediate, 1..=262_144),
        ("model.layers", model.layers, 1..=1024),
        ("model.heads", model.heads, 1..=1024),
        ("model.kv_heads", model.kv_heads, 1..=1024),
    ];
    for (key, value, range) in counts {
        if !range.contains(&value) {
            bail!("{key} is {value}; it must be from {} to {}", range.start(), range.end());
        }
    }
    if optimizer.mini_batches == 0 && optimizer.mini_batch_turns == 0 {
        bail!("optimizer.mini_batches and optimizer.mini_batch_turns are both 0; set one of them");
    }
    Ok(())
}

fn check_numbers(config: &RunConfig) -> Result<()> {
    let RunConfig { env, warm_start, rollout, sapo, optimizer, evaluation, .. } = config;
    let above_zero = [
        ("rollout.temperature", rollout.temperature),
        ("sapo.max_return", sapo.max_return),
        ("sapo.readout_temperature", sapo.readout_temperature),
        ("optimizer.max_gradient_norm", optimizer.max_gradient_norm),
        ("optimizer.epsilon", optimizer.epsilon),
    ];
    for (key, value) in above_zero {
        if !(value > 0.0 && value.is_finite()) {
            bail!("{key} is {value}; it must be a number above 0");
        }
    }
    let numbers = [
        ("env.reward", env.reward.into(), -1e6, 1e6),
        ("evaluation.temperature", evaluation.temperature.into(), 0.0, 1e3),
        ("learning_rate", config.learning_rate, 0.0, 1e3),
        ("optimizer.beta_1", optimizer.beta_1.into(), 0.0, 0.999_999),
        ("optimizer.beta_2", optimizer.beta_2.into(), 0.0, 0.999_999),
        ("optimizer.target_kl", optimizer.target_kl.into(), 0.0, 1e3),
        ("optimizer.warmup_iterations", optimizer.warmup_iterations, 0.0, 1e9),
        ("optimizer.weight_decay", optimizer.weight_decay.into(), 0.0, 1e3),
        ("sapo.action_value_clip", sapo.action_value_clip.into(), 0.0, 1e6),
        ("sapo.action_value_coefficient", sapo.action_value_coefficient.into(), 0.0, 1e6),
        ("sapo.clip.high", sapo.clip.high.into(), 0.0, 1e6),
        ("sapo.clip.low", sapo.clip.low.into(), 0.0, 1.0),
        ("sapo.discount.gamma", sapo.discount.gamma.into(), 0.0, 1.0),
        ("sapo.discount.lambda", sapo.discount.lambda.into(), 0.0, 1.0),
        ("sapo.entropy_coefficient", sapo.entropy_coefficient.into(), -1e6, 1e6),
        ("sapo.invalid_action_penalty", sapo.invalid_action_penalty.into(), 0.0, 1e6),
        ("sapo.kl_coefficient", sapo.kl_coefficient.into(), 0.0, 1e6),
        ("sapo.normalization.epsilon", sapo.normalization.epsilon, 0.0, 1e6),
        ("sapo.value_clip", sapo.value_clip.into(), 0.0, 1e6),
        ("sapo.value_coefficient", sapo.value_coefficient.into(), 0.0, 1e6),
        ("warm_start.disturbance", warm_start.disturbance, 0.0, 1.0),
        ("warm_start.learning_rate", warm_start.learning_rate, 0.0, 1e3),
        ("warm_start.observation_weight", warm_start.observation_weight.into(), 0.0, 1e6),
        ("warm_start.share", warm_start.share, 0.0, 1.0),
    ];
    for (key, value, low, high) in numbers {
        if !(low..=high).contains(&value) {
            bail!("{key} is {value}; it must be from {low} to {high}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::load::tests::{message, set};

    #[test]
    fn numbers_out_of_range_are_refused_by_key() {
        assert!(message(&["episodes=0"]).contains("episodes is 0"));
        assert!(message(&["rollout.temperature=0"]).contains("rollout.temperature"));
        assert!(message(&["learning_rate=nan"]).contains("learning_rate"));
        assert!(message(&["sapo.discount.gamma=2.0"]).contains("from 0 to 1"));
        assert!(message(&["optimizer.beta_1=1.0"]).contains("optimizer.beta_1"));
        assert!(message(&["workers=99999999"]).contains("workers is 99999999"));
    }

    #[test]
    fn each_use_of_the_training_games_needs_some() {
        assert!(set(&["warm_start.share=0"]).is_ok());
        let said = message(&["warm_start.share=0", "warm_start.steps=9"]);
        assert!(said.contains("warm_start.steps is 9, but warm_start.share is 0"), "{said}");
        assert!(message(&["warm_start.share=1"]).contains("warm_start.share is 1"));
    }

    #[test]
    fn a_shape_is_for_a_new_model_and_must_be_one() {
        assert!(message(&["model.layers=2"]).starts_with("model.layers is for a new model"));
        assert!(set(&["model.layers=2", "model.path=new"]).is_ok());
        assert!(set(&["model.layers=4"]).is_ok(), "the default is no choice");
        let new = |shape: &str| message(&["model.path=new", shape]);
        assert!(new("model.heads=0").starts_with("model.heads is 0"));
        assert!(new("model.kv_heads=3").starts_with("model.kv_heads is 3"));
        assert!(new("model.hidden=132").starts_with("model.hidden is 132"));
    }
}
