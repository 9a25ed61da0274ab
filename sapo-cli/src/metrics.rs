//! One iteration's numbers as a line of `metrics.jsonl`. `docs/metrics.md` defines each.

use std::time::Duration;

use sapo_core::learner::UpdateReport;
use sapo_core::rollout::{Rollout, RolloutSummary};
use serde::Serialize;

use crate::evaluation::Evaluation;

/// The line of an iteration.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    /// Counted from 1.
    iteration: usize,
    #[serde(flatten)]
    rollout: RolloutSummary,
    #[serde(flatten)]
    update: UpdateReport,
    update_seconds: f64,
    /// Success on held-out tasks after the update, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held_out: Option<Evaluation>,
}

impl Line {
    pub(crate) fn new(
        iteration: usize,
        rollout: &Rollout,
        update: UpdateReport,
        update_time: Duration,
    ) -> Self {
        let update_seconds = update_time.as_secs_f64();
        Line { iteration, rollout: rollout.summary(), update, update_seconds, held_out: None }
    }
}
