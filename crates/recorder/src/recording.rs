//! The parameters of a capture, and the facts about devices that are needed before it starts.

use crate::error::RecordError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_capture::{
    CaptureDevice, CaptureFileSystem, CaptureOptions, ContentSampler, FileCaptureMode,
    SampledDevice, SourceName, WHOLE_DISK,
};
use steadfast_domain::io_event::{CapturedDevice, ContentSample, MergeCounts};
use steadfast_domain::{Bytes, CaptureConditions, Device, DeviceNumber, Layer, Nanos, Transport};
use steadfast_host::{
    Directory, FileError, NewFile, OutputStorage, OverwritePolicy, ReadAccess, SystemRoots,
};

/// Parameters of a capture and of its files.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Block devices, by the paths the user gave.
    pub devices: Vec<PathBuf>,
    /// Mount points whose file systems are captured at the file-system layer.
    pub mounts: Vec<PathBuf>,
    /// Layers to capture.
    pub layers: Vec<Layer>,
    /// Duration; `None` captures until stopped.
    pub duration: Option<Nanos>,
    /// Length of a capture step; only the I/O streams of every step are recorded. `None` records
    /// single I/Os.
    pub step: Option<Nanos>,
    /// Number of equal LBA ranges of each device whose reads and writes are counted in every step;
    /// `None` counts none.
    pub ranges: Option<u16>,
    /// Process to capture; `None` captures I/Os of all processes.
    pub process: Option<u32>,
    /// Record command names; process numbers are always recorded.
    pub commands: bool,
    /// Mark at the start of the capture.
    pub mark: Option<String>,
    /// Name of the captured workload.
    pub workload: Option<String>,
    /// The user's comment.
    pub comment: Option<String>,
    /// Sample the content of one written block in this many; `None` samples none.
    pub content_sample: Option<u64>,
    /// Size of the buffer between kernel and reader; `None` uses the default.
    pub buffer: Option<Bytes>,
    /// Source of the block layer's events; `None` selects the best that works on this host.
    pub source: Option<SourceName>,
    /// Way to capture the file-system layer; `None` selects the best that works on this host.
    pub files: Option<FileCaptureMode>,
    /// Find the paths of files.
    pub paths: bool,
    /// Record the cgroup of every I/O's process.
    pub cgroups: bool,
    /// Count merged and split requests.
    pub merges: bool,
    /// The files to write.
    pub output: Output,
    /// Name and version of the program, recorded in the files.
    pub software: String,
}

/// The files of a capture.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Path of the first file.
    pub path: PathBuf,
    /// Handling of files that already have these names.
    pub existing: OverwritePolicy,
    /// Users who may read the files.
    pub readers: ReadAccess,
    /// Size at which the capture continues in a new file; `None` for no limit.
    pub rotate_size: Option<Bytes>,
    /// Time after which the capture continues in a new file; `None` for no limit.
    pub rotate_time: Option<Nanos>,
}

impl Output {
    /// Returns the path of a file by its number: the given path for 1, then `NAME.2.parquet` and so
    /// on.
    pub(crate) fn part(&self, part: u32) -> PathBuf {
        match part {
            1 => self.path.clone(),
            part => {
                // Another extension is a part of the name: NAME.day may be captured next to
                // NAME.night.
                let mut path = self.path.clone();
                if path.extension().is_some_and(|extension| extension == "parquet") {
                    path.set_extension("");
                }
                path.as_mut_os_string().push(format!(".{part}.parquet"));
                path
            }
        }
    }

    /// Opens the directory of all files, once per capture.
    pub(crate) fn open_directory(&self) -> Result<Directory, FileError> {
        Directory::open(self.path.parent().unwrap_or(Path::new("")))
    }

    pub(crate) fn begin<D: OutputStorage>(
        &self,
        directory: &D,
        path: &Path,
    ) -> Result<NewFile<D>, FileError> {
        let name = path.file_name().unwrap_or_default();
        NewFile::create_in(directory, name, self.existing, self.readers)
    }

    /// Checks at the start that the names of the first file and, if the capture rotates, the second
    /// are free.
    fn refuse_existing(&self) -> Result<(), FileError> {
        let rotates = self.rotate_size.is_some() || self.rotate_time.is_some();
        let parts = if rotates { 1..=2 } else { 1..=1 };
        parts.into_iter().try_for_each(|part| NewFile::check(&self.part(part), self.existing))
    }
}

impl Recording {
    /// Returns the options for the probes.
    pub(crate) fn options(&self, devices: &[FoundDevice]) -> CaptureOptions {
        CaptureOptions {
            devices: devices.iter().map(|found| found.probed.clone()).collect(),
            layers: self.layers_in_order(),
            process: self.process,
            commands: self.commands,
            step_ns: self.step.map(|width| width.0),
            range_bytes: self.ranges.map_or(Vec::new(), |ranges| {
                let sizes = devices.iter().map(|found| found.device.capacity.0);
                sizes.map(|size| size.div_ceil(ranges.into())).collect()
            }),
            ring_bytes: self
                .buffer
                .map_or_else(steadfast_capture::default_buffer_bytes, |size| size.0),
            source: self.source,
            files: self.files,
            paths: self.paths,
            cgroups: self.cgroups,
            merges: self.merges,
        }
    }

    /// Refuses, before anything is attached, what is known to fail.
    pub(crate) fn check(&self, options: &CaptureOptions) -> Result<(), RecordError> {
        steadfast_capture::check(options).map_err(RecordError::Unsuitable)?;
        if self.content_sample.is_some() && !options.layers.contains(&Layer::Block) {
            return Err(RecordError::NoBlockLayer);
        }
        if let Some(mount) = self.mounts.first()
            && options.layers.contains(&Layer::Block)
        {
            return Err(RecordError::NotABlockLayer(mount.clone()));
        }
        self.output.refuse_existing()?;
        match self.process {
            Some(process) if !steadfast_host::process_exists(process, &SystemRoots::real()) => {
                Err(RecordError::NoProcess(process))
            }
            _ => Ok(()),
        }
    }

    /// Returns the requested layers in a fixed order, each once.
    fn layers_in_order(&self) -> Vec<Layer> {
        let layers = [Layer::Block, Layer::FileSystem].into_iter();
        layers.filter(|layer| self.layers.contains(layer)).collect()
    }

    /// Returns the conditions for the file's metadata, as far as they are known at the start.
    pub(crate) fn conditions(&self, devices: &[FoundDevice]) -> CaptureConditions {
        let roots = SystemRoots::real();
        let host = devices.first().map(|found| steadfast_host::host_facts(&roots, &found.device));
        let host = host.unwrap_or_default();
        let partition_remarks = devices.iter().filter_map(FoundDevice::remark);
        CaptureConditions {
            software: self.software.clone(),
            step_ns: self.step.map(|width| width.0),
            lba_ranges: self.ranges,
            layers: self.layers_in_order(),
            process: self.process,
            workload: self.workload.clone(),
            comment: self.comment.clone(),
            host: host.name,
            operating_system: host.operating_system,
            kernel: host.kernel,
            devices: devices.iter().map(FoundDevice::captured).collect(),
            threads: self.step.is_none(),
            busy_time: self.step.is_some() && self.process.is_none(),
            cgroups: self.cgroups.then(Vec::new),
            merging: self.merges.then(|| vec![MergeCounts::default(); devices.len()]),
            paths: self.paths.then_some((0, 0)),
            content: self
                .content_sample
                .map(|every| ContentSample { every, ..ContentSample::default() }),
            remarks: partition_remarks
                .chain(remark_on_output(&self.output.path, devices))
                .collect(),
            ..CaptureConditions::default()
        }
    }

    /// Starts the sampler of written blocks; returns `None` if content is not sampled.
    pub(crate) fn sampler(
        &self,
        devices: &[FoundDevice],
    ) -> Result<Option<ContentSampler>, RecordError> {
        let Some(every) = self.content_sample else { return Ok(None) };
        let mut sampled = Vec::new();
        for (path, found) in self.devices.iter().zip(devices) {
            let base = found.probed.sectors.start * 512;
            sampled.push(SampledDevice { path: path.clone(), base });
        }
        Ok(Some(ContentSampler::begin(&sampled, every)?))
    }
}

/// A device to capture, as inspected.
pub(crate) struct FoundDevice {
    device: Device,
    probed: CaptureDevice,
}

impl FoundDevice {
    fn captured(&self) -> CapturedDevice {
        let device = &self.device;
        CapturedDevice {
            name: device.name.clone(),
            host: None,
            model: device.model.clone(),
            serial: device.serial.clone(),
            // A mounted file system has offsets in files only.
            capacity: (device.transport != Transport::File).then_some(device.capacity),
            logical_sector: (device.transport != Transport::File).then_some(device.logical_sector),
        }
    }

    /// Returns the remark about a partition, or `None` for a whole disk.
    fn remark(&self) -> Option<String> {
        (self.probed.sectors != WHOLE_DISK).then(|| {
            format!(
                "{} is a partition: offsets count from the start of its disk, and the I/Os \
                 include the disk's flushes.",
                self.probed.name
            )
        })
    }
}

/// Inspects the given devices and mount points, in this order.
pub(crate) fn find(named: &[PathBuf], mounts: &[PathBuf]) -> Result<Vec<FoundDevice>, RecordError> {
    let roots = SystemRoots::real();
    let devices = named.iter().map(|path| inspect_device(path, &roots));
    devices.chain(mounts.iter().map(|path| inspect_mount(path, &roots))).collect()
}

/// Inspects a mounted file system, which need not be on a block device of this host.
fn inspect_mount(path: &Path, roots: &SystemRoots) -> Result<FoundDevice, RecordError> {
    let mounted = steadfast_host::mounted_at(path, roots)?;
    let name = mounted.mount_point.to_string_lossy().into_owned();
    let device = Device {
        model: Some(format!("{}, {}", mounted.kind, mounted.source)),
        ..Device::new(&name, Transport::File, Bytes(0))
    };
    let file_systems = vec![CaptureFileSystem { number: mounted.number, kind: Some(mounted.kind) }];
    let probed = CaptureDevice {
        name,
        number: mounted.number,
        sectors: WHOLE_DISK,
        bio_based: false,
        file_systems,
    };
    Ok(FoundDevice { device, probed })
}

/// Inspects a block device; a partition is probed as a range of its disk.
fn inspect_device(path: &Path, roots: &SystemRoots) -> Result<FoundDevice, RecordError> {
    let mut device = steadfast_host::inspect(path, roots)?;
    let facts = steadfast_host::block_device_facts(&device, roots)
        .ok_or_else(|| RecordError::NoBlockDevice(path.to_owned()))?;
    let (number, sectors) = match &facts.partition {
        Some(part) => (part.disk_number, part.sectors.clone()),
        None => (facts.number, WHOLE_DISK),
    };
    let probed = CaptureDevice {
        name: device.name.clone(),
        number,
        sectors,
        bio_based: facts.is_bio_based,
        file_systems: file_systems(&device, roots),
    };
    // Offsets are relative to the disk, so its capacity bounds them.
    if let Some(part) = facts.partition {
        device.capacity = part.disk_capacity;
    }
    Ok(FoundDevice { device, probed })
}

fn file_systems(device: &Device, roots: &SystemRoots) -> Vec<CaptureFileSystem> {
    let file_systems = steadfast_host::file_systems_on(device, roots).into_iter();
    file_systems.map(|one| CaptureFileSystem { number: one.number, kind: one.kind }).collect()
}

/// Returns the remark for a capture that writes its file to a captured device, or `None`.
fn remark_on_output(output: &Path, devices: &[FoundDevice]) -> Option<String> {
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let dev = std::fs::metadata(directory.unwrap_or(Path::new("."))).ok()?.dev();
    let number = DeviceNumber::new(libc::major(dev), libc::minor(dev));
    let holds = |device: &&FoundDevice| {
        device.probed.file_systems.iter().any(|file_system| file_system.number == number)
    };
    let device = devices.iter().find(holds)?;
    Some(format!(
        "{} is on {}: the I/Os include the capture's own writes. Write the file to another device.",
        output.display(),
        device.probed.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn recording(output: &Path) -> Recording {
        Recording {
            layers: vec![Layer::FileSystem, Layer::Block, Layer::FileSystem],
            commands: true,
            output: Output { path: output.to_owned(), ..Output::default() },
            software: "x 1".into(),
            ..Recording::default()
        }
    }

    fn partition() -> Vec<FoundDevice> {
        let device = Device {
            name: "x".into(),
            model: Some("M".into()),
            ..Device::new("/dev/x", Transport::Sata, Bytes::gib(1))
        };
        let probed = CaptureDevice {
            name: "x1".into(),
            number: DeviceNumber::new(8, 0),
            sectors: 2048..4096,
            bio_based: false,
            file_systems: Vec::new(),
        };
        vec![FoundDevice { device, probed }]
    }

    #[test]
    fn the_second_file_is_checked_if_the_capture_rotates() {
        let scratch = tempfile::tempdir().unwrap();
        let mut recording = recording(&scratch.path().join("t.parquet"));
        let options = recording.options(&partition());
        fs::write(scratch.path().join("t.2.parquet"), "").unwrap();
        recording.check(&options).unwrap();
        recording.output.rotate_time = Some(Nanos::SECOND);
        let error = recording.check(&options).unwrap_err().to_string();
        assert!(error.contains("t.2.parquet exists"), "{error}");
        recording.output.existing = OverwritePolicy::Overwrite;
        recording.check(&options).unwrap();
    }

    #[test]
    fn captures_into_different_files_rotate_into_different_files() {
        let second = |path: &str| recording(Path::new(path)).output.part(2);
        assert_eq!(second("a/my.parquet"), Path::new("a/my.2.parquet"));
        assert_eq!(second("a/my.trace"), Path::new("a/my.trace.2.parquet"));
        assert_eq!(second("a/my.other"), Path::new("a/my.other.2.parquet"));
        assert_eq!(second("a.b/my"), Path::new("a.b/my.2.parquet"));
    }

    #[test]
    fn a_buffer_has_a_size_between_4_kib_and_1_gib() {
        let scratch = tempfile::tempdir().unwrap();
        let mut recording = recording(&scratch.path().join("t.parquet"));
        let mut refusal = |bytes: Bytes| {
            recording.buffer = Some(bytes);
            recording.check(&recording.options(&partition())).err().map(|error| error.to_string())
        };
        assert_eq!(refusal(Bytes::kib(4)), None);
        assert_eq!(refusal(Bytes::gib(1)), None);
        for bytes in [Bytes(2048), Bytes(5000), Bytes::gib(2), Bytes::gib(8)] {
            let refused = refusal(bytes).unwrap();
            assert!(refused.contains(&bytes.0.to_string()), "{refused}");
        }
    }

    #[test]
    fn invalid_recordings_are_refused_before_they_start() {
        let scratch = tempfile::tempdir().unwrap();
        let mut recording = recording(&scratch.path().join("t.parquet"));
        let refusal =
            |recording: &Recording| recording.check(&recording.options(&partition())).unwrap_err();
        recording.process = Some(u32::MAX);
        assert_eq!(
            refusal(&recording).to_string(),
            "no process has PID 4294967295; give the PID of a running process"
        );
        (recording.layers, recording.content_sample) = (vec![Layer::FileSystem], Some(7));
        assert!(refusal(&recording).to_string().contains("add --layer block"));
        recording.layers.clear();
        assert!(matches!(refusal(&recording), RecordError::Unsuitable(_)));
    }

    #[test]
    fn layers_are_recorded_once_and_a_partition_adds_a_remark() {
        let scratch = tempfile::tempdir().unwrap();
        let conditions = recording(&scratch.path().join("t.parquet")).conditions(&partition());
        assert_eq!(conditions.layers, [Layer::Block, Layer::FileSystem]);
        assert!(conditions.remarks[0].starts_with("x1 is a partition"), "{conditions:?}");
        assert_eq!(conditions.devices[0].model.as_deref(), Some("M"));
    }
}
