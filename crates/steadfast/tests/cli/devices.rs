//! `steadfast devices`.

use super::scratch::{LoopDevice, succeed};
use std::path::Path;

#[test]
fn simulated_drives_and_real_devices_are_listed() {
    let json = succeed(Path::new("/"), &["devices", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let devices = json["devices"].as_array().unwrap();
    assert!(devices.iter().any(|d| d["path"] == "sim:small" && d["transport"] == "simulated"));
    let text = succeed(Path::new("/"), &["devices"]);
    assert!(text.starts_with("TARGET") && text.contains("sim:small"), "{text}");
}

#[test]
fn a_loop_device_is_listed_with_its_size() {
    let Some(device) = LoopDevice::new("a_loop_device_is_listed_with_its_size", 96) else { return };
    let json = succeed(Path::new("/"), &["devices", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let devices = json["devices"].as_array().unwrap();
    let found = devices.iter().find(|d| d["path"] == device.path.as_str()).unwrap();
    assert_eq!(found["capacity"], 96u64 << 20);
    assert_eq!(found["transport"], "loop");
}
