//! What people ask of a player.

/// What people ask of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pause, or go on.
    Pause,
    /// Jump by so many seconds of the clip.
    Jump(i32),
    /// A tenth faster.
    Faster,
    /// A tenth slower.
    Slower,
    /// As recorded.
    NormalSpeed,
    /// End.
    Quit,
}
