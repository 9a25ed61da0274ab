//! `sapo inspect`.

use insta::assert_snapshot;

use crate::desk::Desk;
use crate::models::desk_with_model;

#[test]
fn a_model_folder_is_described() {
    let desk = desk_with_model();
    assert_snapshot!(desk.sapo("inspect tiny"), @"FILL");
    let report = desk.json("inspect tiny");
    assert_eq!((&report["kind"], &report["spare_rows"]), (&"model".into(), &4.into()));
}

#[test]
fn a_run_folder_is_described_at_any_time() {
    let desk = Desk::new();
    desk.write("run/config.toml", "seed = 3\niterations = 4\n[env]\nname = \"alfworld\"\n");
    assert_snapshot!(desk.sapo("inspect run"), @"FILL");
    desk.write("run/metrics.jsonl", "{\"iteration\":1,\"reward\":0.5}\n{\"iteration\":2,\"rew");
    assert_snapshot!(desk.sapo("inspect run"), @"FILL");
    let summary = r#"{"success_before": 0.25, "success_after": 0.5, "iterations": 4}"#;
    desk.write("run/summary.json", summary);
    let report = desk.json("inspect run");
    assert_eq!((&report["finished"], &report["success_after"]), (&true.into(), &0.5.into()));
}

#[test]
fn other_folders_are_refused() {
    let desk = Desk::new();
    desk.write("empty/notes.txt", "");
    desk.write("broken/config.json", "{");
    desk.write("torn/config.toml", "seed = ");
    assert_snapshot!(desk.sapo("inspect empty"), @"FILL");
    assert_snapshot!(desk.sapo("inspect nowhere"), @"FILL");
    assert_snapshot!(desk.sapo("inspect empty/notes.txt"), @"FILL");
    assert_snapshot!(desk.sapo("inspect broken"), @"FILL");
    assert_snapshot!(desk.sapo("inspect torn"), @"FILL");
}
