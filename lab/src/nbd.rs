//! Serves lossy drives to QEMU by the NBD protocol (fixed newstyle), and switches their power on the
//! word of a guest.

use crate::lossy_drive::{DrivePower, LossyDrive};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Name of the socket behind the guest's second serial port.
pub const SWITCH: &str = "switch.sock";

/// Reads that a drive without power refuses before it has power again. The program reads three
/// blocks to see that it does not answer, and the kernel repeats each read five times.
const REFUSED_READS: u32 = 24;

/// Time for which a drive is silent before its requests fail. Linux waits 30 s.
const SILENT_TIME: Duration = Duration::from_secs(5);

/// Time for which a drive that was silent is off.
const OFF_TIME: Duration = Duration::from_secs(2);

/// Interval between looks at the power of a silent drive.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

// Numbers of the protocol (https://github.com/NetworkBlockDevice/nbd, doc/proto.md).
const SERVER_MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x3_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const FIXED_NEWSTYLE_NO_ZEROES: u16 = 3;
const OPTION_GO: u32 = 7;
const REPLY_ACK: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_UNSUPPORTED: u32 = 0x8000_0001;
/// NBD_FLAG_HAS_FLAGS and NBD_FLAG_SEND_FLUSH.
const TRANSMISSION_FLAGS: u16 = 1 | 4;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;

/// A drive shared by its server and its switch.
pub type SharedDrive = Arc<Mutex<LossyDrive>>;

/// The drives of a guest, by serial number.
pub type SharedDrives = BTreeMap<&'static str, SharedDrive>;

/// Serves each drive on the socket `SERIAL.sock` in a directory, and the switch on [`SWITCH`].
pub fn serve(drives: &SharedDrives, directory: &Path) -> io::Result<()> {
    for (serial, drive) in drives {
        let listener = UnixListener::bind(directory.join(format!("{serial}.sock")))?;
        let drive = Arc::clone(drive);
        std::thread::spawn(move || {
            // A connection ends with QEMU, and a host that is gone without a word has lost its
            // power with the drive's.
            for stream in listener.incoming().map_while(Result::ok) {
                if transmit(stream, &drive).is_err() {
                    locked(&drive).lose_power(DrivePower::On);
                }
            }
        });
    }
    let listener = UnixListener::bind(directory.join(SWITCH))?;
    let drives = drives.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                switch_power(&line, &drives);
            }
        }
    });
    Ok(())
}

/// Cuts the power of a drive, which returns by itself: `SERIAL`, or `SERIAL silent` for one that
/// answers nothing for a while.
fn switch_power(line: &str, drives: &SharedDrives) {
    let mut words = line.split_whitespace();
    let Some(drive) = words.next().and_then(|serial| drives.get(serial)).cloned() else { return };
    if words.next() != Some("silent") {
        return locked(&drive).lose_power(DrivePower::Off { refusals: REFUSED_READS });
    }
    locked(&drive).lose_power(DrivePower::Silent);
    std::thread::spawn(move || {
        std::thread::sleep(SILENT_TIME);
        locked(&drive).power = DrivePower::Off { refusals: u32::MAX };
        std::thread::sleep(OFF_TIME);
        locked(&drive).power = DrivePower::On;
    });
}

pub fn locked(drive: &SharedDrive) -> std::sync::MutexGuard<'_, LossyDrive> {
    drive.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_array<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_vec(stream: &mut UnixStream, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn transmit(mut stream: UnixStream, drive: &SharedDrive) -> io::Result<()> {
    negotiate(&mut stream, locked(drive).capacity())?;
    loop {
        let magic = u32::from_be_bytes(read_array(&mut stream)?);
        let _flags: [u8; 2] = read_array(&mut stream)?;
        let command = u16::from_be_bytes(read_array(&mut stream)?);
        let handle: [u8; 8] = read_array(&mut stream)?;
        let offset = u64::from_be_bytes(read_array(&mut stream)?) as usize;
        let length = u32::from_be_bytes(read_array(&mut stream)?);
        if magic != REQUEST_MAGIC || command == DISCONNECT {
            return Ok(());
        }
        let written = if command == WRITE { read_vec(&mut stream, length)? } else { Vec::new() };
        while locked(drive).power == DrivePower::Silent {
            std::thread::sleep(POLL_INTERVAL);
        }
        let answer = {
            let mut drive = locked(drive);
            match command {
                _ if drive.power != DrivePower::On => {
                    drive.refuse(command == READ);
                    Err(libc::EIO)
                }
                READ => drive.read(offset, length as usize).map(<[u8]>::to_vec).ok_or(libc::EINVAL),
                WRITE => drive.write(offset, written).map(|()| Vec::new()).ok_or(libc::ENOSPC),
                FLUSH => {
                    drive.flush();
                    Ok(Vec::new())
                }
                _ => Err(libc::EINVAL),
            }
        };
        let (error, data) = match answer {
            Ok(data) => (0, data),
            Err(error) => (error as u32, Vec::new()),
        };
        let head = [&REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &handle].concat();
        stream.write_all(&[head, data].concat())?;
    }
}

fn negotiate(stream: &mut UnixStream, capacity: u64) -> io::Result<()> {
    stream.write_all(&SERVER_MAGIC.to_be_bytes())?;
    stream.write_all(&OPTION_MAGIC.to_be_bytes())?;
    stream.write_all(&FIXED_NEWSTYLE_NO_ZEROES.to_be_bytes())?;
    let _flags: [u8; 4] = read_array(stream)?;
    loop {
        let _magic: [u8; 8] = read_array(stream)?;
        let option = u32::from_be_bytes(read_array(stream)?);
        let length = u32::from_be_bytes(read_array(stream)?);
        read_vec(stream, length)?;
        let mut reply = |kind: u32, data: &[u8]| {
            let length = data.len() as u32;
            stream.write_all(&OPTION_REPLY_MAGIC.to_be_bytes())?;
            stream.write_all(&[option, kind, length].map(u32::to_be_bytes).concat())?;
            stream.write_all(data)
        };
        if option != OPTION_GO {
            reply(REPLY_UNSUPPORTED, &[])?;
            continue;
        }
        // NBD_INFO_EXPORT is 0.
        let export = [&[0; 2][..], &capacity.to_be_bytes(), &TRANSMISSION_FLAGS.to_be_bytes()];
        reply(REPLY_INFO, &export.concat())?;
        return reply(REPLY_ACK, &[]);
    }
}
