//! What holds for every command.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::desk::{Desk, sapo};

#[test]
fn help_is_for_a_new_user() {
    assert_snapshot!(Desk::new().sapo("-h"), @"FILL");
}

#[test]
fn usage_errors_exit_with_2() {
    let desk = Desk::new();
    assert_snapshot!(desk.sapo("trian"), @"FILL");
    assert_snapshot!(desk.sapo("train --set learning_rate"), @"FILL");
    assert_snapshot!(desk.sapo("eval --model m --episodes none"), @"FILL");
    assert!(desk.sapo("").starts_with("exit 2"));
}

#[test]
fn completions_are_written_for_each_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = desk.sapo(&format!("completions {shell}"));
        assert!(said.starts_with("exit 0\n-- stdout\n") && said.contains("replay"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let desk = Desk::new();
    let mut child = sapo(&desk.path(""))
        .args(["play", "alfworld", "--game", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let mut stdin = child.stdin.take().unwrap();
    let _ = std::io::Write::write_all(&mut stdin, "look\n".repeat(60).as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !stderr.contains("panicked"), "{stderr}");
}
