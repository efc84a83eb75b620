//! Figures over many runs, read from the store: what papers and pages quote.

pub mod score;
