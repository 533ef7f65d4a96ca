//! The command from the outside; each file tests one group of subcommands.

mod admit;
mod bad_input;
mod commands;
mod doctor;
mod documents;
mod ended;
mod explain;
mod flight;
mod full_disk;
mod imported;
mod judged;
mod killed;
mod lab;
mod lint;
mod model;
mod need;
mod qosd;
mod quanta;
mod reproduce;
mod reserve;
mod screen;
mod stored;
mod support;
mod unprivileged;
mod watch;
mod why;
