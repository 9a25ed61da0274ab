//! What can be wrong with what a user hands to the core.

/// Everything that the core refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `w+` and `w-` name one entry.
    #[error("the two value tokens are both {id}; name two different ids")]
    EqualValueTokens {
        /// The id given twice.
        id: u32,
    },
    /// A value token is no row of the logits.
    #[error("value token {id} is outside the model's {vocabulary} logits; choose an id below that")]
    ValueTokenOutside {
        /// The id in question.
        id: u32,
        /// The number of logits.
        vocabulary: usize,
    },
    /// A turn does not fit the episode that it stands in.
    #[error("a turn of task {task:?} is malformed: {what}")]
    MalformedTurn {
        /// The episode's task.
        task: String,
        /// What does not fit.
        what: &'static str,
    },
    /// An episode holds a token that the model does not have.
    #[error(
        "token {id} of an episode is outside the model's {vocabulary} logits; \
         train the model that played the episodes"
    )]
    TokenOutside {
        /// The id in question.
        id: u32,
        /// The number of logits.
        vocabulary: usize,
    },
    /// Nothing to learn from.
    #[error("an update needs at least one episode with one turn; none was given")]
    NoEpisodes,
    /// The loss compares with a reference policy that is not there.
    #[error(
        "the KL coefficient is not 0, so an update needs a reference policy; give one or set it to 0"
    )]
    NoReference,
    /// The model or the optimizer's state could not be written or read.
    #[error("{path}: {message}")]
    Checkpoint {
        /// The file.
        path: std::path::PathBuf,
        /// What went wrong.
        message: String,
    },
}
