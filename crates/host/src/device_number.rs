//! Conversion between device numbers and the C library's encoding, as in `st_dev` and `st_rdev`.

use steadfast_domain::DeviceNumber;

pub(crate) fn decode_dev(device: u64) -> DeviceNumber {
    DeviceNumber::new(libc::major(device), libc::minor(device))
}

pub(crate) fn encode_dev(number: DeviceNumber) -> u64 {
    libc::makedev(number.major, number.minor)
}
