//! The output of a guest, line by line, and whether its result counts.

use tactus_model::digest::sha256;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::{Guest, GuestAccount, GuestTime, Proof};
use tactus_model::message::Message;
use tactus_model::result::Shortfall;
use tactus_wire::{Input, parse};

/// Decodes the output of a guest: first its facts, then the messages of its cell.
#[derive(Debug)]
pub struct Decoder {
    guest: Guest,
    /// Without the facts, which arrive first.
    account: GuestAccount,
    /// What the guest lacks on this host.
    shortfall: Option<Shortfall>,
    has_facts: bool,
    is_over: bool,
}

impl Decoder {
    /// Begins with the known part of the guest's account.
    pub const fn new(guest: Guest, account: GuestAccount) -> Self {
        Self { guest, account, shortfall: None, has_facts: false, is_over: false }
    }

    /// Adds what the guest lacks to its result.
    #[must_use]
    pub fn with_shortfall(self, shortfall: Option<Shortfall>) -> Self {
        Self { shortfall, ..self }
    }

    /// Whether the last message has arrived.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Records that every boot had the same output.
    pub fn note_proof(&mut self, proof: Proof) {
        self.account.proof = Some(proof);
    }

    /// Ignores everything that follows.
    pub const fn give_up(&mut self) {
        self.is_over = true;
    }

    /// Decodes a line to the input of the listener, if any. Lines after the last message are
    /// ignored.
    pub fn decode(&mut self, line: &str) -> Option<Input<Message>> {
        if self.is_over {
            return None;
        }
        if self.has_facts {
            let message = self.message(line);
            self.is_over = matches!(
                message,
                Input::Message(Message::Finished(_) | Message::Failed { .. })
                    | Input::Garbled(_)
                    | Input::Closed
            );
            return Some(message);
        }
        match parse::<MachineFacts>(line.as_bytes()) {
            Err(error) => {
                self.is_over = true;
                Some(Err(error).into())
            }
            Ok(facts) => {
                let refusal = refusal(&self.guest, &facts);
                self.has_facts = true;
                self.account.facts = facts;
                let (reason, hint) = refusal?;
                self.is_over = true;
                Some(Input::Message(Message::Failed { reason, hint: Some(hint) }))
            }
        }
    }

    /// Whether the facts of the first machine, the first line of its output, do not match the
    /// request.
    pub fn refuses(&self, transcripts: &[Vec<String>]) -> bool {
        let facts = transcripts.first().and_then(|lines| lines.first());
        let facts = facts.and_then(|line| parse::<MachineFacts>(line.as_bytes()).ok());
        facts.is_some_and(|facts| refusal(&self.guest, &facts).is_some())
    }

    fn message(&self, line: &str) -> Input<Message> {
        match parse(line.as_bytes()) {
            Ok(Message::Finished(mut measurement)) => {
                measurement.guest = Some(Box::new(self.account.clone()));
                measurement.shortfalls.extend(self.shortfall.clone());
                Input::Message(Message::Finished(measurement))
            }
            read => read.into(),
        }
    }
}

/// Linux's clock source for the time stamp counter before its second calibration; it does not
/// permit high-resolution timers.
const UNFINISHED_CLOCK: &str = "tsc-early";

/// Linux's clock source on arm64, the generic timer.
const ARM64_CLOCK: &str = "arch_sys_counter";

/// Why a guest with these facts does not match the request, and the fix.
fn refusal(guest: &Guest, facts: &MachineFacts) -> Option<(String, String)> {
    let source = facts.cpu.clock_source.as_deref().unwrap_or("unknown");
    let trusted: &[&str] = match guest.time {
        GuestTime::Exact(_) => &["tsc", ARM64_CLOCK],
        GuestTime::Wall => &["tsc", ARM64_CLOCK, "kvm-clock"],
    };
    if source == UNFINISHED_CLOCK {
        return Some((
            "the guest's kernel does not trust its time stamp counter: it calibrates the counter \
             over one second of ticks, and in wall time an emulator does not deliver all ticks \
             of a kernel with thousands of ticks per second"
                .to_owned(),
            "use --exact, which delivers every tick, a kernel with a lower tick rate, or a less \
             busy host"
                .to_owned(),
        ));
    }
    if !trusted.contains(&source) {
        return Some((
            format!(
                "the guest's clock source is {source}; only with {} is reading the clock fast \
                 enough for this measurement",
                trusted.join(" or ")
            ),
            "use another kernel, or omit the parameters that disable the clock source".to_owned(),
        ));
    }
    let asked = guest.kernel.preemption()?;
    let found = facts.kernel.preemption.as_deref().unwrap_or("unknown");
    (found != asked).then(|| {
        (
            format!("the guest's preemption model is {found}, not {asked} as requested"),
            "only a kernel with PREEMPT_DYNAMIC accepts preempt=; `tactus lab kernels` lists others"
                .to_owned(),
        )
    })
}

/// Compares the outputs of the boots of one guest.
///
/// # Errors
/// They differ; the number of the first differing line, counted from 1.
pub fn prove(transcripts: &[Vec<String>]) -> Result<Proof, usize> {
    let (first, others) = transcripts.split_first().ok_or(1_usize)?;
    let differing = others.iter().filter_map(|other| first_difference(first, other));
    if let Some(line) = differing.min() {
        return Err(line);
    }
    Ok(proof_of(first, u32::try_from(transcripts.len()).unwrap_or(u32::MAX)))
}

/// The proof that so many machines sent these lines.
fn proof_of(lines: &[String], runs: u32) -> Proof {
    let bytes = lines.iter().map(|line| line.len() as u64 + 1).sum();
    let sha256 = sha256(lines.iter().flat_map(|line| [line.as_str(), "\n"]));
    Proof { runs, outvoted: 0, bytes, sha256 }
}

/// Decides by the last of three boots, after the outputs of the first two differed: an output counts
/// if two boots had it.
///
/// Returns the number of a machine with that output, from 0, and the proof.
///
/// # Errors
/// All differ; the number of the first differing line, counted from 1.
pub fn decide(transcripts: &[Vec<String>]) -> Result<(usize, Proof), usize> {
    let (last, others) = transcripts.split_last().ok_or(1_usize)?;
    match others.iter().position(|other| other == last) {
        Some(number) => Ok((number, Proof { outvoted: 1, ..proof_of(last, 2) })),
        None => Err(prove(transcripts).err().unwrap_or(1)),
    }
}

/// The machine that sent less than another, but nothing else: it ended too early.
pub fn cut_short(transcripts: &[Vec<String>]) -> Option<usize> {
    let longest = transcripts.iter().max_by_key(|lines| lines.len())?;
    let is_shorter = |lines: &Vec<String>| lines.len() < longest.len();
    let all_begin_alike = transcripts.iter().all(|lines| longest.starts_with(lines));
    all_begin_alike.then(|| transcripts.iter().position(is_shorter)).flatten()
}

/// The number of the first differing line, counted from 1.
fn first_difference(one: &[String], other: &[String]) -> Option<usize> {
    let lines = one.iter().zip(other).position(|(one, other)| one != other);
    let shorter = one.len().min(other.len());
    lines.or_else(|| (one.len() != other.len()).then_some(shorter)).map(|line| line + 1)
}

/// How a kernel ended, by its console and what its emulator wrote: by a panic, else the last line.
/// `is_in_boot` says that it had not booted.
pub fn how_it_ended(console: &str, complaints: &str, is_in_boot: bool) -> String {
    if let Some(line) = panic_of(console).or_else(|| lines(console).next_back()) {
        return format!("last line of its console: {line}");
    }
    // The emulator warns at every start that it lacks features of a CPU.
    if let Some(line) = lines(complaints).rfind(|line| !line.contains("warning: ")) {
        return format!("its console is empty, and the emulator says: {line}");
    }
    match is_in_boot {
        true => "the kernel printed nothing; its file may be damaged or truncated".to_owned(),
        false => "last line of its console: (empty)".to_owned(),
    }
}

/// The line of a console that shows a panic.
pub fn panic_of(console: &str) -> Option<&str> {
    lines(console).find(|line| line.contains("Kernel panic"))
}

fn lines(console: &str) -> impl DoubleEndedIterator<Item = &str> {
    console.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// An account for tests, of a guest with these facts.
#[cfg(test)]
pub(crate) fn planted_account(facts: MachineFacts) -> GuestAccount {
    GuestAccount {
        kernel_release: None,
        kernel_sha256: String::new(),
        program_sha256: String::new(),
        archive_sha256: String::new(),
        emulator: String::new(),
        accelerator: "tcg".to_owned(),
        command_line: Vec::new(),
        seed: 1,
        proof: None,
        facts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tactus_model::time::Instant;

    fn facts(clock_source: &str, preemption: &str) -> MachineFacts {
        let mut facts = MachineFacts::unknown(Instant::from_nanos(1));
        facts.cpu.clock_source = Some(clock_source.to_owned());
        facts.kernel.preemption = Some(preemption.to_owned());
        facts
    }

    fn guest(kernel: &str, time: &str) -> Guest {
        Guest { kernel: kernel.parse().unwrap(), time: time.parse().unwrap() }
    }

    fn account() -> GuestAccount {
        planted_account(facts("tsc", "none"))
    }

    fn check_refused(kernel: &str, time: &str, facts: &MachineFacts, part: &str) {
        let mut decoder = Decoder::new(guest(kernel, time), account());
        let line = serde_json::to_string(facts).unwrap();
        assert!(decoder.refuses(&[vec![line.clone()], lines("of another boot")]));
        match decoder.decode(&line) {
            Some(Input::Message(Message::Failed { reason, hint: Some(_) })) => {
                assert!(reason.contains(part), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert!(decoder.is_over());
        assert!(decoder.decode("{\"message\":\"opened\"}").is_none());
    }

    #[test]
    fn warnings_of_the_emulator_are_not_the_console_of_a_guest() {
        let warning =
            "qemu-system-x86_64: warning: TCG doesn't support requested feature: invtsc\n";
        let nothing = "the kernel printed nothing; its file may be damaged or truncated";
        assert_eq!(how_it_ended("\n", warning, true), nothing);
        assert_eq!(how_it_ended("", "", false), "last line of its console: (empty)");
        let error = format!("qemu: could not load kernel\n{warning}");
        let said = "its console is empty, and the emulator says: qemu: could not load kernel";
        assert_eq!(how_it_ended("", &error, true), said);
        let console = "a\nKernel panic - not syncing\nb\n";
        let panic = "last line of its console: Kernel panic - not syncing";
        assert_eq!(how_it_ended(console, &error, true), panic);
        assert_eq!(how_it_ended("a\nb\n", warning, false), "last line of its console: b");
    }

    #[test]
    fn a_machine_that_ended_too_early_is_not_one_that_differs() {
        let check = |transcripts: &[&[&str]], expected: Option<usize>| {
            let transcripts: Vec<Vec<String>> = transcripts
                .iter()
                .map(|lines| lines.iter().map(ToString::to_string).collect())
                .collect();
            assert_eq!(cut_short(&transcripts), expected, "{transcripts:?}");
        };
        check(&[&["a", "b"], &["a", "b"]], None);
        check(&[&["a", "b"], &["a"]], Some(1));
        check(&[&[], &["a"]], Some(0));
        check(&[&["a", "c"], &["a", "b", "d"]], None);
        check(&[], None);
    }

    #[test]
    fn a_guest_that_does_not_match_the_request_is_refused() {
        check_refused("debian", "exact", &facts("hpet", "none"), "clock source is hpet");
        check_refused("debian", "exact", &facts("kvm-clock", "none"), "clock source is kvm-clock");
        check_refused("debian", "wall", &facts("tsc-early", "none"), "over one second of ticks");
        let requested = "debian:preempt=full";
        check_refused(requested, "wall", &facts("tsc", "none"), "is none, not full as requested");
        check_refused("debian-rt", "exact", &facts("tsc", "full"), "is full, not rt as requested");
    }

    #[test]
    fn a_guest_that_matches_the_request_is_decoded_to_its_last_message() {
        let mut decoder = Decoder::new(guest("debian:preempt=full", "wall"), account());
        let facts = serde_json::to_string(&facts("kvm-clock", "full")).unwrap();
        assert!(!decoder.refuses(&[vec![facts.clone()], Vec::new()]));
        assert!(decoder.decode(&facts).is_none());
        let opened = decoder.decode("{\"message\":\"opened\"}");
        assert!(matches!(opened, Some(Input::Message(Message::Opened))));
        assert!(!decoder.is_over());
        let failed = decoder.decode("{\"message\":\"failed\",\"reason\":\"no\",\"hint\":null}");
        assert!(matches!(failed, Some(Input::Message(Message::Failed { .. }))));
        assert!(decoder.is_over());
    }

    #[test]
    fn an_invalid_line_is_garbled() {
        let mut decoder = Decoder::new(guest("debian", "wall"), account());
        assert!(matches!(decoder.decode("panic"), Some(Input::Garbled(line)) if line == "panic"));
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn boots_are_equal_only_if_every_byte_is_equal() {
        let prove =
            |texts: &[&str]| prove(&texts.iter().map(|text| lines(text)).collect::<Vec<_>>());
        let proof = prove(&["a\nb", "a\nb", "a\nb"]).unwrap();
        assert_eq!((proof.runs, proof.bytes), (3, 4));
        // From `printf 'a\nb\n' | sha256sum`.
        assert_eq!(
            proof.sha256,
            "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2"
        );
        assert_eq!(prove(&["a\nb", "a\nc"]), Err(2));
        assert_eq!(prove(&["a", "a", "a\nb"]), Err(2));
        assert_eq!(prove(&["a\nb\nc", "a\nb", "b"]), Err(1));
        assert!(prove(&[]).is_err());
    }

    #[test]
    fn the_output_of_two_of_three_boots_counts() {
        let decide =
            |texts: [&str; 3]| decide(&texts.iter().map(|text| lines(text)).collect::<Vec<_>>());
        let equal = prove(&[lines("a\nb"), lines("a\nb")]).unwrap();
        let outvoted = Proof { outvoted: 1, ..equal };
        assert_eq!(decide(["a\nb", "a\nc", "a\nb"]), Ok((0, outvoted.clone())));
        assert_eq!(decide(["a\nc", "a\nb", "a\nb"]), Ok((1, outvoted)));
        assert_eq!(decide(["a\nb", "a\nc", "a\nd"]), Err(2));
        assert_eq!(decide(["a\nb", "a\nc", "a\nb\nc"]), Err(2));
    }
}
