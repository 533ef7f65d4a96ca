use super::*;
use crate::cost::{Buffers, Operation, Pages, Partner, PartnerCpu, Touch, Wait, Way};
use crate::interrupted::{Dirt, Interrupted};
use crate::load::BuiltinLoad;
use crate::probe::{SleepMethod, TaskKind};
use crate::time::ClockName;

fn check_latency(text: &str, expected: Result<Option<u32>, &str>) {
    let mut cell = Cell::blank();
    let set = find("cpu-dma-latency").unwrap().set;
    let found = set(&mut cell, text).map(|()| cell.policy.cpu_dma_latency_us);
    match expected {
        Ok(micros) => assert_eq!(found, Ok(micros), "{text}"),
        Err(part) => {
            assert!(found.as_ref().is_err_and(|error| error.contains(part)), "{found:?}")
        }
    }
}

#[test]
fn the_idle_limit_is_exact_or_rejected() {
    check_latency("untouched", Ok(None));
    check_latency("0us", Ok(Some(0)));
    check_latency("1ms", Ok(Some(1000)));
    check_latency("500ns", Err("whole number of microseconds"));
    check_latency("2h", Err("whole number of microseconds"));
    check_latency("never", Err("`untouched`"));
}

#[test]
fn the_description_of_a_setting_contains_all_its_words() {
    fn check<T: std::fmt::Display>(setting: &str, words: &[T]) {
        let about = find(setting).unwrap().about;
        let described: Vec<&str> =
            about.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
        for word in words {
            assert!(described.contains(&word.to_string().as_str()), "{setting}: {word}");
        }
    }
    check("probe", ProbeKind::ALL);
    check("load", BuiltinLoad::ALL);
    check("sleep", SleepMethod::ALL);
    check("clock", ClockName::ALL);
    check("interrupted", Interrupted::ALL);
    check("dirt", Dirt::ALL);
    check("tasks", TaskKind::ALL);
    let documented = include_str!("../../../../docs/costs.md");
    for operation in Operation::ALL {
        assert!(documented.contains(&format!("`{operation}`")), "docs/costs.md lacks {operation}");
    }
    check("pages", Pages::ALL);
    check("partner", Partner::ALL);
    check("partner-cpu", PartnerCpu::ALL);
    check("touch", Touch::ALL);
    check("buffers", Buffers::ALL);
    check("wait", Wait::ALL);
    check("way", Way::ALL);
    check("block-requests", BlockRequests::ALL);
    check("traced-events", TracedEvents::ALL);
    for setting in ["policy", "load-policy"] {
        check(setting, &["other", "batch", "idle", "fifo", "rr", "deadline"]);
    }
}
