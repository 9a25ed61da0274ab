//! What commands say: data on stdout, talk on stderr.

mod log;
mod number;
mod progress;
mod stdout;
mod table;

pub(crate) use log::start_log;
pub(crate) use number::{bytes, grouped, percent};
pub(crate) use progress::progress_bar;
pub(crate) use stdout::{Format, StdoutClosed, print, print_result, talk};
pub(crate) use table::{key_values, table};
