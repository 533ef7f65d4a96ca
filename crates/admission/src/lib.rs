//! Schedulability analysis: whether periodic tasks meet their deadlines, why not, and what would
//! fit.
//!
//! All times are whole nanoseconds and every sum is limited or saturates, so no answer depends on
//! rounding in favour of a task. A test is either exact for its model, or sufficient: a sufficient
//! test that fails decides nothing. [`Plan`] reads a plan, [`Admission`] answers it.
//!
//! ```
//! use tactus_admission::{Admission, Plan};
//!
//! let plan = Plan::parse(r#"
//!     policy = "fifo"
//!     [[task]]
//!     name = "audio"
//!     cost = "1ms"
//!     period = "4ms"
//!     [[task]]
//!     name = "video"
//!     cost = "8ms"
//!     period = "16ms"
//! "#).unwrap();
//! let admission = Admission::of(&plan);
//! assert!(admission.admitted);
//! assert_eq!(admission.tasks[1].response.unwrap().worst.to_string(), "11ms");
//! ```
//!
//! | module | test | source |
//! |---|---|---|
//! | [`bounds`] | utilisation bounds for fixed priorities | Liu and Layland 1973; Bini, Buttazzo and Buttazzo 2003; Lehoczky, Sha and Ding 1989 |
//! | [`fixed_priority`] | exact response times | Lehoczky 1990; Tindell, Burns and Wellings 1994 |
//! | [`demand`] | exact demand under EDF on one CPU | Baruah, Rosier and Howell 1990; Zhang and Burns 2009 |
//! | [`global`] | EDF on several CPUs with migration | Goossens, Funk and Baruah 2003 |
//! | [`kernel`] | the bandwidth that `SCHED_DEADLINE` admits | sched-deadline.rst |
//! | [`partition`] | tasks assigned to CPUs | first, best and worst fit decreasing |
//! | [`fit`] | the largest cost and the shortest period that pass | binary search with the tests above |
#![forbid(unsafe_code)]

mod admission;
pub mod bounds;
pub mod demand;
pub mod fit;
pub mod fixed_priority;
pub mod global;
pub mod kernel;
pub mod partition;
mod plan;
mod ratio;
mod steps;
mod task;
mod window;

pub use admission::{Admission, Change, Finding, Outcome, Strength, TaskAnswer, Test};
pub use plan::{BadPlan, Placement, Plan, Policy};
pub use ratio::Ratio;
pub use steps::{Steps, WINDOW_LIMIT};
pub use task::{BadTask, LONGEST, Task};
pub use window::{Run, Window, WindowRow};
