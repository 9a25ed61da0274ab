//! Reads the brackets and words of a problem text, and remembers where each stands.

/// A bracket or a word, with its byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `(`
    Open,
    /// `)`
    Close,
    /// Anything between brackets and blanks.
    Word(&'a str),
}

/// Something wrong at a byte offset of the problem text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Fault { offset, message: message.into() }
    }

    /// The line and column of the fault, from 1.
    pub(crate) fn line_and_column(&self, text: &str) -> (usize, usize) {
        let before = &text.as_bytes()[..self.offset.min(text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        (line, before.len() - start + 1)
    }
}

/// The tokens of a text. Comments run from `;` to the end of the line.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Tokens { text, offset: 0 }
    }

    /// Where the next token starts, or the end of the text.
    pub(crate) fn offset(&mut self) -> usize {
        self.skip_blanks();
        self.offset
    }

    /// The next token, or a fault at the end of the text.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, Fault> {
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        let start = self.offset;
        let Some(&first) = bytes.get(start) else {
            return Err(Fault::new(start, "the text ends here, inside a bracket"));
        };
        if let b'(' | b')' = first {
            self.offset += 1;
            return Ok(if first == b'(' { Token::Open } else { Token::Close });
        }
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b';');
        let length = bytes[start..].iter().position(is_end).unwrap_or(bytes.len() - start);
        self.offset += length;
        Ok(Token::Word(&self.text[start..self.offset]))
    }

    /// The next token, which must be this bracket.
    pub(crate) fn expect(&mut self, wanted: Token<'static>) -> Result<(), Fault> {
        let offset = self.offset();
        let found = self.next()?;
        if found == wanted {
            return Ok(());
        }
        Err(Fault::new(offset, format!("expected {}, found {}", spell(wanted), spell(found))))
    }

    /// The next token, which must be a word.
    pub(crate) fn word(&mut self) -> Result<&'a str, Fault> {
        let offset = self.offset();
        match self.next()? {
            Token::Word(word) => Ok(word),
            other => Err(Fault::new(offset, format!("expected a word, found {}", spell(other)))),
        }
    }

    /// Skips to the bracket that closes the one already read.
    pub(crate) fn skip_to_close(&mut self) -> Result<(), Fault> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next()? {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Word(_) => {}
            }
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            match byte {
                b';' => self.skip_comment(),
                _ if byte.is_ascii_whitespace() => self.offset += 1,
                _ => break,
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.text.as_bytes()[self.offset..];
        self.offset += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }
}

/// How a token reads in a message.
pub(crate) fn spell(token: Token<'_>) -> String {
    match token {
        Token::Open => "'('".to_owned(),
        Token::Close => "')'".to_owned(),
        Token::Word(word) => format!("{:?}", word.chars().take(60).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_are_skipped() {
        let mut tokens = Tokens::new(" (a ; (b\n c)");
        let read: Vec<_> = std::iter::from_fn(|| tokens.next().ok()).collect();
        assert_eq!(read, [Token::Open, Token::Word("a"), Token::Word("c"), Token::Close]);
    }

    #[test]
    fn a_fault_knows_its_line_and_column() {
        let text = "(a\n  b";
        let mut tokens = Tokens::new(text);
        tokens.next().unwrap();
        let fault = tokens.skip_to_close().unwrap_err();
        assert_eq!(fault.line_and_column(text), (2, 4));
    }
}
