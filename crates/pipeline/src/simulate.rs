//! A pipeline in virtual time.
//!
//! A frame is due in every period. A process does its stages in their order, frame after frame; it
//! begins a stage when the stages before it have ended, their data have been handed over, and it
//! has ended its own work for earlier frames. Processes on the same CPU run one after another, in
//! the order in which they become ready, none preempting another. So stages of different processes
//! overlap, a slow stage makes frames queue, and the queue has no limit.

use tactus_model::time::Nanos;

use crate::dissect::Span;
use crate::graph::{Graph, PartsOfStage};

/// What a simulation yields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// The time of each frame: from its due time until its last stage has ended.
    pub frames: Vec<Nanos>,
    /// The spans of the stages, frame after frame.
    pub spans: Vec<Span>,
    /// How long each process computed.
    pub busy: Vec<Nanos>,
}

/// Runs this number of frames. `duration` gives that of a part in a frame: the frame's number, the
/// index of the part in [`Graph::parts`], and for how long the CPU of its process was idle.
pub fn simulate(
    graph: &Graph,
    frames: usize,
    duration: impl Fn(usize, usize, Nanos) -> Nanos,
) -> Simulated {
    let mut machine = Machine::new(graph, frames);
    while let Some(next) = machine.next(&duration) {
        machine.run(&next, &duration);
    }
    Simulated { frames: machine.frames(), spans: machine.spans(), busy: machine.busy }
}

/// A stage of a frame that can begin.
struct Next {
    process: usize,
    frame: usize,
    stage: usize,
    ready: Nanos,
    begin: Nanos,
}

struct Machine<'g> {
    graph: &'g Graph,
    layout: Vec<PartsOfStage>,
    of_process: Vec<Vec<usize>>,
    frames: usize,
    /// How many stages each process has done, over all frames.
    done: Vec<usize>,
    /// When each stage of each frame ran.
    ran: Vec<Option<Span>>,
    process_free: Vec<Nanos>,
    cpu_free: Vec<Nanos>,
    busy: Vec<Nanos>,
}

impl<'g> Machine<'g> {
    fn new(graph: &'g Graph, frames: usize) -> Self {
        let processes = graph.processes.len();
        let stages_of = |process: usize| {
            let stages = graph.stages.iter().enumerate();
            stages.filter(|(_, stage)| stage.process == process).map(|(number, _)| number).collect()
        };
        Self {
            graph,
            layout: graph.layout(),
            of_process: (0..processes).map(stages_of).collect(),
            frames,
            done: vec![0; processes],
            ran: vec![None; frames * graph.stages.len()],
            process_free: vec![Nanos::ZERO; processes],
            cpu_free: vec![Nanos::ZERO; graph.cpus()],
            busy: vec![Nanos::ZERO; processes],
        }
    }

    fn ended(&self, frame: usize, stage: usize) -> Option<Nanos> {
        self.ran[frame * self.graph.stages.len() + stage].map(|span| span.end)
    }

    /// The stage that begins first of those that can; the next of each process is a candidate,
    /// and none that cannot begin yet would begin earlier.
    fn next(&self, duration: &impl Fn(usize, usize, Nanos) -> Nanos) -> Option<Next> {
        let candidates = (0..self.done.len()).filter_map(|process| self.of(process, duration));
        candidates.min_by_key(|next| (next.begin, next.ready))
    }

    /// The next stage of a process, if all that it follows has ended.
    fn of(&self, process: usize, duration: &impl Fn(usize, usize, Nanos) -> Nanos) -> Option<Next> {
        let stages = &self.of_process[process];
        let frame =
            self.done[process].checked_div(stages.len()).filter(|one| *one < self.frames)?;
        let stage = stages[self.done[process] % stages.len()];
        let ready = self.ready(process, frame, stage, duration)?;
        let begin = ready.max(self.cpu_free[self.graph.processes[process].cpu]);
        Some(Next { process, frame, stage, ready, begin })
    }

    fn ready(
        &self,
        process: usize,
        frame: usize,
        stage: usize,
        duration: &impl Fn(usize, usize, Nanos) -> Nanos,
    ) -> Option<Nanos> {
        let free = self.process_free[process];
        let parts = &self.layout[stage];
        if let Some(wake) = parts.wake {
            let due = self.graph.period.saturating_mul(frame as u64);
            // A process that is still busy at the due time does not sleep.
            return Some(match free > due {
                true => free,
                false => due + duration(frame, wake, self.idle(process, due)),
            });
        }
        let mut ready = free;
        for (link, part) in self.graph.stages[stage].after.iter().zip(&parts.hand_overs) {
            let ended = self.ended(frame, link.from)?;
            // A process that is still busy when the data come need not be woken.
            ready = ready.max(match part {
                Some(part) if ended >= free => {
                    ended + duration(frame, *part, self.idle(process, ended))
                }
                _ => ended,
            });
        }
        Some(ready)
    }

    fn run(&mut self, next: &Next, duration: &impl Fn(usize, usize, Nanos) -> Nanos) {
        let Next { process, frame, stage, begin, .. } = *next;
        let work = duration(frame, self.layout[stage].work, Nanos::ZERO);
        let end = begin + work;
        self.ran[frame * self.graph.stages.len() + stage] = Some(Span { begin, end });
        self.done[process] += 1;
        self.process_free[process] = end;
        self.cpu_free[self.graph.processes[process].cpu] = end;
        self.busy[process] = self.busy[process] + work;
    }

    /// For how long the CPU of a process has been idle at this time.
    fn idle(&self, process: usize, at: Nanos) -> Nanos {
        at.saturating_sub(self.cpu_free[self.graph.processes[process].cpu])
    }

    fn frames(&self) -> Vec<Nanos> {
        let of_frame = |(frame, ran): (usize, &[Option<Span>])| {
            let last = ran.iter().flatten().map(|span| span.end).max().unwrap_or_default();
            last - self.graph.period.saturating_mul(frame as u64)
        };
        self.ran.chunks(self.graph.stages.len().max(1)).enumerate().map(of_frame).collect()
    }

    fn spans(&self) -> Vec<Span> {
        self.ran.iter().map(|span| span.unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn micros(frames: &[Nanos]) -> Vec<u64> {
        frames.iter().map(|time| time.as_nanos() / 1000).collect()
    }

    /// Constant durations in microseconds, by the part's name.
    fn by_name<'a>(
        graph: &'a Graph,
        durations: &'a [(&'a str, u64)],
    ) -> impl Fn(usize, usize, Nanos) -> Nanos + 'a {
        let parts = graph.parts();
        move |_, part, _| {
            let name = graph.name_of(parts[part]);
            let known = durations.iter().find(|(known, _)| *known == name);
            Nanos::from_micros(known.unwrap_or_else(|| panic!("{name}")).1)
        }
    }

    const LINE: [(&str, u64); 6] = [
        ("wake-up of sensor", 50),
        ("sensor", 100),
        ("sensor to control", 20),
        ("control", 300),
        ("control to actuator", 30),
        ("actuator", 10),
    ];

    #[test]
    fn the_parts_of_a_line_of_stages_add_up() {
        let graph = fixture::line();
        let found = simulate(&graph, 3, by_name(&graph, &LINE));
        assert_eq!(micros(&found.frames), [510, 510, 510]);
        assert_eq!(micros(&found.busy), [300, 900, 30]);
    }

    /// With a control that takes 1.2 periods, frame n is ready at 1000 n + 170 and control begins
    /// it when it has ended frame n − 1, at 170 + 1200 n, without being woken.
    #[test]
    fn a_stage_longer_than_the_period_makes_frames_queue() {
        let graph = fixture::line();
        let mut slow = LINE;
        slow[3].1 = 1200;
        let found = simulate(&graph, 4, by_name(&graph, &slow));
        assert_eq!(micros(&found.frames), [1410, 1610, 1810, 2010]);
    }

    /// Sensor and control take 700 µs each: one process could not do both in a period of 1 ms, two
    /// on different CPUs overlap and keep up.
    #[test]
    fn stages_of_different_processes_overlap() {
        let graph = fixture::line();
        let mut even = LINE;
        (even[1].1, even[3].1) = (700, 700);
        let found = simulate(&graph, 4, by_name(&graph, &even));
        assert_eq!(micros(&found.frames), [1510; 4]);
    }

    /// On one CPU, the actuator of frame 0 would begin at 470, but the CPU is the sensor's.
    #[test]
    fn processes_on_one_cpu_take_turns() {
        let mut graph = fixture::line();
        graph.period = Nanos::from_micros(450);
        graph.processes.iter_mut().for_each(|process| process.cpu = 0);
        let mut wake = LINE;
        wake[0].1 = 0;
        // Frame 0: sensor 0–100, control 120–420, actuator ready at 450, as the sensor of frame 1 is.
        let found = simulate(&graph, 2, by_name(&graph, &wake));
        // The actuator was ready no earlier than the sensor, which is first: it runs 550–560. Then
        // control of frame 1, ready at 570, runs until 870, and the actuator 900–910.
        assert_eq!(micros(&found.frames), [560, 460]);
    }

    #[test]
    fn a_stage_waits_for_all_that_it_follows() {
        let graph = fixture::fork();
        let durations = [
            ("wake-up of read", 10),
            ("read", 100),
            ("read to left", 20),
            ("left", 50),
            ("read to right", 20),
            ("right", 300),
            ("left to join", 5),
            ("right to join", 5),
            ("join", 15),
        ];
        let found = simulate(&graph, 2, by_name(&graph, &durations));
        assert_eq!(micros(&found.frames), [450, 450]);
    }

    /// The actuator has the CPU of the sensor, which was busy until 150; control ends at 470.
    #[test]
    fn a_duration_depends_on_how_long_the_cpu_was_idle() {
        let mut graph = fixture::line();
        graph.processes[2].cpu = 0;
        let usual = by_name(&graph, &LINE);
        let hand_over = graph.layout()[2].hand_overs[0].unwrap();
        let found = simulate(&graph, 2, |frame, part, idle| match part == hand_over {
            true => idle,
            false => usual(frame, part, idle),
        });
        // 470, then as long as the CPU was idle, then 10.
        assert_eq!(micros(&found.frames), [470 + 320 + 10; 2]);
    }
}
