//! `steadfast devices`.

use super::fixtures::{LoopDevice, array, succeed, succeed_json};
use std::path::Path;

#[test]
fn simulated_drives_and_real_devices_are_listed() {
    let json = succeed_json(Path::new("/"), &["devices", "--json"]);
    let devices = array(&json["devices"]);
    assert!(devices.iter().any(|d| d["path"] == "sim:small" && d["transport"] == "simulated"));
    let text = succeed(Path::new("/"), &["devices"]);
    assert!(text.starts_with("TARGET") && text.contains("sim:small"), "{text}");
}

#[test]
fn a_loop_device_is_listed_with_its_size() {
    let Some(device) = LoopDevice::new(96) else { return };
    let json = succeed_json(Path::new("/"), &["devices", "--json"]);
    let devices = array(&json["devices"]);
    let found = devices.iter().find(|d| d["path"] == device.path.as_str()).unwrap();
    assert_eq!(found["capacity"], 96u64 << 20);
    assert_eq!(found["transport"], "loop");
}
