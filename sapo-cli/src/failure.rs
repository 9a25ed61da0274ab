//! How a command ends: errors as people read them, and exit codes as scripts do.

use std::process::ExitCode;

use crate::output::{StdoutClosed, talk};

/// The run or the input failed. Usage errors are 2, which clap itself exits with.
const FAILED: u8 = 1;

/// The exit code of an outcome; an error is told on stderr first.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // `sapo ... | head` has all that it wanted.
        Err(error) if error.is::<StdoutClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            talk(describe(&error));
            ExitCode::from(FAILED)
        }
    }
}

/// The error and its causes, one a line. Messages that quote their cause are not followed by it again.
fn describe(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}");
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            text += &format!("\n  caused by: {cause}");
            said = cause;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn causes_follow_one_a_line() {
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot save the model");
        let text = describe(&error.unwrap_err());
        assert_eq!(text, "error: cannot save the model\n  caused by: disk full");
    }

    #[test]
    fn a_cause_that_was_quoted_is_not_repeated() {
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot save: disk full");
        assert_eq!(describe(&error.unwrap_err()), "error: cannot save: disk full");
    }
}
