//! The command from outside, as one program: each file is one point of view.

mod commands;
mod doctor;
mod explain;
mod flight;
mod imported;
mod judged;
mod killed;
mod lab;
mod quanta;
mod reproduce;
mod screen;
mod support;
mod unprivileged;
mod watch;
