//! What the libraries that we build on log, on stderr. Our own crates log nothing.

use std::env;

use tracing_subscriber::EnvFilter;

use super::talk;

/// The variable that says how much is logged, as in `SAPO_LOG=debug` or `SAPO_LOG=tokenizers=trace`.
const LOG_VARIABLE: &str = "SAPO_LOG";
/// How much is logged where nothing is said.
const QUIET: &str = "warn";

/// Starts the log: warnings only, unless the environment asks for more.
pub(crate) fn start_log() {
    // Only a second log in the same process could fail, and the first one will do.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
}

fn filter() -> EnvFilter {
    let wanted = env::var(LOG_VARIABLE).unwrap_or_else(|_| QUIET.to_owned());
    EnvFilter::try_new(&wanted).unwrap_or_else(|error| {
        talk(format!("{LOG_VARIABLE}={wanted} is no filter ({error}); only warnings are logged"));
        EnvFilter::new(QUIET)
    })
}
