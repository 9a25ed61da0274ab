//! `sapo train` and `sapo eval`, as short as they can be.

use serde_json::Value;

use crate::desk::Desk;

const SHORT: &str = "--set iterations=2 --set episodes=6 --set env.max_turns=4 \
                     --set evaluation.episodes=5 --set optimizer.warmup_iterations=0.0";

fn metrics(desk: &Desk, run: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(desk.path(run).join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What must be the same in two runs that differ in time alone.
fn timeless(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        line.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_seconds"));
    }
    lines
}

fn model(desk: &Desk, run: &str) -> Vec<u8> {
    std::fs::read(desk.path(run).join("model/model.safetensors")).unwrap()
}

#[test]
fn a_run_leaves_all_that_it_promises() {
    let desk = Desk::new();
    let summary = desk.json(&format!("train --out run {SHORT}"));
    for key in ["success_before", "success_after", "seconds"] {
        assert!(summary[key].is_number(), "{summary}");
    }
    assert_eq!((&summary["episodes"], &summary["iterations"]), (&12.into(), &2.into()));
    let first = &metrics(&desk, "run")[0];
    assert_eq!(first["iteration"], 1);
    // What was captured while sampling is what the trainer computes: the first ratio is 1.
    assert!(first["first_step_log_ratio"].as_f64().unwrap() < 1e-4, "{first}");
    for file in
        ["config.toml", "summary.json", "model/tokenizer.json", "episodes/iteration-00002.txt"]
    {
        assert!(desk.path("run").join(file).is_file(), "{file}");
    }
    let found = desk.json("eval --model run/model --episodes 4 --split valid_unseen");
    assert_eq!((&found["episodes"], &found["split"]), (&4.into(), &"valid_unseen".into()));
    assert!(desk.sapo(&format!("train --out run {SHORT}")).contains("run is not empty"));
    assert!(desk.sapo("train --resume run").contains("the run is finished"));
    assert!(desk.sapo("train --resume run --set seed=1").starts_with("exit 2"));
}

#[test]
fn a_folder_with_other_things_in_it_is_left_alone() {
    let desk = Desk::new();
    desk.write("mine/summary.json", "precious");
    assert!(desk.sapo(&format!("train --out mine {SHORT}")).contains("mine is not empty"));
    assert_eq!(std::fs::read_dir(desk.path("mine")).unwrap().count(), 1);
}

#[test]
fn a_resumed_run_is_the_run_that_was_never_interrupted() {
    let desk = Desk::new();
    desk.json(&format!("train --out whole {SHORT}"));
    let half = desk.json(&format!("train --out half {SHORT} --stop-after 1"));
    assert_eq!((&half["interrupted"], &half["success_after"]), (&true.into(), &Value::Null));
    desk.json("train --resume half");
    assert_eq!(timeless(metrics(&desk, "whole")), timeless(metrics(&desk, "half")));
    assert!(model(&desk, "whole") == model(&desk, "half"), "the weights differ");
}

#[test]
fn a_learning_rate_of_zero_leaves_the_weights_alone() {
    let desk = Desk::new();
    desk.json(&format!("train --out still {SHORT} --set learning_rate=0"));
    let start = std::fs::read(desk.path("still/start/model.safetensors")).unwrap();
    assert!(start == model(&desk, "still"), "the weights moved");
}

#[test]
fn what_cannot_be_trained_is_refused_by_name() {
    let desk = Desk::new();
    let said = |line: &str| desk.sapo(line);
    assert!(said("train --set episods=3").contains("did you mean `episodes`?"));
    assert!(
        said("train --device cuda:0").starts_with("exit 1\n-- stderr\nerror: --device cuda:0\n")
    );
    assert!(said("train --set env.data=nowhere").contains("nowhere"));
    assert!(said("train --set model.path=nowhere").contains("nowhere"));
    assert!(said("train --set model.value_tokens=[5,6]").contains("model.value_tokens"));
    assert!(said("train --resume nowhere").contains("no run's folder"));
    assert!(said("train --set env.eval_split=test").contains("unknown split"));
    assert!(said("train --set evaluation.more_splits=['test']").contains("unknown split"));
    assert!(said("train --set rollout.max_new_tokens=9999").contains("positions"));
    assert!(said("train --set model.path=new --set model.value_tokens=[0,1]").contains("reserves"));
    assert!(!desk.path("runs").exists(), "a refused run leaves nothing behind");
}
