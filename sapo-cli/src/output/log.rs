//! The libraries' log, on stderr.

use tracing_subscriber::EnvFilter;

/// The variable that says how much is logged, as in `SAPO_LOG=debug` or `SAPO_LOG=sapo_core=trace`.
const LOG_VARIABLE: &str = "SAPO_LOG";

/// Starts the log: warnings only, unless the environment asks for more.
pub(crate) fn start_log() {
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new("warn"));
    // Only a second log in the same process could fail, and the first one will do.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
}
