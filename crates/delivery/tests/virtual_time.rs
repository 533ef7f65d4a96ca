//! In virtual time, devices get the same whatever clients do first, and every item is answered.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tactus_delivery::desk::{DeviceId, Limits};
use tactus_delivery::item::{BranchId, ClientId, Moment, StreamId};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_delivery::simulation::{Change, Note, Played, Script, play};
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

const WIDE: Limits =
    Limits { items: u32::MAX, horizon: Nanos::from_secs(1 << 20), streams: 8, branches: 8 };

/// Scripts of `clients` clients with `notes` notes each, and changes, over a few shared instants.
fn scripts(seed: u64, clients: u32, notes: u32, span: u64) -> Vec<Script<u64>> {
    let mut random = SplitMix64::new(seed);
    let note = |random: &mut SplitMix64, from: u64, branch: Option<u32>| Note {
        due: Moment::from_nanos(from + random.below(span)),
        stream: StreamId(random.below(3) as u32),
        branch: BranchId(branch.unwrap_or(random.below(4) as u32)),
        payload: random.next_u64(),
    };
    let script = |_| {
        let streams = (0..3).map(|stream| (StreamId(stream), DeviceId(stream % 2))).collect();
        let written = (0..notes).map(|_| note(&mut random, 0, None)).collect();
        let mut decided = 0;
        let change = |_| {
            decided += random.below(span / 4);
            let at = decided + random.below(span / 8);
            let branch = random.below(4) as u32;
            let instead = (0..notes / 8).map(|_| note(&mut random, at, Some(branch))).collect();
            let (decided, at) = (Moment::from_nanos(decided), Moment::from_nanos(at));
            Change { decided, branch: BranchId(branch), at, instead }
        };
        let changes = (0..3).map(change).collect();
        Script { streams, notes: written, changes }
    };
    (0..clients).map(script).collect()
}

/// Exactly one receipt for each accepted item, and a delivery for each that says so.
fn check(played: &Played<u64>) {
    assert_eq!(played.receipts.len() as u64, played.accepted);
    let mut numbers: Vec<(ClientId, u64)> =
        played.receipts.iter().map(|receipt| (receipt.client, receipt.sequence)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, played.accepted, "no item has two receipts");
    let delivered = |receipt: &&Receipt| receipt.outcome == Outcome::Delivered;
    let count: usize = played.devices.values().map(Vec::len).sum();
    assert_eq!(played.receipts.iter().filter(delivered).count(), count);
    for receipt in &played.receipts {
        match receipt.outcome {
            Outcome::Delivered => assert_eq!(receipt.began, Some(receipt.due), "never late"),
            Outcome::Cut => assert_eq!(receipt.began, None),
            other => panic!("{other:?}"),
        }
    }
}

/// What devices get, computed without queues: notes and changes laid over each other.
fn expected(scripts: &[Script<u64>]) -> BTreeMap<DeviceId, Vec<(Moment, ClientId, u64)>> {
    let mut devices: BTreeMap<DeviceId, Vec<(Moment, u32, usize, u64)>> = BTreeMap::new();
    for (client, script) in scripts.iter().enumerate() {
        let layers: Vec<&[Note<u64>]> = std::iter::once(&script.notes[..])
            .chain(script.changes.iter().map(|change| &change.instead[..]))
            .collect();
        let mut index = 0;
        for (layer, notes) in layers.into_iter().enumerate() {
            for note in notes {
                let cut = script.changes[layer..]
                    .iter()
                    .any(|change| change.branch == note.branch && note.due >= change.at);
                let (_, device) =
                    script.streams.iter().find(|(stream, _)| *stream == note.stream).unwrap();
                if !cut {
                    let got = (note.due, client as u32, index, note.payload);
                    devices.entry(*device).or_default().push(got);
                }
                index += 1;
            }
        }
    }
    let sorted = |(device, mut got): (_, Vec<(Moment, u32, usize, u64)>)| {
        got.sort_unstable_by_key(|(at, client, index, _)| (*at, *client, *index));
        let got = got.into_iter().map(|(at, client, _, payload)| (at, ClientId(client), payload));
        (device, got.collect())
    };
    devices.into_iter().map(sorted).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn devices_get_the_same_for_any_horizon_credit_and_order(
        seed in any::<u64>(),
        order in any::<u64>(),
        clients in 1_u32..5,
        span in 16_u64..2000,
        horizon in 1_u64..3000,
        items in 1_u32..40,
    ) {
        let scripts = scripts(seed, clients, 60, span);
        let wide = play(&scripts, WIDE, 0).unwrap();
        check(&wide);
        prop_assert_eq!(&wide.devices, &expected(&scripts));
        let narrow = Limits { horizon: Nanos::from_nanos(horizon), ..WIDE };
        let narrow = play(&scripts, narrow, order).unwrap();
        check(&narrow);
        prop_assert_eq!(&narrow.devices, &wide.devices);
        // With little credit a client holds back items until receipts come: then clients may take
        // turns at an instant that several items share.
        let fixed: Vec<Script<u64>> =
            scripts.into_iter().map(|script| Script { changes: Vec::new(), ..script }).collect();
        let mut poor = play(&fixed, Limits { items, ..WIDE }, order).unwrap();
        check(&poor);
        for got in poor.devices.values_mut() {
            assert!(got.is_sorted_by_key(|(at, ..)| *at));
            got.sort_by_key(|(at, client, _)| (*at, *client));
        }
        prop_assert_eq!(&poor.devices, &expected(&fixed));
    }
}

#[test]
fn a_million_items_of_ten_clients_are_the_same_in_random_horizons() {
    let scripts = scripts(20_261_123, 10, 73_000, 15 * 3_600_000_000_000);
    let wide = play(&scripts, WIDE, 1).unwrap();
    assert!(wide.accepted > 1_000_000 && wide.devices == expected(&scripts));
    let narrow = Limits { horizon: Nanos::from_secs(3), ..WIDE };
    assert!(play(&scripts, narrow, 2).unwrap().devices == wide.devices);
}
