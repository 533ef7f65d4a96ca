//! Tables, drawings and pages of results.
