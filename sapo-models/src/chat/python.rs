//! A jinja environment that behaves as the one of Python's `transformers` does.

use std::fmt::Write as _;

use jiff::civil::DateTime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value};
use serde::Serialize as _;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The environment of `transformers`: trimmed blocks, Python's methods and printing, and the two
/// functions that templates expect.
pub(super) fn environment(now: DateTime) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(print);
    environment.add_filter("tojson", to_json);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", move |format: &str| strftime(now, format));
    Ok(environment)
}

/// `transformers` marks the assistant's words with `{% generation %}`, for masks; the words stay.
pub(super) fn without_generation_tags(source: &str) -> String {
    let mut shown = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start + 2);
        shown.push_str(before);
        let dash = tag.strip_prefix(['-', '+']).map_or(0, |_| 1);
        let (dash, after_dash) = tag.split_at(dash);
        let body = after_dash.trim_start();
        let (word, after) =
            body.split_at(body.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(body.len()));
        (shown, rest) = match word {
            "generation" => (shown + dash + " if true", after),
            "endgeneration" => (shown + dash + " endif", after),
            _ => (shown, tag),
        };
    }
    shown + rest
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn strftime(now: DateTime, format: &str) -> Result<String, Error> {
    let mut text = String::new();
    write!(text, "{}", now.strftime(format)).map_err(|_| {
        Error::new(ErrorKind::InvalidOperation, format!("strftime_now cannot print {format:?}"))
    })?;
    Ok(text)
}

fn print(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Bool => out.write_str(if value.is_true() { "True" } else { "False" })?,
        ValueKind::None => out.write_str("None")?,
        _ => return minijinja::escape_formatter(out, state, value),
    }
    Ok(())
}

/// `json.dumps(value, ensure_ascii=False, indent=indent)`; the engine's own filter escapes for HTML.
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.get::<Option<bool>>("ensure_ascii")?;
    options.assert_all_used()?;
    match indent {
        None => json_with(value, SpacedFormatter),
        Some(width) => json_with(value, PrettyFormatter::with_indent(" ".repeat(width).as_bytes())),
    }
}

fn json_with(value: &Value, formatter: impl Formatter) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let failed =
        |error: String| Error::new(ErrorKind::BadSerialization, format!("tojson: {error}"));
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        .map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// JSON on one line with a space after each comma and colon, as Python writes it.
struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
