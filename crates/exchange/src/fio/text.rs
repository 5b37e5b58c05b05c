//! The text of a job file: sections, globals, includes, variables.

use crate::encoding::decode;
use crate::parse_error::ParseError;
use std::fmt::Write as _;
use steadfast_domain::text::excerpt;

/// Maximum depth of files that include one another.
const DEPTH_MAX: usize = 8;

/// Maximum number of lines, including those of included files.
const LINES_MAX: usize = 100_000;

/// Source of included files and environment variables.
pub trait JobFileContext {
    /// Returns the bytes of an included file, named as the including file names it.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be read.
    fn include(&mut self, name: &str) -> Result<Vec<u8>, String>;
    /// Returns the value of a variable, such as `${NAME}`.
    ///
    /// # Errors
    /// Returns what to do if the variable is not set.
    fn variable(&self, name: &str) -> Result<String, String>;
}

/// A job file: its sections, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFile {
    /// Sections, in order.
    pub sections: Vec<JobSection>,
}

/// A section, the global options above it included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobSection {
    /// Name of the job, without brackets.
    pub name: String,
    /// Line number of the heading, from 1; 0 on the command line.
    pub line: u64,
    /// Options, in order. The last of a repeated option counts.
    pub options: Vec<JobOption>,
}

/// `name=value`, or a name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOption {
    /// Name of the option, in lower case.
    pub name: String,
    /// Value; `None` for a name alone.
    pub value: Option<String>,
    /// Line number in the job file, from 1; for an included file the line that includes it, and 0
    /// on the command line.
    pub line: u64,
}

impl JobOption {
    fn parse(text: &str, line: u64) -> JobOption {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (text, None),
        };
        JobOption { name: name.trim().to_ascii_lowercase(), value, line }
    }
}

impl JobSection {
    /// Returns the last option of a name.
    pub fn option(&self, name: &str) -> Option<&JobOption> {
        self.options.iter().rev().find(|option| option.name == name)
    }
}

/// State of the parser of a job file.
#[derive(Default)]
struct JobFileParser {
    globals: Vec<JobOption>,
    in_global: bool,
    file: JobFile,
    errors: Vec<ParseError>,
    lines: usize,
}

/// The jobs of fio's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FioCommandLine {
    /// Options before the first `name`, which every job has.
    pub globals: Vec<JobOption>,
    /// A section for every `name`.
    pub jobs: Vec<JobSection>,
}

impl FioCommandLine {
    /// Parses options in order, each `name=value` or a name alone. `name` begins a job.
    pub fn parse<'w>(words: impl IntoIterator<Item = &'w str>) -> FioCommandLine {
        let mut line = FioCommandLine::default();
        let mut is_global = true;
        for word in words {
            let option = JobOption::parse(word, 0);
            if option.name == "name" {
                let name = option.value.unwrap_or_default();
                is_global = name.starts_with("global");
                if !is_global {
                    let options = line.globals.clone();
                    line.jobs.push(JobSection { name, line: 0, options });
                }
                continue;
            }
            match line.jobs.last_mut().filter(|_| !is_global) {
                Some(job) => job.options.push(option),
                None => line.globals.push(option),
            }
        }
        line
    }
}

impl JobFile {
    /// Reads a job file with the files that it includes.
    ///
    /// # Errors
    /// Returns one error per line that violates the grammar.
    pub fn read(
        bytes: &[u8],
        context: &mut dyn JobFileContext,
    ) -> Result<JobFile, Vec<ParseError>> {
        JobFile::read_with(bytes, context, &FioCommandLine::default())
    }

    /// Reads a job file given on fio's command line together with other options. The options
    /// before the first `name` apply to its jobs, unless a job has its own; its jobs follow those of
    /// the command line.
    ///
    /// # Errors
    /// As [`JobFile::read`].
    pub fn read_with(
        bytes: &[u8],
        context: &mut dyn JobFileContext,
        line: &FioCommandLine,
    ) -> Result<JobFile, Vec<ParseError>> {
        let mut parser =
            JobFileParser { globals: line.globals.clone(), ..JobFileParser::default() };
        parser.parse(&decode(bytes), None, 0, context);
        if parser.file.sections.is_empty() && parser.errors.is_empty() {
            parser.errors.push(ParseError::whole("it has no job: no section but [global]"));
        }
        if !parser.errors.is_empty() {
            return Err(parser.errors);
        }
        parser.file.sections.splice(0..0, line.jobs.iter().cloned());
        Ok(parser.file)
    }

    /// Returns the job file as text: every section with all its options.
    pub fn write(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let _ = writeln!(text, "[{}]", section.name);
            for option in &section.options {
                let _ = match &option.value {
                    Some(value) => writeln!(text, "{}={value}", option.name),
                    None => writeln!(text, "{}", option.name),
                };
            }
        }
        text
    }
}

impl JobFileParser {
    /// Parses the lines of the file, or of one that its line `included` includes.
    fn parse(
        &mut self,
        text: &str,
        included: Option<u64>,
        depth: usize,
        context: &mut dyn JobFileContext,
    ) {
        for (number_in_file, line) in (1..).zip(text.lines()) {
            self.lines += 1;
            if self.lines > LINES_MAX {
                self.errors.push(ParseError::whole("it has more than 100,000 lines"));
                return;
            }
            let number = included.unwrap_or(number_in_file);
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = include_name(line) {
                self.include(name, number, depth, context);
            } else if let Some(rest) = line.strip_prefix('[') {
                self.section(rest, number);
            } else {
                self.option(line, number, context);
            }
        }
    }

    fn include(&mut self, name: &str, number: u64, depth: usize, context: &mut dyn JobFileContext) {
        if depth >= DEPTH_MAX {
            let what = format!("include {name}: files include one another too deeply");
            return self.errors.push(ParseError::at(number, what));
        }
        match context.include(name) {
            Ok(bytes) => self.parse(&decode(&bytes), Some(number), depth + 1, context),
            Err(why) => self.errors.push(ParseError::at(number, format!("include {name}: {why}"))),
        }
    }

    fn section(&mut self, rest: &str, number: u64) {
        let Some((name, _)) = rest.rsplit_once(']') else {
            return self
                .errors
                .push(ParseError::at(number, "missing ']' after the name of the section"));
        };
        // fio looks at the first letters alone.
        self.in_global = name.starts_with("global");
        if !self.in_global {
            let options = self.globals.clone();
            self.file.sections.push(JobSection { name: name.to_owned(), line: number, options });
        }
    }

    fn option(&mut self, line: &str, number: u64, context: &dyn JobFileContext) {
        let line = match substituted(line, context) {
            Ok(line) => line,
            Err(what) => return self.errors.push(ParseError::at(number, what)),
        };
        let option = JobOption::parse(&line, number);
        match (self.in_global, self.file.sections.last_mut()) {
            (true, _) => self.globals.push(option),
            (false, Some(section)) => section.options.push(option),
            (false, None) => self.errors.push(ParseError::at(
                number,
                format!("'{}' precedes the first section", excerpt(&option.name)),
            )),
        }
    }
}

/// Returns a line up to the first `;` or `#`, where fio cuts it.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

fn include_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim()).filter(|name| !name.is_empty())
}

/// Returns the line with the values of its variables.
fn substituted(line: &str, context: &dyn JobFileContext) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let (name, behind) = after.split_once('}').ok_or("missing '}' after a variable")?;
        let value = context.variable(name);
        text.push_str(&value.map_err(|why| format!("the variable {name} is not set; {why}"))?);
        rest = behind;
    }
    text.push_str(rest);
    for word in ["$pagesize", "$mb_memory", "$ncpus"] {
        if text.contains(word) {
            return Err(format!("{word} differs from host to host; write the number itself"));
        }
    }
    Ok(text)
}
