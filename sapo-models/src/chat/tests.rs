use serde_json::{Map, json};

use super::*;
use crate::test_data::{self, Family};

#[derive(Deserialize)]
struct Case {
    family: Family,
    case: String,
    messages: Vec<Message>,
    kwargs: Map<String, serde_json::Value>,
    text: String,
    ids: Vec<u32>,
}

fn template(source: &str) -> ChatTemplate {
    let tokens = TemplateTokens { bos_token: Some("<s>".into()), ..Default::default() };
    ChatTemplate::new(source, tokens, jiff::civil::date(2024, 7, 26).at(9, 5, 0, 0)).unwrap()
}

fn rendered(source: &str) -> String {
    template(source).render(&[Message::user("Hi")], GenerationPrompt::Add).unwrap()
}

#[test]
fn texts_and_ids_equal_those_of_transformers() {
    let Some(cases) = test_data::json::<Vec<Case>>("tokenizer/chat_cases.json") else { return };
    for Case { family, case, messages, mut kwargs, text, ids } in cases {
        let (Some(template), Some(tokenizer)) =
            (test_data::template(family), test_data::tokenizer(family))
        else {
            return;
        };
        let prompt = match kwargs.remove("add_generation_prompt") {
            Some(serde_json::Value::Bool(true)) => GenerationPrompt::Add,
            _ => GenerationPrompt::Omit,
        };
        let template = kwargs.into_iter().fold(template, |template, (name, value)| {
            template.with_option(&name, Value::from(Serde(value)))
        });
        let ours = template.render(&messages, prompt).unwrap();
        assert_eq!(ours, text, "{family:?} {case}");
        assert_eq!(tokenizer.encode(&ours).unwrap(), ids, "{family:?} {case}");
    }
}

#[test]
fn blocks_are_trimmed_as_transformers_trims_them() {
    assert_eq!(
        rendered(
            "{% for m in messages %}\n  {% if true %}\n{{ m.role }}\n  {% endif %}\n{% endfor %}\n"
        ),
        "user\n"
    );
}

#[test]
fn values_are_printed_as_python_prints_them() {
    assert_eq!(rendered("{{ true }} {{ none }} {{ bos_token }}"), "True None <s>");
    assert_eq!(
        rendered(r#"{{ {"a": [1, "<é>'"], "b": {}} | tojson }}"#),
        r#"{"a": [1, "<é>'"], "b": {}}"#
    );
    assert_eq!(rendered("{{ [1] | tojson(indent=2) }}"), "[\n  1\n]");
    assert_eq!(rendered("{{ messages[0].content.strip().upper()[::-1] }}"), "IH");
}

#[test]
fn the_date_is_the_one_that_was_given() {
    assert_eq!(rendered("{{ strftime_now('%d %b %Y') }}"), "26 Jul 2024");
}

#[test]
fn generation_blocks_are_shown_like_any_text() {
    assert_eq!(rendered("{%- generation -%} a {%- endgeneration %}b"), "ab");
}

#[test]
fn a_template_that_refuses_says_why() {
    let refused = template("{{ raise_exception('roles must alternate') }}")
        .render(&[], GenerationPrompt::Add)
        .unwrap_err();
    assert!(refused.to_string().contains("roles must alternate"), "{refused}");
}

#[test]
fn only_what_comes_after_the_reply_is_taken() {
    let template = template(
        "system!{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}[assistant]",
    );
    let after = template.render_after_reply(&[Message::user("x")], GenerationPrompt::Add).unwrap();
    assert_eq!(after, "</s>[user]x</s>[assistant]");
}

#[test]
fn a_template_without_replies_is_refused() {
    let refused = template("{{ messages[0].content }}")
        .render_after_reply(&[], GenerationPrompt::Add)
        .unwrap_err();
    assert!(matches!(refused, ChatError::NoReply));
}

#[test]
fn a_template_is_found_in_each_of_its_places() {
    let folder = tempfile::tempdir().unwrap();
    let now = jiff::civil::date(2024, 7, 26).at(0, 0, 0, 0);
    let read = || ChatTemplate::from_folder(folder.path(), now);
    let config = folder.path().join(TOKENIZER_CONFIG_FILE);
    assert!(matches!(read().unwrap_err(), ChatError::NoTemplate { .. }));

    fs::write(&config, json!({"chat_template": "one", "eos_token": "</s>"}).to_string()).unwrap();
    assert_eq!(read().unwrap().source(), "one");
    assert_eq!(read().unwrap().tokens().eos_token.as_deref(), Some("</s>"));

    let named = json!({
        "chat_template": [
            {"name": "tool_use", "template": "tools"},
            {"name": "default", "template": "named"},
        ],
        "bos_token": {"content": "<s>", "special": true},
        "eos_token": null,
    });
    fs::write(&config, named.to_string()).unwrap();
    assert_eq!(read().unwrap().source(), "named");
    assert_eq!(read().unwrap().tokens().bos_token.as_deref(), Some("<s>"));

    fs::write(folder.path().join(TEMPLATE_FILE), "alone").unwrap();
    assert_eq!(read().unwrap().source(), "alone");

    fs::write(&config, "{").unwrap();
    assert!(read().unwrap_err().to_string().contains(TOKENIZER_CONFIG_FILE));
}
