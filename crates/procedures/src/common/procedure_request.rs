//! Inputs for the constructor of a procedure.

use crate::parameters::Parameter;
use steadfast_domain::Settings;
use steadfast_domain::settings::{Amendment, Geometry};

#[derive(Debug, Clone)]
pub struct ProcedureRequest<'a> {
    pub settings: &'a Settings,
    pub geometry: Geometry,
    /// Changes that the operator made after the start, in order.
    pub amendments: &'a [Amendment],
    /// Parameters that the procedure has with these settings.
    pub parameters: Vec<Parameter>,
}
