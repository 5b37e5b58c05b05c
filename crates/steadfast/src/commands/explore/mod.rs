//! `steadfast explore`: captures and runs in a browser.

mod runs;
mod store;

use crate::cli::explore::ExploreArguments;
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::{signals, terminal, thread_pool};
use anyhow::{Context, bail};
use runs::RunDirectory;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use steadfast_domain::units::Bytes;
use steadfast_engine::StopSignal;
use steadfast_explorer::cache::IndexStore;
use steadfast_explorer::capture::{ExploredCapture, IndexOrigin, open_all};
use steadfast_explorer::explorer_items::{ExplorerItem, ExplorerItems};
use steadfast_explorer::export;
use steadfast_explorer::server::Server;
use store::IndexCache;

/// Interval between progress updates of an index.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until Ctrl-C, or writes a page.
pub fn run(arguments: &ExploreArguments) -> anyhow::Result<ExitState> {
    use_one_heap();
    let items = Arc::new(open_items(&arguments.paths)?);
    let cache = if arguments.no_cache {
        None
    } else {
        IndexCache::open().unwrap_or_else(|error| {
            terminal::warn(&format!("No index is kept: {error}"));
            None
        })
    };
    match &arguments.output {
        Some(path) => write_page(arguments, &items, cache.as_ref(), path),
        None => serve(arguments, &items, cache),
    }
}

/// Limits malloc to one arena. glibc gives each thread its own, where memory freed after a request
/// is not reused by other threads: after a few thousand requests the process had nearly doubled in
/// size.
fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets a tunable of later allocations.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Opens all paths in command-line order; directories are runs.
fn open_items(paths: &[PathBuf]) -> anyhow::Result<ExplorerItems> {
    let (runs, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| path.is_dir());
    for run in &runs {
        if runs.iter().filter(|other| *other == run).count() > 1 {
            return Err(misuse(format!("{} is named twice", run.display())));
        }
    }
    let captures = open_all(&files, Some(&thread_pool::of_all_processors()))?;
    let mut items: Vec<ExplorerItem> =
        captures.into_iter().map(|capture| ExplorerItem::Capture(Box::new(capture))).collect();
    for run in runs {
        items.push(ExplorerItem::Run(Box::new(RunDirectory::open(run)?)));
    }
    Ok(ExplorerItems { items })
}

/// Builds the indexes and writes the page.
fn write_page(
    arguments: &ExploreArguments,
    items: &Arc<ExplorerItems>,
    cache: Option<&IndexCache>,
    path: &Path,
) -> anyhow::Result<ExitState> {
    let file = OutputRule::from_arguments(&arguments.writing)?.create_text(path)?;
    let stop = signals::stop_on_signals()?;
    prepare(items, cache, &stop);
    if stop.is_requested() {
        bail!("stopped; {} was not written", path.display());
    }
    for capture in captures(items) {
        if let Some(what) = capture.failure() {
            bail!("{what}");
        }
    }
    let page = export::page(items).map_err(|refusal| anyhow::anyhow!(refusal.text))?;
    file.write(page.as_bytes())?;
    if path != Path::new("/dev/stdout") {
        terminal::status(&format!("{}: {}", path.display(), Bytes(page.len() as u64)));
    }
    Ok(ExitState::Done)
}

/// Serves the page while the indexes are built.
fn serve(
    arguments: &ExploreArguments,
    items: &Arc<ExplorerItems>,
    cache: Option<IndexCache>,
) -> anyhow::Result<ExitState> {
    let server = Server::bind(arguments.port).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "port {} of 127.0.0.1 is in use; choose another with --port, or omit it",
            arguments.port
        ),
        io::ErrorKind::PermissionDenied => anyhow::anyhow!(
            "port {} of 127.0.0.1 may not be used: {error}; choose one above 1023",
            arguments.port
        ),
        _ => anyhow::anyhow!("port {} of 127.0.0.1: {error}", arguments.port),
    })?;
    let stop = signals::stop_on_signals()?;
    let url = server.url();
    terminal::print(&url)?;
    terminal::status("Open this address in a browser on this machine; Ctrl-C ends the explorer.");
    if !arguments.no_browser {
        open_browser(&url);
    }
    let preparing = {
        let (items, stop) = (Arc::clone(items), stop.clone());
        thread::spawn(move || prepare(&items, cache.as_ref(), &stop))
    };
    let served = server.serve(Arc::clone(items), {
        let stop = stop.clone();
        // Without its terminal, the server could not be stopped.
        move || stop.is_requested() || stop.lost_terminal()
    });
    stop.request();
    let _ = preparing.join();
    served.context("the explorer cannot serve")?;
    Ok(ExitState::Done)
}

/// Builds the indexes and shows their progress.
fn prepare(items: &Arc<ExplorerItems>, cache: Option<&IndexCache>, stop: &StopSignal) {
    thread::scope(|scope| {
        let store = cache.map(|cache| cache as &dyn IndexStore);
        let making = scope.spawn(move || items.prepare(store));
        while !making.is_finished() {
            if stop.is_requested() {
                items.abandon();
            }
            if terminal::shows_progress() {
                let shares = captures(items).map(|capture| capture.progress.share() * 100.0);
                let shares: Vec<String> = shares.map(|share| format!("{share:.0} %")).collect();
                if !shares.is_empty() {
                    terminal::progress(&format!("index: {}", shares.join(", ")));
                }
            }
            thread::sleep(PROGRESS_INTERVAL);
        }
        let _ = making.join();
    });
    if !stop.is_requested() {
        captures(items).for_each(print_origin);
    }
}

fn print_origin(capture: &ExploredCapture) {
    if let Some(what) = capture.failure() {
        return terminal::warn(what);
    }
    let Some(IndexOrigin { from_cache, took, bytes }) = capture.origin() else { return };
    let seconds = took.as_secs_f64();
    let kept = match (from_cache, bytes) {
        (true, _) => "from the cache".to_owned(),
        (false, Some(bytes)) => format!("kept in the cache, {}", Bytes(bytes)),
        (false, None) => "not kept".to_owned(),
    };
    terminal::status(&format!("{}: index in {seconds:.1} s, {kept}", capture.name));
}

fn captures(items: &ExplorerItems) -> impl Iterator<Item = &ExploredCapture> {
    items.items.iter().filter_map(|item| match item {
        ExplorerItem::Capture(capture) => Some(&**capture),
        ExplorerItem::Run(_) => None,
    })
}

/// Opens the user's browser if there is a display; failure is no error.
fn open_browser(url: &str) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_display {
        return;
    }
    let Ok(mut command) = steadfast_host::command(Path::new("xdg-open")) else { return };
    let quiet = std::process::Stdio::null;
    let started = command.arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Ok(mut child) = started {
        // Reap the child, so that no zombie remains.
        thread::spawn(move || child.wait());
    }
}
