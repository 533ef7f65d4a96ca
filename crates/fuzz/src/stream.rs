//! What the delivery server and its clients read of each other, and the devices of its command.

use tactus_stream::ClientId;
use tactus_stream::message::{Reply, Request};
use tactus_stream::slot::{HEADER_BYTES, RECEIPT_BYTES, ReceiptSlot, Submitted};
use tactus_streamd::NamedDevice;

/// Requests, replies, a device, an item and a receipt.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"hello":{"version":1,"wanted":{"name":"player","payload_bytes":64,"items":1024}}}"#,
        r#"{"open":{"stream":0,"device":"null"}}"#,
        r#"{"close":{"stream":0}}"#,
        r#"{"resume":{"stream":0}}"#,
        r#"{"cut":{"branch":1,"epoch":2,"at":3000000}}"#,
        r#""status""#,
        r#""done""#,
        r#"{"refused":"there is no such device"}"#,
        r#"{"ended":"the server ends"}"#,
        r#"{"welcome":{"client":0,"items":1024,"payload_bytes":64,"horizon":10000000000,"devices":[{"name":"null","spec":"measure","format":{"kind":"midi"},"lead":0}]}}"#,
        "null=measure",
    ];
    let slots = [vec![0; HEADER_BYTES + 8], vec![0; RECEIPT_BYTES]];
    texts.iter().map(|text| text.as_bytes().to_vec()).chain(slots).collect()
}

/// Reads it as each of them. What is valid has the same form again.
pub(crate) fn run(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
        let again = serde_json::to_vec(&request).unwrap();
        assert_eq!(serde_json::from_slice::<Request>(&again).unwrap(), request);
    }
    if let Ok(reply) = serde_json::from_slice::<Reply>(bytes) {
        let again = serde_json::to_vec(&reply).unwrap();
        assert_eq!(serde_json::from_slice::<Reply>(&again).unwrap(), reply);
    }
    if let Some(device) = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()) {
        let device: NamedDevice = device;
        assert_eq!(device.to_string().parse(), Ok(device));
    }
    if bytes.len() >= HEADER_BYTES
        && let Ok(submitted) = Submitted::read(ClientId(0), bytes)
    {
        let mut slot = vec![0; bytes.len()];
        submitted.write(&mut slot).unwrap();
        assert_eq!(Submitted::read(ClientId(0), &slot), Ok(submitted));
    }
    if let Some(slot) = bytes.first_chunk() {
        let _ = ReceiptSlot::read(ClientId(0), slot);
    }
}
