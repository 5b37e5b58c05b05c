//! A procedure on offer: its name, and how it is made.

use crate::ground::asked::Asked;
use crate::parameters::Parameter;
use crate::unsuitable::Unsuitable;
use steadfast_domain::Procedure;

/// Makes a procedure of what is asked.
pub type Make = fn(&Asked<'_>) -> Result<Box<dyn Procedure>, Unsuitable>;

/// A procedure on offer.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// What a user types.
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// The parameters that it has beside the settings of every procedure.
    pub parameters: &'static [Parameter],
    /// Makes it. Use [`procedure`](crate::procedure), which also checks the
    /// settings.
    pub make: Make,
}

/// A procedure behind its trait.
pub(crate) fn boxed<P: Procedure + 'static>(
    made: Result<P, Unsuitable>,
) -> Result<Box<dyn Procedure>, Unsuitable> {
    Ok(Box::new(made?))
}
