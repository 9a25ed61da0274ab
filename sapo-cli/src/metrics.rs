//! One iteration's numbers as a line of `metrics.jsonl`. `docs/metrics.md` defines each.

use std::time::Duration;

use sapo_core::learner::UpdateReport;
use sapo_core::rollout::Rollout;
use serde_json::{Value, json};

/// The line of an iteration, counted from 1.
pub(crate) fn line(
    iteration: usize,
    rollout: &Rollout,
    update: &UpdateReport,
    update_time: Duration,
) -> Value {
    let mut line = play(rollout);
    let rest = [
        learning(update),
        json!({ "update_seconds": update_time.as_secs_f64(), "iteration": iteration }),
    ];
    for part in rest {
        if let (Some(line), Value::Object(part)) = (line.as_object_mut(), part) {
            line.extend(part);
        }
    }
    line
}

fn play(rollout: &Rollout) -> Value {
    let episodes = &rollout.episodes;
    let count = episodes.len().max(1) as f64;
    let turns: usize = episodes.iter().map(|episode| episode.turns.len()).sum();
    let invalid = episodes.iter().flat_map(|e| &e.turns).filter(|turn| !turn.valid).count();
    let tokens: usize = episodes.iter().map(|episode| episode.response_tokens()).sum();
    let stream_tokens: usize =
        episodes.iter().flat_map(|e| &e.streams).map(|stream| stream.tokens.len()).sum();
    let rewards: f64 = episodes.iter().map(|episode| f64::from(episode.total_reward())).sum();
    let solved = episodes.iter().filter(|episode| episode.success).count();
    let truncated = episodes
        .iter()
        .filter(|e| matches!(e.end, sapo_core::episode::End::Truncated { .. }))
        .count();
    json!({
        "episodes": episodes.len(),
        "success": solved as f64 / count,
        "mean_reward": rewards / count,
        "mean_turns": turns as f64 / count,
        "invalid_share": invalid as f64 / turns.max(1) as f64,
        "truncated_share": truncated as f64 / count,
        "response_tokens": tokens,
        "stream_tokens": stream_tokens,
        "faults": rollout.faults.len(),
        "dropped": rollout.dropped,
        "actor_seconds": rollout.actor_time.as_secs_f64(),
        "world_seconds": rollout.world_time.as_secs_f64(),
    })
}

fn learning(update: &UpdateReport) -> Value {
    let UpdateReport { targets, loss, .. } = update;
    json!({
        "policy_loss": loss.policy_loss,
        "value_loss": loss.value_loss,
        "action_value_loss": loss.action_value_loss,
        "kl": loss.kl,
        "entropy": loss.entropy,
        "clip_fraction": loss.clip_fraction,
        "approximate_kl": loss.approximate_kl,
        "largest_log_ratio": loss.largest_log_ratio,
        "first_step_log_ratio": update.first_step_log_ratio,
        "gradient_norm": update.gradient_norm,
        "learning_rate": update.learning_rate,
        "steps": update.steps,
        "skipped_steps": update.skipped_steps,
        "advantage_mean": targets.advantage_mean,
        "advantage_std": targets.advantage_std,
        "value_mean": targets.value_mean,
        "action_value_mean": targets.action_value_mean,
        "value_explained_variance": targets.value_explained_variance,
        "action_value_explained_variance": targets.action_value_explained_variance,
        "saturation": targets.saturation,
        "degenerate": targets.degenerate,
    })
}
