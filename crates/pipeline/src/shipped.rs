//! The shipped pipelines.

/// Names and texts of the shipped pipelines.
pub const PIPELINES: [(&str, &str); 5] = [
    ("video-1993", include_str!("../../../pipelines/video-1993.toml")),
    ("audio-graph", include_str!("../../../pipelines/audio-graph.toml")),
    ("control-loop", include_str!("../../../pipelines/control-loop.toml")),
    ("player-socket", include_str!("../../../pipelines/player-socket.toml")),
    ("player-shm", include_str!("../../../pipelines/player-shm.toml")),
];

/// The text of a shipped pipeline.
pub fn find(name: &str) -> Option<&'static str> {
    PIPELINES.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pipeline;

    #[test]
    fn every_shipped_pipeline_is_valid_and_has_its_own_name() {
        for (name, text) in PIPELINES {
            let pipeline = Pipeline::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(pipeline.name(), name);
            assert!(!pipeline.about().is_empty(), "{name} has no description");
        }
    }

    #[test]
    fn every_file_in_the_folder_is_shipped() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().path().with_extension("");
            let name = name.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(find(&name).is_some(), "{name} is not shipped");
        }
    }
}
