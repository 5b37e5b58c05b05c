//! Finds a last line without a line end, whose last number may be cut unnoticed.

use super::input::ImportInput;
use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// The end of a text.
#[derive(Debug, Default)]
struct TextEnd {
    /// Name of the input.
    name: String,
    line_ends: u64,
    /// True if the text has something other than blanks behind its last line end.
    is_open: bool,
}

/// The ends of the texts of an import, known once the texts are read.
#[derive(Debug, Default)]
pub(super) struct TextEnds(Vec<Rc<RefCell<TextEnd>>>);

/// Wraps texts so that their ends are recorded while they are read.
pub(super) fn watch_ends(inputs: Vec<ImportInput<'_>>) -> (Vec<ImportInput<'_>>, TextEnds) {
    let mut ends = TextEnds::default();
    let watched = inputs.into_iter().map(|ImportInput { name, content }| {
        let end = TextEnd { name: name.clone(), ..TextEnd::default() };
        let end = Rc::new(RefCell::new(end));
        ends.0.push(Rc::clone(&end));
        ImportInput { name, content: Box::new(WatchedText { content, end }) }
    });
    (watched.collect(), ends)
}

impl TextEnds {
    /// Returns a sentence for each text whose last line may be cut; none if the import found cut
    /// lines itself.
    pub(super) fn remarks(&self, cut: &[String]) -> Vec<String> {
        if !cut.is_empty() {
            return Vec::new();
        }
        let mut remarks = Vec::new();
        for end in &self.0 {
            let TextEnd { name, line_ends, is_open } = &*end.borrow();
            if *is_open && *line_ends > 0 {
                let line = line_ends + 1;
                remarks.push(format!(
                    "{name}: the last line, {line}, has no line end; if the file was cut there, \
                     the last value of this line is wrong."
                ));
            }
        }
        remarks
    }
}

/// A text that records its end while it is read.
struct WatchedText<'r> {
    content: Box<dyn Read + 'r>,
    end: Rc<RefCell<TextEnd>>,
}

impl Read for WatchedText<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.content.read(into)?;
        let read = &into[..length];
        let mut end = self.end.borrow_mut();
        end.line_ends += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        let last = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                end.is_open = false;
                &read[at + 1..]
            }
            None => read,
        };
        end.is_open |= last.iter().any(|byte| !byte.is_ascii_whitespace());
        Ok(length)
    }
}
