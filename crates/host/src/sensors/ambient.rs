//! Ambient temperature: a sensor of the host that the user names.

use crate::system_roots::{SystemRoots, entries, file_name, read_number, read_text};
use std::path::{Path, PathBuf};

/// A temperature sensor that is not the device's own.
#[derive(Debug, Clone, PartialEq)]
pub struct AmbientSensor {
    /// File with the temperature in thousandths of a degree Celsius (hwmon, thermal zones).
    pub path: PathBuf,
    /// Temperature when the sensor was found, in degrees Celsius.
    pub first: f64,
}

impl AmbientSensor {
    /// Finds a sensor by the path of its file, or by its hwmon label (`temp1_label`).
    ///
    /// # Errors
    /// The file cannot be read, or the label names no sensor or several; the message lists the
    /// labels that exist.
    pub fn find(named: &str, roots: &SystemRoots) -> Result<AmbientSensor, String> {
        let path =
            if named.starts_with('/') { PathBuf::from(named) } else { labeled(named, roots)? };
        match celsius(&path) {
            Some(first) => Ok(AmbientSensor { path, first }),
            None => Err(format!(
                "{} holds no temperature; a sensor's file holds thousandths of a degree Celsius, \
                 such as 23500",
                path.display()
            )),
        }
    }

    /// Reads the temperature in degrees Celsius; `None` if that fails.
    pub fn celsius(&self) -> Option<f64> {
        celsius(&self.path)
    }
}

fn celsius(path: &Path) -> Option<f64> {
    // A pipe or a device would block.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let degrees = read_number::<i64>(path)? as f64 / 1000.0;
    (-60.0..=200.0).contains(&degrees).then_some(degrees)
}

/// Returns the input file of the only sensor with this label.
fn labeled(label: &str, roots: &SystemRoots) -> Result<PathBuf, String> {
    let mut inputs = Vec::new();
    let mut labels = Vec::new();
    for monitor in entries(&roots.sys.join("class/hwmon")) {
        for file in entries(&monitor) {
            let name = file_name(&file);
            let Some(sensor) = name.strip_suffix("_label") else { continue };
            if !sensor.starts_with("temp") {
                continue;
            }
            let Some(text) = read_text(&file) else { continue };
            if text == label {
                inputs.push(monitor.join(format!("{sensor}_input")));
            }
            labels.push(text);
        }
    }
    labels.sort();
    labels.dedup();
    let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
    match inputs.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(format!("no sensor has the label '{label}'; labels of this host: {labels}")),
        several => {
            let paths: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            Err(format!(
                "{} sensors have the label '{label}'; name one: {}",
                several.len(),
                paths.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_sensor_is_found_by_its_label_or_its_path() {
        let machine = MachineFixture::new();
        machine.write("sys/class/hwmon/hwmon0/temp1_input", "41000\n");
        machine.write("sys/class/hwmon/hwmon0/temp1_label", "Package\n");
        machine.write("sys/class/hwmon/hwmon1/temp2_input", "23500\n");
        machine.write("sys/class/hwmon/hwmon1/temp2_label", "Inlet\n");
        machine.write("sys/class/hwmon/hwmon1/in0_label", "Rail\n");
        let inlet = AmbientSensor::find("Inlet", &machine.roots).unwrap();
        assert_eq!((inlet.first, inlet.celsius()), (23.5, Some(23.5)));
        let path = machine.path("sys/class/hwmon/hwmon0/temp1_input");
        let by_path = AmbientSensor::find(path.to_str().unwrap(), &machine.roots).unwrap();
        assert_eq!(by_path.celsius(), Some(41.0));
        machine.write("sys/class/hwmon/hwmon1/temp2_input", "-2000\n");
        assert_eq!(inlet.celsius(), Some(-2.0));
        machine.write("sys/class/hwmon/hwmon1/temp2_input", "warm\n");
        assert_eq!(inlet.celsius(), None);
        assert!(AmbientSensor::find("Inlet", &machine.roots).is_err());
        let unknown = AmbientSensor::find("Rail", &machine.roots).unwrap_err();
        assert!(unknown.ends_with("Inlet, Package"), "{unknown}");
        machine.write("sys/class/hwmon/hwmon2/temp1_label", "Package\n");
        let several = AmbientSensor::find("Package", &machine.roots).unwrap_err();
        assert!(several.starts_with("2 sensors"), "{several}");
    }
}
