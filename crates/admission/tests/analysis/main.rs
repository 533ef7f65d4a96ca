//! The analyses against an independent implementation and against a simulator.

mod oracle;
mod simulation;
mod simulator;

#[path = "../../fixtures/random.rs"]
mod random;
