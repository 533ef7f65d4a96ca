//! Descriptions of pipelines, from the text to the prediction.

use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_pipeline::simulate::simulate;
use tactus_pipeline::{Pipeline, shipped};

/// The shipped pipelines.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    shipped::PIPELINES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

/// Parses a pipeline, and simulates some frames if it is valid.
pub(crate) fn run(bytes: &[u8]) {
    const FRAMES: usize = 3;
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(pipeline) = Pipeline::parse(text) else { return };
    let graph = pipeline.graph(&Layer::default()).expect("it was resolved when it was parsed");
    let simulated = simulate(&graph, FRAMES, |_, _, _| Nanos::from_micros(1));
    assert_eq!(simulated.frames.len(), FRAMES);
    assert!(graph.parts().iter().all(|part| !graph.name_of(*part).is_empty()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_pipelines() {
        for seed in seeds() {
            Pipeline::parse(std::str::from_utf8(&seed).unwrap()).unwrap();
        }
    }
}
