//! Files written for these tests, and their content.

mod corpus;
mod expansion;
mod export;
mod identity;
mod mutations;
mod reading;
mod results;
mod sequence;
