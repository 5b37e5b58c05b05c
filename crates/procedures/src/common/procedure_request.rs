//! Inputs for the constructor of a procedure.

use crate::parameters::Parameter;
use steadfast_domain::Settings;
use steadfast_domain::settings::{Amendment, Geometry};

/// Inputs for the constructor of a procedure: settings, geometry, amendments and parameters.
#[derive(Debug, Clone)]
pub struct ProcedureRequest<'a> {
    /// Settings that the user gave.
    pub settings: &'a Settings,
    /// Capacity and sector size of the device.
    pub geometry: Geometry,
    /// Changes that the operator made after the start, in order.
    pub amendments: &'a [Amendment],
    /// Parameters that the procedure has with these settings.
    pub parameters: Vec<Parameter>,
}
