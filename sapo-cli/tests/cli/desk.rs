//! A folder to run the program in, so that messages hold no path of this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program, in a folder of its own.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs the program on the words of `line` and tells all that it does.
    pub(crate) fn sapo(&self, line: &str) -> String {
        self.sapo_with(line, "")
    }

    pub(crate) fn sapo_with(&self, line: &str, stdin: impl AsRef<[u8]>) -> String {
        let Output { status, stdout, stderr } = self.run(line, stdin.as_ref());
        let code = status.code().map_or("killed".into(), |code| code.to_string());
        let mut text = format!("exit {code}\n");
        for (name, bytes) in [("stdout", stdout), ("stderr", stderr)] {
            let said = String::from_utf8(bytes).unwrap();
            if !said.is_empty() {
                text += &format!("-- {name}\n{said}");
            }
        }
        without_hashes(&text)
    }

    /// The last line of stdout, which must be JSON; the exit code must be 0.
    pub(crate) fn json(&self, line: &str) -> Value {
        let Output { status, stdout, stderr } = self.run(&format!("{line} --format json"), &[]);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        let stdout = String::from_utf8(stdout).unwrap();
        serde_json::from_str(stdout.lines().last().unwrap()).unwrap()
    }

    fn run(&self, line: &str, stdin: &[u8]) -> Output {
        let mut child = sapo(self.0.path())
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input may be gone by now.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap()
    }
}

/// The program, not yet started.
pub(crate) fn sapo(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapo"));
    command.current_dir(folder).env_remove("SAPO_LOG").env("COLUMNS", "80");
    command
}

/// A change of the generator changes hashes, and no behaviour of the command line.
fn without_hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
    let line = |line: &str| {
        let last = line.rsplit(' ').next().filter(|word| is_hash(word));
        last.map_or(line.to_owned(), |hash| line.replace(hash, "[sha256]"))
    };
    text.lines().map(|text| line(text) + "\n").collect()
}
