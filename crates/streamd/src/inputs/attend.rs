//! One thread for several inputs.

use std::os::fd::AsFd;

use tactus_delivery::item::Moment;
use tactus_midi::Parsed;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::poller::{Interest, Poller};
use tactus_sys::{SysError, clock};

use super::{Gone, Input};
use crate::server::Handle;

/// How often inputs are read whose end cannot be awaited.
const LOOK: Nanos = Nanos::from_millis(500);

/// What is done with what comes in. Inputs are named by their places.
pub trait Attentive {
    /// A message came, or bytes that are none.
    fn parsed(&mut self, input: usize, parsed: Parsed);

    /// An input is gone; nothing more comes from it.
    fn gone(&mut self, input: usize, why: Gone);

    /// Something may be due: called before each wait. Returns when to be called at the latest.
    fn turn(&mut self, _now: Moment) -> Option<Moment> {
        None
    }
}

/// Why [`attend`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The handle was used.
    Request,
    /// The time is over.
    Time,
    /// All inputs are gone, and nothing is left to do.
    Inputs,
}

/// Attends to inputs until `handle` ends it, `until` is reached, or all inputs are gone and nothing is
/// left to do.
///
/// # Errors
/// An input cannot be awaited.
pub fn attend(
    inputs: &mut [Input],
    handle: &Handle,
    until: Option<Moment>,
    attentive: &mut dyn Attentive,
) -> Result<EndedBy, SysError> {
    let poller = Poller::new()?;
    poller.add(handle, inputs.len() as u64, Interest::READ)?;
    for (key, input) in (0..).zip(&*inputs) {
        poller.add(input, key, Interest::READ)?;
    }
    let mut is_open = vec![true; inputs.len()];
    loop {
        let now = clock::now::<Monotonic>();
        if handle.is_ending() {
            return Ok(EndedBy::Request);
        }
        let turn = attentive.turn(now);
        if until.is_some_and(|until| now >= until) {
            return Ok(EndedBy::Time);
        }
        if turn.is_none() && !is_open.contains(&true) {
            return Ok(EndedBy::Inputs);
        }
        let places = 0..inputs.len();
        let silent = places.filter(|place| is_open[*place] && inputs[*place].ends_silently());
        let mut ready: Vec<usize> = silent.collect();
        let look = (!ready.is_empty()).then(|| now + LOOK);
        let next = turn.into_iter().chain(until).chain(look).min();
        for found in poller.wait(next.map(|next| (next - now).into()))? {
            match found.key as usize {
                key if key == inputs.len() => handle.clear(),
                place if !ready.contains(&place) => ready.push(place),
                _ => {}
            }
        }
        for place in ready {
            let input = &mut inputs[place];
            let read = input.read(&mut |parsed| attentive.parsed(place, parsed));
            if let Err(why) = read {
                poller.remove(input.as_fd())?;
                is_open[place] = false;
                attentive.gone(place, why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use tactus_sys::pty::Pty;

    use super::*;
    use crate::inputs::PortSpec;

    #[derive(Default)]
    struct Kept {
        found: Vec<(usize, String)>,
        turns: u32,
    }

    impl Attentive for Kept {
        fn parsed(&mut self, input: usize, parsed: Parsed) {
            if let Parsed::Message { message, .. } = parsed {
                self.found.push((input, message.to_string()));
            }
        }

        fn gone(&mut self, input: usize, why: Gone) {
            self.found.push((input, why.to_string()));
        }

        fn turn(&mut self, _: Moment) -> Option<Moment> {
            self.turns += 1;
            None
        }
    }

    #[test]
    fn several_inputs_are_read_until_all_are_gone() {
        let lines = [(); 2].map(|()| Pty::open().unwrap());
        let mut inputs: Vec<Input> = lines
            .iter()
            .map(|line| {
                line.make_raw().unwrap();
                Input::open(&PortSpec::Device(line.path().unwrap())).unwrap()
            })
            .collect();
        // A message may be torn between the reads; each input has its own parser.
        (&lines[0].line).write_all(&[0x90, 60]).unwrap();
        (&lines[1].line).write_all(&[0xC0, 5]).unwrap();
        let handle = Handle::new().unwrap();
        let mut kept = Kept::default();
        while kept.found.is_empty() {
            let until = Some(clock::now::<Monotonic>() + Nanos::from_millis(5));
            assert_eq!(attend(&mut inputs, &handle, until, &mut kept).unwrap(), EndedBy::Time);
        }
        assert_eq!(kept.found, [(1, "program 1 5".to_owned())]);
        (&lines[0].line).write_all(&[100]).unwrap();
        let [first, second] = lines;
        drop(second);
        let ended = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            drop(first);
        });
        assert_eq!(attend(&mut inputs, &handle, None, &mut kept).unwrap(), EndedBy::Inputs);
        ended.join().unwrap();
        kept.found.sort();
        let wanted = [
            (0, "note-on 1 60 100"),
            (0, "the device is gone"),
            (1, "program 1 5"),
            (1, "the device is gone"),
        ];
        assert_eq!(kept.found, wanted.map(|(input, text)| (input, text.to_owned())));
        assert!(kept.turns >= 3);
    }

    #[test]
    fn a_request_ends_it_at_once() {
        let mut inputs = [Input::open(&PortSpec::Pty(None)).unwrap()];
        let handle = Handle::new().unwrap();
        handle.end();
        let ended = attend(&mut inputs, &handle, None, &mut Kept::default()).unwrap();
        assert_eq!(ended, EndedBy::Request);
    }
}
