//! Files by the grammar, and what is made of them.

mod corpus;
mod expansion;
mod export;
mod identity;
mod mutations;
mod reading;
mod results;
mod sequence;
