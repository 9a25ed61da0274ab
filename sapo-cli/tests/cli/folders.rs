//! `sapo inspect`.

use insta::assert_snapshot;

use crate::desk::Desk;
use crate::models::desk_with_model;

#[test]
fn a_model_folder_is_described() {
    let desk = desk_with_model();
    assert_snapshot!(desk.sapo("inspect tiny"), @r#"
    exit 0
    -- stdout
    model         tiny
    family        qwen2
    layers        2 of width 16, MLP 24
    attention     4 heads, 2 for keys and values, 4 wide
    positions     2,048
    vocabulary    115 rows, the head tied to the embedding
    parameters    5,824
    weights       F32 in 1 file(s), 0.0 MB
    tokenizer     111 ids
    spare rows    4
    value tokens  w+ 114, w- 113; linear readout, temperature 1
    "#);
    let report = desk.json("inspect tiny");
    assert_eq!((&report["kind"], &report["spare_rows"]), (&"model".into(), &4.into()));
}

#[test]
fn a_run_folder_is_described_at_any_time() {
    let desk = Desk::new();
    desk.write("run/config.toml", "seed = 3\niterations = 4\n[env]\nname = \"alfworld\"\n");
    assert_snapshot!(desk.sapo("inspect run"), @r#"
    exit 0
    -- stdout
    run             run
    iterations      0 of 4, not finished
    success before  not measured yet
    success after   not measured yet
    seed            3
    env.name        alfworld
    "#);
    desk.write("run/metrics.jsonl", "{\"iteration\":1,\"reward\":0.5}\n{\"iteration\":2,\"rew");
    assert_snapshot!(desk.sapo("inspect run"), @r#"
    exit 0
    -- stdout
    run             run
    iterations      1 of 4, not finished
    success before  not measured yet
    success after   not measured yet
    seed            3
    env.name        alfworld

    last metrics
    iteration  1
    reward     0.5
    "#);
    let summary = r#"{"success_after": 0.5, "iterations": 4, "interrupted": false}"#;
    desk.write("run/summary.json", summary);
    let report = desk.json("inspect run");
    assert_eq!((&report["finished"], &report["success_after"]), (&true.into(), &0.5.into()));
    desk.write("run/summary.json", summary.replace("false", "true"));
    assert_eq!(desk.json("inspect run")["finished"], false, "its last evaluation is missing");
}

#[test]
fn the_shape_of_a_run_is_shown_where_it_was_chosen() {
    let desk = Desk::new();
    for (path, shows) in [("new", true), ("builtin", false)] {
        desk.write("run/config.toml", format!("[model]\npath = \"{path}\"\nhidden = 64\n"));
        assert_eq!(desk.sapo("inspect run").contains("model.hidden"), shows, "{path}");
    }
}

#[test]
fn other_folders_are_refused() {
    let desk = Desk::new();
    desk.write("empty/notes.txt", "");
    desk.write("broken/config.json", "{");
    desk.write("torn/config.toml", "seed = ");
    assert_snapshot!(desk.sapo("inspect empty"), @r#"
    exit 1
    -- stderr
    error: empty: neither a run's folder (no config.toml) nor a model's (no config.json)
    "#);
    assert_snapshot!(desk.sapo("inspect nowhere"), @r#"
    exit 1
    -- stderr
    error: nowhere: no such folder
    "#);
    assert_snapshot!(desk.sapo("inspect empty/notes.txt"), @r#"
    exit 1
    -- stderr
    error: empty/notes.txt: not a folder; name the folder that the file is in
    "#);
    assert_snapshot!(desk.sapo("inspect broken"), @r#"
    exit 1
    -- stderr
    error: broken/config.json: EOF while parsing an object at line 1 column 1
    "#);
    assert_snapshot!(desk.sapo("inspect torn"), @r#"
    exit 1
    -- stderr
    error: torn/config.toml: not a run's configuration
      caused by: TOML parse error at line 1, column 8
      |
    1 | seed = 
      |        ^
    string values must be quoted, expected literal string
    "#);
}
