//! `steadfast help TOPIC`: pages of docs/ for a terminal.

use crate::terminal;
use std::ffi::OsString;
use std::iter;
use steadfast_domain::text::wrapped;

/// A page of docs/.
struct Topic {
    name: &'static str,
    summary: &'static str,
    /// Markdown.
    page: &'static str,
}

macro_rules! topic {
    ($name:literal, $summary:literal) => {
        Topic {
            name: $name,
            summary: $summary,
            page: include_str!(concat!("../../../../docs/", $name, ".md")),
        }
    };
}

/// The pages that can be printed. No topic has the name of a command.
const TOPICS: [Topic; 14] = [
    topic!("safety", "what is never overwritten, and how a target is confirmed"),
    topic!("targets", "several targets at once"),
    topic!("hosts", "load from several hosts"),
    topic!("sim", "simulated drives"),
    topic!("purge", "purge methods, and what to do after a failed purge"),
    topic!("steady-state", "when a measurement is steady, and when a run ends"),
    topic!("methods", "where the methods come from, and how exactly they are followed"),
    topic!("options", "every option with its one meaning"),
    topic!("exit-codes", "exit codes, signals and JSON"),
    topic!("formats", "run directories, traces and other files"),
    topic!("limits", "limits of a datasheet for `steadfast check`"),
    topic!("results", "results of other tools"),
    topic!("coming-from", "for users of TKperf, fio, Iometer, CrystalDiskMark and others"),
    topic!("vocabulary", "terms and abbreviations"),
];

/// Returns the lines of the page that `steadfast help TOPIC` asks for, or `None` if these words
/// ask for something else.
pub fn requested_page(words: &[OsString]) -> Option<Vec<String>> {
    let [_, help, name] = words else { return None };
    if help != "help" {
        return None;
    }
    if name == "topics" {
        return Some(topic_list());
    }
    let topic = TOPICS.iter().find(|topic| name == topic.name)?;
    Some(terminal_lines(topic.page, terminal::width()))
}

fn topic_list() -> Vec<String> {
    let topics =
        TOPICS.iter().map(|topic| format!("  {name:<14}{}", topic.summary, name = topic.name));
    iter::once("Topics, for `steadfast help TOPIC`:".to_owned()).chain(topics).collect()
}

/// Formats Markdown for a terminal: links become their text, each row of a table a paragraph.
fn terminal_lines(markdown: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in markdown.lines().chain([""]) {
        let is_list_item = line.starts_with("- ");
        let is_fence = line.starts_with("```");
        let is_text = !(is_code || is_fence || line.is_empty() || line.starts_with(['#', '|']));
        if !is_text || is_list_item {
            let indent = if paragraph.starts_with("- ") { "  " } else { "" };
            lines.extend(wrapped(&without_links(&paragraph), width, indent));
            paragraph.clear();
        }
        if is_fence {
            is_code = !is_code;
        } else if is_code {
            lines.push(format!("    {line}"));
        } else if let Some(row) = line.strip_prefix('|') {
            lines.extend(table_row(row, width));
        } else if is_text {
            paragraph += line.trim_start();
            paragraph.push(' ');
        } else {
            lines.push(line.trim_start_matches(['#', ' ']).to_owned());
        }
    }
    lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
    lines
}

/// Returns a row of a table as one paragraph; nothing for the line below the head.
fn table_row(row: &str, width: usize) -> Vec<String> {
    const BAR: &str = "\u{0}";
    if row.starts_with("--") || row.starts_with(":-") {
        return Vec::new();
    }
    let row = without_links(row.trim_end().trim_end_matches('|')).replace("\\|", BAR);
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    wrapped(&cells.join("  |  ").replace(BAR, "|"), width, "      ")
}

/// Replaces each `[text](address)` with its text.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((plain, label)), Some((_, end))) =
            (before.rsplit_once('['), after.split_once(')'))
        else {
            break;
        };
        out += plain;
        out += label;
        rest = end;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn no_topic_hides_the_help_of_a_command() {
        for topic in &TOPICS {
            assert!(Cli::command().find_subcommand(topic.name).is_none(), "{}", topic.name);
            assert!(topic.page.starts_with("# "), "{}", topic.name);
        }
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            requested_page(&words("steadfast help topics")).unwrap().len(),
            TOPICS.len() + 1
        );
        assert!(requested_page(&words("steadfast help safety")).is_some());
        for other in ["steadfast help run", "steadfast run safety", "steadfast help trace map"] {
            assert_eq!(requested_page(&words(other)), None, "{other}");
        }
    }

    #[test]
    fn markdown_becomes_plain_text() {
        let page = "# A [b](c.md)\n\nOne [two](x) three\n`four`.\n- item\n\n```\ncode  [x](y)\n```\n\
                    | a | b \\| c |\n|---|---|\n| [d](e) | f |\n";
        let expected = [
            "A [b](c.md)", "", "One two three `four`.", "- item", "", "    code  [x](y)",
            "a | b | c", "d | f",
        ];
        assert_eq!(terminal_lines(page, 80), expected);
    }
}
