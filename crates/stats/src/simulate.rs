//! Latencies with a known distribution, for checks of the statistical methods.
//!
//! Only the tests of this crate and `cargo xtask coverage` draw from them; measurements do not.

use tactus_model::random::SplitMix64;

use crate::extreme::GeneralisedPareto;

/// A seeded random number generator.
#[derive(Clone, Debug)]
pub struct Draw(SplitMix64);

impl Draw {
    /// Starts with `seed`; equal seeds give equal sequences.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A uniform number between 0 and 1, both exclusive.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A stationary process of latencies, in microseconds, with a known tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Process {
    /// Independent; each is 10 plus an excess from a generalised Pareto distribution with scale
    /// 5 and this shape.
    Pareto(f64),
    /// Independent; each is 10 times e to the power of a normal number with this standard
    /// deviation.
    LogNormal(f64),
    /// Max-autoregressive: each is the maximum of the decayed previous value and a new one, so
    /// late values come 1/θ in a row; θ is the first number, the shape the second (R. A. Davis
    /// and S. I. Resnick, *Basic properties and prediction of max-ARMA processes*, 1989).
    InARow(f64, f64),
}

impl Process {
    /// Draws `count` successive latencies.
    pub fn draw(self, count: usize, draw: &mut Draw) -> Vec<f64> {
        let mut state = -draw.uniform().ln().recip();
        (0..count).map(|_| self.next(&mut state, draw)).collect()
    }

    fn next(self, state: &mut f64, draw: &mut Draw) -> f64 {
        match self {
            Self::Pareto(shape) => {
                10.0 + GeneralisedPareto { shape, scale: 5.0 }.exceeded_with(draw.uniform())
            }
            Self::LogNormal(deviation) => 10.0 * (deviation * draw.normal()).exp(),
            Self::InARow(index, shape) => {
                // Unit Fréchet numbers: the probability of a value below z is e^(−1/z).
                let new = -draw.uniform().ln().recip();
                *state = ((1.0 - index) * *state).max(index * new);
                10.0 * state.powf(shape)
            }
        }
    }

    /// The level that one late event exceeds per this many wakeups, with late wakeups in a row
    /// counted as one event.
    pub fn level(self, wakeups: f64) -> f64 {
        match self {
            Self::Pareto(shape) => {
                10.0 + GeneralisedPareto { shape, scale: 5.0 }.exceeded_with(wakeups.recip())
            }
            Self::LogNormal(deviation) => 10.0 * (deviation * normal_beyond(wakeups.recip())).exp(),
            Self::InARow(index, shape) => {
                // A share 1 − e^(−1/z) exceeds z, and a share θ of those begins an event.
                let share = (wakeups * index).recip();
                10.0 * (-(-share).ln_1p().recip()).powf(shape)
            }
        }
    }
}

/// The number that a standard normal variable exceeds with probability `chance`.
fn normal_beyond(chance: f64) -> f64 {
    std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * chance)
}
