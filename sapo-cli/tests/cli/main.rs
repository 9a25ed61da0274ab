//! The program as a shell sees it: exit code, stdout, stderr.

mod desk;
mod envs;
mod folders;
mod models;
mod plan;
mod play;
mod train;
mod usage;
