//! Entry of a procedure in the list: its name, its parameters and its constructor.

use crate::common::procedure_request::ProcedureRequest;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::Procedure;

/// Entry of a procedure in the list of procedures.
#[derive(Debug, Clone, Copy)]
pub struct ProcedureSpec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what the procedure measures, for help and lists.
    pub summary: &'static str,
    /// Parameters of this procedure, in addition to the settings that all procedures have.
    pub parameters: &'static [Parameter],
    /// Constructor. Call [`procedure`](crate::procedure) instead, which also checks the settings.
    pub(crate) make: fn(&ProcedureRequest<'_>) -> Result<Box<dyn Procedure>, ProcedureError>,
}

/// Boxes a procedure as a trait object.
pub(crate) fn boxed<P: Procedure + 'static>(
    procedure: Result<P, ProcedureError>,
) -> Result<Box<dyn Procedure>, ProcedureError> {
    Ok(Box::new(procedure?))
}
