//! What ffprobe reports of a clip.

use std::path::Path;

use tactus_clip::probe::understand;

/// Reports of two clips.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let report = r#"{"streams": [
        {"index": 0, "codec_name": "h264", "codec_type": "video", "width": 720, "height": 576,
         "pix_fmt": "yuv420p", "sample_aspect_ratio": "16:15", "r_frame_rate": "25/1",
         "avg_frame_rate": "30000/1001", "start_time": "1.480000", "disposition":
         {"attached_pic": 0}, "side_data_list": [{"rotation": -90}]},
        {"index": 1, "codec_name": "aac", "codec_type": "audio", "sample_rate": "44100",
         "channels": 2, "start_time": "1.400000"}],
        "format": {"start_time": "1.400000", "duration": "60.500000"}}"#;
    vec![report.into(), br#"{"streams": [], "format": {}}"#.into()]
}

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(clip) = understand(Path::new("clip"), text) else { return };
    let has_picture = clip.picture.as_ref().is_some_and(|it| it.width > 0 && it.height > 0);
    assert!(has_picture || clip.sound.is_some_and(|it| it.rate > 0), "nothing to play");
}
