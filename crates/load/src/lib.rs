//! Competing work.
