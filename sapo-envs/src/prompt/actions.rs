//! The list of admissible actions, written out.

/// How admissible actions are listed in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionList {
    /// What stands before each action.
    pub before: String,
    /// What stands after each action.
    pub after: String,
    /// What stands between two actions.
    pub separator: String,
    /// Actions that the world accepts and the prompt does not name.
    pub hidden: Vec<String>,
}

impl Default for ActionList {
    /// Each action on its own line.
    fn default() -> Self {
        ActionList {
            before: String::new(),
            after: String::new(),
            separator: "\n".into(),
            hidden: Vec::new(),
        }
    }
}

impl ActionList {
    /// The list as text.
    pub fn write(&self, actions: &[String]) -> String {
        let shown = actions.iter().filter(|action| !self.hidden.contains(action));
        let written: Vec<String> =
            shown.map(|action| format!("{}{action}{}", self.before, self.after)).collect();
        written.join(&self.separator)
    }
}
