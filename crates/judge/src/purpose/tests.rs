//! Purposes as text, and their verdicts on fictional runs.

use tactus_model::format;

use super::*;
use crate::gate::tests::run;

#[test]
fn purposes_read_back_what_they_show() {
    for text in [
        "audio:48000/64",
        "control:1kHz:50us",
        "control:250Hz:1ms",
        "video:60",
        "midi",
        "2ms:100us",
    ] {
        let purpose: Purpose = text.parse().unwrap();
        assert_eq!(purpose.to_string(), text);
        assert_eq!(purpose.to_string().parse(), Ok(purpose));
    }
    let control: Purpose = "control:1kHz:50us".parse().unwrap();
    assert_eq!(
        (control.period(), control.deadline()),
        (Nanos::from_millis(1), Nanos::from_micros(50))
    );
    let audio: Purpose = "audio:48000/64".parse().unwrap();
    assert_eq!((audio.period().as_nanos(), audio.deadline().as_nanos()), (1_333_333, 666_666));
}

#[test]
fn an_invalid_purpose_is_refused_with_an_example() {
    let check = |text: &str, expected: &str| {
        let error = text.parse::<Purpose>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n  does not say: {expected}");
    };
    check("adio:48000/64", "did you mean `audio`?");
    check("audio:48000", "e.g. audio:48000/64");
    check("audio:0/64", "shorter than 1 µs");
    check("control:1kHz", "e.g. control:1kHz:50us");
    check("2ms:0ns", "must not be 0");
    check("video:sixty", "e.g. video:60");
    assert!("0/h".parse::<AtMost>().is_err());
    assert_eq!("2/min".parse::<AtMost>().unwrap().one_in(), Nanos::from_secs(30));
    for text in ["1/24h", "1/h", "0.5/s", "2/1.5s"] {
        assert_eq!(text.parse::<AtMost>().unwrap().to_string(), text);
    }
}

#[test]
fn without_misses_the_measured_time_is_the_bound() {
    let purpose = "1ms:1ms".parse().unwrap();
    let verdict = &PurposeVerdict::of_run(&run("a", "", 5, 0), purpose)[0];
    assert_eq!(verdict.missed.count, 0);
    // Five rounds of two seconds: a third of ten seconds.
    assert_eq!(
        verdict.words.replace(format::THIN_SPACE, " "),
        "None of 10 000 due times in 10 s was more than 1 ms late. At 95 % confidence, at most \
         one deadline in 3.3 s is missed on average; a series of misses counts as one."
    );
}

#[test]
fn missed_due_times_count_and_their_interval_contains_them() {
    let purpose = "1ms:1ms".parse().unwrap();
    let found = run("a", "", 5, 40);
    let verdict = &PurposeVerdict::of_run(&found, purpose)[1];
    assert_eq!(verdict.missed.count, 200);
    // 200 of 10 200 periods of 1 ms.
    let words = verdict.words.replace(format::THIN_SPACE, " ");
    assert!(
        words.contains("On average, one deadline is missed every 51 ms (95 % interval "),
        "{words}"
    );
    let [low, high] = verdict.chance_interval;
    assert!(low < verdict.chance && verdict.chance < high, "{verdict:?}");
    let period = "2ms:1ms".parse().unwrap();
    let interval = "Measured with `--interval 1ms`; for 2ms:1ms, measure with `--interval 2ms`.";
    assert_eq!(notes(&PurposeVerdict::of_run(&found, period))[0], interval, "once for both cells");
    let lenient = "1ms:10ms".parse().unwrap();
    assert_eq!(PurposeVerdict::of_run(&found, lenient)[1].missed.count, 0);
}
