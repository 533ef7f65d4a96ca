//! A toolkit for programs in logical time: tempo maps, tasks that await logical time, cuts.
#![forbid(unsafe_code)]
