//! x
pub mod actor;
pub mod advantage;
pub mod algorithm;
pub mod batch;
pub mod env;
pub mod episode;
pub mod error;
pub mod gradient;
pub mod imitation;
pub mod learner;
pub mod model;
pub mod objective;
pub mod rollout;
pub mod schedule;
pub mod seed;
pub mod value;
