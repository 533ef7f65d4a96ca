//! Values that are dropped in reverse order.

/// Values that are dropped last to first, unlike those of a [`Vec`]: a later change may depend on
/// an earlier change, so it is restored before it.
#[derive(Debug)]
pub struct LastFirst<T>(Vec<T>);

impl<T> FromIterator<T> for LastFirst<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> LastFirst<T> {
    /// Holds no values.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes the last value.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Adds a value, which is dropped before all earlier values.
    pub fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T> Default for LastFirst<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for LastFirst<T> {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}
