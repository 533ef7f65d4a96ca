//! What `tactus play --json` prints, as far as it is needed (docs/play.md).

use serde::Deserialize;
use tactus_delivery::item::Moment;
use tactus_model::result::SoundFindings;
use tactus_model::time::Nanos;
use tactus_playback::MediaTime;

/// A line: an object with one of these keys, or another one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Line {
    pub(super) started: Option<Started>,
    pub(super) frame: Option<Receipt>,
    pub(super) ended: Option<Ended>,
}

/// The clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Started {
    pub(super) at: Moment,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Receipt {
    pub(super) media: MediaTime,
    pub(super) due: Moment,
    pub(super) lead: Option<Nanos>,
    pub(super) began: Option<Moment>,
    pub(super) shown: Option<Moment>,
}

/// The clip is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Ended {
    pub(super) sound: Option<SoundFindings>,
    pub(super) decoder_cpu: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_player_are_understood() {
        let parse = |text: &str| serde_json::from_str::<Line>(text).unwrap();
        let frame = r#"{"frame":{"clip":0,"frame":7,"media":-5,"outcome":"shown","due":900,
            "lead":20,"began":880,"shown":903,"evidence":"call","slip":0}}"#;
        let receipt = parse(frame).frame.unwrap();
        assert_eq!(receipt.media.as_nanos(), -5);
        assert_eq!(receipt.shown, Some(Moment::from_nanos(903)));
        let ended = parse(
            r#"{"ended":{"clips":[],"sound":{"cycles":1,"played":2,"cut":3},"decoder_cpu":4}}"#,
        );
        let sound = SoundFindings { played: 2, cut: 3 };
        let expected = Ended { sound: Some(sound), decoder_cpu: Nanos::from_nanos(4) };
        assert_eq!(ended.ended, Some(expected));
        assert!(parse(r#"{"note":"no sound"}"#).started.is_none());
    }
}
