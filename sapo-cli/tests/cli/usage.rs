//! What holds for every command.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::desk::{Desk, sapo};

#[test]
fn help_is_for_a_new_user() {
    assert_snapshot!(Desk::new().sapo("-h"), @r#"
    exit 0
    -- stdout
    Trains language-model agents by reinforcement learning

    Usage: sapo [OPTIONS] <COMMAND>

    Commands:
      train        Trains an agent and writes a run folder: its configuration, metrics, checkpoints and model
      eval         Plays a model on the tasks of a world and counts how many it solves
      env          Checks, describes, measures, replays or generates worlds
      play         Plays a world's task yourself, in the terminal
      generate     Lets a model answer a message or, with --raw, continue a text
      inspect      Describes a model folder (shape, size, value tokens) or a run folder (settings, progress, success)
      plan         Estimates the memory that training a model takes, for each method, and how many GPUs that is
      completions  Writes a shell's completions to stdout
      help         Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or for programs: the last line of stdout is one JSON object [default: text] [possible values: text, json]
      -h, --help             Print help (see more with '--help')
      -V, --version          Print version
    "#);
}

#[test]
fn usage_errors_exit_with_2() {
    let desk = Desk::new();
    assert_snapshot!(desk.sapo("trian"), @r#"
    exit 2
    -- stderr
    error: unrecognized subcommand 'trian'

      tip: a similar subcommand exists: 'train'

    Usage: sapo [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    assert_snapshot!(desk.sapo("train --set learning_rate"), @r#"
    exit 2
    -- stderr
    error: invalid value 'learning_rate' for '--set <KEY=VALUE>': write key=value, as in optimizer.epochs=2

    For more information, try '--help'.
    "#);
    assert_snapshot!(desk.sapo("eval --model m --episodes none"), @r#"
    exit 2
    -- stderr
    error: invalid value 'none' for '--episodes <N|all>': write a number from 1, or `all`

    For more information, try '--help'.
    "#);
    let said = desk.sapo("eval --model m --env corridor");
    assert!(said.starts_with("exit 2") && said.contains("[possible values: alfworld]"), "{said}");
    assert!(desk.sapo("").starts_with("exit 2"));
}

#[test]
fn a_log_filter_that_is_none_is_reported() {
    let desk = Desk::new();
    let mut command = sapo(&desk.path(""));
    let output = command.env("SAPO_LOG", "burn=loud").args(["env", "info", "echo"]).output();
    let output = output.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.starts_with("SAPO_LOG=burn=loud is no"), "{stderr}");
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
