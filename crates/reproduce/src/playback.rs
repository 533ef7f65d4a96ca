//! What whole players showed.

use tactus_model::cell::Cell;
use tactus_model::frames::FramesProbe;
use tactus_model::result::Measurement;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use crate::measured::Measured;
use crate::quantity::{Measure, Statistic, Transfers};

impl Measured {
    /// Adds what whole players showed.
    pub(crate) fn playback(&mut self, name: &str, cell: &Cell, measurements: &[&Measurement]) {
        let tasks = measurements.iter().flat_map(|measurement| &measurement.tasks);
        let [mut whole, mut drawing] = [(); 2].map(|()| LatencyHistogram::new());
        let [mut decoder, mut player, mut display] = [Nanos::ZERO; 3];
        let mut shown = 0;
        for task in tasks {
            let Some(found) = &task.playback else { continue };
            whole.merge_record(&found.frame_times);
            drawing.merge_record(&found.drawing);
            decoder = decoder + found.decoder_cpu;
            player = player + found.player_cpu;
            display = display + found.display_cpu;
            shown += task.accounting.observed;
        }
        self.put(Measure::FrameTime, Transfers::Included, name, whole);
        self.put(Measure::Drawing, Transfers::Included, name, drawing);
        let Some(frames) = cell.probe.frames().filter(|_| shown > 0) else { return };
        for (statistic, used) in [
            (Statistic::DecoderCpu, decoder),
            (Statistic::PlayerCpu, player),
            (Statistic::DisplayCpu, display),
            (Statistic::FrameCpu, decoder + player + display),
        ] {
            let of_frame = used.as_nanos() as f64 / shown as f64;
            self.number(Measure::FramesShown, name, statistic, of_frame);
        }
        let intended: u64 = measurements
            .iter()
            .flat_map(|found| &found.tasks)
            .map(|task| task.accounting.intended)
            .sum();
        let rate = frames.frame_rate.as_f64() * shown as f64 / intended as f64;
        let bytes = rate * FramesProbe::FRAME_BYTES as f64;
        self.number(Measure::FramesShown, name, Statistic::Bandwidth, bytes);
    }
}
