//! Choosing the parameters of a device, by asking what is left after each choice.

use tactus_sys::pcm::{Format, Parameter, Space};

/// What is wanted of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The least channels; others are silent.
    pub channels: u16,
    /// Frames a second; the nearest is taken.
    pub rate: u32,
}

/// What a device will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// How a sample is stored.
    pub format: Format,
    /// Samples of a frame, at least as many as wanted.
    pub channels: u32,
    /// Frames a second.
    pub rate: u32,
    /// Frames between two interrupts.
    pub period: u32,
    /// Frames of the buffer.
    pub buffer: u32,
}

/// Why a device has no suitable parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// The device refuses everything.
    #[error("it does not take interleaved frames")]
    Nothing,
    /// It has other formats.
    #[error("it takes neither whole numbers of 16 or 32 bits nor floating point numbers")]
    Format,
    /// It has fewer channels than wanted.
    #[error("it has fewer channels than {wanted}: {most} at most")]
    Channels {
        /// Its channels.
        most: u32,
        /// Those wanted.
        wanted: u16,
    },
    /// It refuses the values that it has offered.
    #[error("it refuses every {0}")]
    Value(&'static str),
}

/// The periods of a second: one lasts 20 ms.
const PERIODS_A_SECOND: u32 = 50;
/// The periods of a buffer: a writer may be away for 60 ms.
const PERIODS: u32 = 4;

/// Chooses parameters for a device that says what is left of a space, or that nothing is left.
///
/// # Errors
/// The device has no suitable parameters.
pub fn choose(
    wish: Wish,
    refine: impl Fn(Space) -> Option<Space>,
) -> Result<(Space, Chosen), Unsuitable> {
    let space = refine(Space::default()).ok_or(Unsuitable::Nothing)?;
    let formats = Format::ALL.into_iter().filter(|format| space.has(*format));
    let of_format = |format| {
        let mut space = space.clone();
        space.limit_format(format);
        refine(space).map(|space| (space, format))
    };
    let (space, format) = formats.into_iter().find_map(of_format).ok_or(Unsuitable::Format)?;
    let (_, most) = space.range(Parameter::Channels);
    let wanted = wish.channels;
    if most < u32::from(wanted) {
        return Err(Unsuitable::Channels { most, wanted });
    }
    let value = |space: &Space, parameter, wish, name| {
        nearest(space, parameter, wish, &refine).ok_or(Unsuitable::Value(name))
    };
    let mut enough = space;
    enough.limit(Parameter::Channels, wanted.into(), u32::MAX);
    let (space, channels) =
        value(&enough, Parameter::Channels, wanted.into(), "number of channels")?;
    let (space, rate) = value(&space, Parameter::Rate, wish.rate, "rate")?;
    let wished = rate / PERIODS_A_SECOND;
    let (space, period) = value(&space, Parameter::Period, wished, "period")?;
    let (space, buffer) =
        value(&space, Parameter::Buffer, period.saturating_mul(PERIODS), "size of the buffer")?;
    Ok((space, Chosen { format, channels, rate, period, buffer }))
}

/// Gives a parameter the value that is nearest to a wish; of two, the greater.
fn nearest(
    space: &Space,
    parameter: Parameter,
    wish: u32,
    refine: impl Fn(Space) -> Option<Space>,
) -> Option<(Space, u32)> {
    let within = |least, greatest| {
        let mut space = space.clone();
        space.limit(parameter, least, greatest);
        let (min, max) = space.range(parameter);
        if min <= max { refine(space) } else { None }
    };
    let above = within(wish, u32::MAX).map(|space| space.range(parameter).0);
    let below = within(0, wish).map(|space| space.range(parameter).1);
    let mut found: Vec<u32> = above.into_iter().chain(below).collect();
    found.sort_by_key(|value| value.abs_diff(wish));
    found.into_iter().find_map(|value| Some((within(value, value)?, value)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A device as the kernel describes it, with some rates only.
    #[derive(Clone, Debug)]
    struct Device {
        formats: Vec<Format>,
        channels: (u32, u32),
        rates: Vec<u32>,
        period: (u32, u32),
        buffer_most: u32,
    }

    impl Device {
        fn refine(&self, mut space: Space) -> Option<Space> {
            if let [only] = self.formats[..] {
                space.limit_format(only);
            }
            space.limit(Parameter::Channels, self.channels.0, self.channels.1);
            let (least, greatest) = space.range(Parameter::Rate);
            let rates = self.rates.iter().copied().filter(|rate| (least..=greatest).contains(rate));
            let (first, last) = (rates.clone().min()?, rates.max()?);
            space.limit(Parameter::Rate, first, last);
            space.limit(Parameter::Period, self.period.0, self.period.1);
            let (period, _) = space.range(Parameter::Period);
            space.limit(Parameter::Buffer, period.saturating_mul(2), self.buffer_most);
            let parameters =
                [Parameter::Channels, Parameter::Rate, Parameter::Period, Parameter::Buffer];
            let is_left = |parameter| space.range(parameter).0 <= space.range(parameter).1;
            let is_left = parameters.into_iter().all(is_left)
                && Format::ALL.into_iter().any(|format| space.has(format));
            is_left.then_some(space)
        }
    }

    const CARD: Device = Device {
        formats: Vec::new(),
        channels: (1, 8),
        rates: Vec::new(),
        period: (16, 100_000),
        buffer_most: 200_000,
    };

    fn card(rates: &[u32]) -> Device {
        Device { rates: rates.to_vec(), ..CARD }
    }

    const STEREO: Wish = Wish { channels: 2, rate: 48_000 };

    #[test]
    fn the_nearest_parameters_are_chosen() {
        let of = |device: &Device| {
            choose(STEREO, |space| device.refine(space)).map(|(_, chosen)| chosen)
        };
        let usual =
            Chosen { format: Format::S32, channels: 2, rate: 48_000, period: 960, buffer: 3840 };
        assert_eq!(of(&card(&[44_100, 48_000, 96_000])), Ok(usual));
        let old = Device { formats: vec![Format::S16], channels: (6, 6), ..card(&[8000, 44_100]) };
        let expected =
            Chosen { format: Format::S16, channels: 6, rate: 44_100, period: 882, buffer: 3528 };
        assert_eq!(of(&old), Ok(expected));
        let coarse = Device { period: (4096, 8192), buffer_most: 10_000, ..card(&[48_000]) };
        assert_eq!(of(&coarse).unwrap(), Chosen { period: 4096, buffer: 10_000, ..usual });
    }

    #[test]
    fn what_is_unsuitable_is_named() {
        let of =
            |device: Device| choose(STEREO, |space| device.refine(space)).unwrap_err().to_string();
        let mono = Device { channels: (1, 1), ..card(&[48_000]) };
        assert_eq!(of(mono), "it has fewer channels than 2: 1 at most");
        assert_eq!(of(card(&[])), "it does not take interleaved frames");
    }

    proptest! {
        /// A device that has enough channels gets values that it has, the nearest rate, and a
        /// buffer of at least two periods.
        #[test]
        fn a_choice_is_possible_and_the_nearest(
            channels in (1_u32..12, 0_u32..12),
            rates in prop::collection::vec(1000_u32..400_000, 1..6),
            period in (1_u32..3000, 0_u32..90_000),
            wanted in 1_u16..12,
            rate in 1000_u32..400_000,
        ) {
            let channels: (u32, u32) = (channels.0, channels.0 + channels.1);
            let period = (period.0, period.0 + period.1);
            let buffer_most = period.1 * 2;
            let device = Device { channels, period, buffer_most, ..card(&rates) };
            let wish = Wish { channels: wanted, rate };
            let chosen = choose(wish, |space| device.refine(space));
            if channels.1 < u32::from(wanted) {
                prop_assert_eq!(chosen.unwrap_err(), Unsuitable::Channels { most: channels.1, wanted });
                return Ok(());
            }
            let (space, chosen) = chosen.unwrap();
            prop_assert_eq!(chosen.channels, channels.0.max(wanted.into()));
            let distance = rates.iter().map(|found| found.abs_diff(rate)).min();
            prop_assert_eq!(Some(chosen.rate.abs_diff(rate)), distance);
            prop_assert!(rates.contains(&chosen.rate));
            prop_assert!((period.0..=period.1).contains(&chosen.period));
            prop_assert!(chosen.buffer >= 2 * chosen.period && chosen.buffer <= buffer_most);
            let values = [chosen.channels, chosen.rate, chosen.period, chosen.buffer];
            let parameters =
                [Parameter::Channels, Parameter::Rate, Parameter::Period, Parameter::Buffer];
            for (parameter, value) in parameters.into_iter().zip(values) {
                prop_assert_eq!(space.range(parameter), (value, value));
            }
        }
    }
}
