//! A server of a test.

use std::path::PathBuf;

use tactus_model::time::Nanos;
use tactus_stream::{BranchId, Client, Draft, IfLate, Moment, StreamId, Wanted};
use tactus_streamd::inputs::{Input, OfferedInput};
use tactus_streamd::sink::Sink;
use tactus_streamd::{Handle, LocalServer, Measure, Offered, ServeError, Settings};

/// A server that must not end by itself unless its test awaits that.
pub struct Running {
    server: LocalServer,
}

pub const SETTINGS: Settings = Settings::ORDINARY;

impl Running {
    /// A server with two measuring devices: `one` and `two`.
    pub fn start() -> Self {
        let measure = || Box::new(Measure) as Box<dyn Sink>;
        Self::with([("one", measure()), ("two", measure())], SETTINGS)
    }

    pub fn with<const N: usize>(sinks: [(&str, Box<dyn Sink>); N], settings: Settings) -> Self {
        Self::with_inputs(sinks, settings, [])
    }

    pub fn with_inputs<const N: usize, const M: usize>(
        sinks: [(&str, Box<dyn Sink>); N],
        settings: Settings,
        inputs: [(&str, Input); M],
    ) -> Self {
        let spec = || "test".to_owned();
        let offered =
            sinks.map(|(name, sink)| Offered { name: name.to_owned(), spec: spec(), sink });
        let inputs =
            inputs.map(|(name, input)| OfferedInput { name: name.to_owned(), spec: spec(), input });
        let server = LocalServer::start(offered.into(), inputs.into(), settings).unwrap();
        Self { server }
    }

    pub fn socket(&self) -> PathBuf {
        self.server.socket()
    }

    pub fn client(&self, name: &str) -> Client {
        Client::connect(self.socket(), &Wanted::named(name)).unwrap()
    }

    #[expect(clippy::allow_attributes, reason = "not every test program uses it")]
    #[allow(dead_code)]
    pub fn handle(&self) -> Handle {
        self.server.handle().clone()
    }

    /// What the server returns when it ends by itself.
    #[expect(clippy::allow_attributes, reason = "not every test program uses it")]
    #[allow(dead_code)]
    pub fn result(mut self) -> Result<(), ServeError> {
        self.server.wait()
    }

    pub fn end(&mut self) {
        self.server.end().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

pub fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

pub fn draft(stream: StreamId, due: Moment) -> Draft<'static> {
    Draft { stream, branch: BranchId(0), due, if_late: IfLate::Deliver, payload: b"abc" }
}
