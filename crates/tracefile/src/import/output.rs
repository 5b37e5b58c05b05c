//! Writing what an importer delivers.

use super::input::{EventSink, ImportError, ImportResult};
use crate::error::TraceError;
use crate::parquet::TraceWriter;
use std::io::{BufWriter, Write};
use steadfast_domain::CaptureConditions;

/// Size of the output buffer.
const BUFFER_BYTES: usize = 1 << 20;

/// Number of I/Os that are written together.
const BATCH: usize = 1024;

/// Writes a trace of the I/Os that `import` delivers, and returns its result. The trace is complete
/// only if there is no error. `software` is the program that imports; `began_unix_ns` counts if the
/// input does not say when it began.
///
/// # Errors
/// Returns the error of `import`, or [`ImportError::Sink`] if writing fails.
pub fn write_trace<W: Write + Send>(
    output: W,
    software: &str,
    began_unix_ns: Option<u64>,
    import: impl FnOnce(&mut EventSink<'_>) -> Result<ImportResult, ImportError>,
) -> Result<ImportResult, ImportError> {
    let conditions =
        CaptureConditions { software: software.to_owned(), ..CaptureConditions::default() };
    let mut writer = TraceWriter::new(BufWriter::with_capacity(BUFFER_BYTES, output), &conditions)?;
    let mut events = Vec::with_capacity(BATCH);
    let mut imported = import(&mut |event| {
        events.push(*event);
        if events.len() == BATCH {
            writer.write(&events)?;
            events.clear();
        }
        Ok(())
    })?;
    writer.write(&events)?;
    imported.conditions.software = software.to_owned();
    imported.conditions.began_unix_ns = imported.conditions.began_unix_ns.or(began_unix_ns);
    let mut output = writer.finish(imported.conditions.clone())?;
    output.flush().map_err(TraceError::Io)?;
    Ok(imported)
}
