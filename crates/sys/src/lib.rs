//! Every system call of Tactus.
