//! What is asked of a procedure before it stands on anything.

use crate::parameters::Parameter;
use steadfast_domain::Settings;
use steadfast_domain::settings::{Amendment, Geometry};

/// Settings, device, amendments, and the parameters that the procedure has.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// As the user gave them.
    pub settings: &'a Settings,
    /// The device's geometry.
    pub geometry: Geometry,
    /// What the operator changed later, in order.
    pub amendments: &'a [Amendment],
    /// The parameters of the procedure in these settings.
    pub parameters: Vec<Parameter>,
}
