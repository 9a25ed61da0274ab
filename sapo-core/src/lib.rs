//! x
pub mod actor;
pub mod env;
pub mod episode;
pub mod error;
pub mod model;
pub mod value;
