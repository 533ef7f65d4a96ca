//! A server of a test.

use std::path::PathBuf;
use std::thread::JoinHandle;

use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_stream::{BranchId, Client, Draft, IfLate, Moment, StreamId, Wanted};
use tactus_streamd::inputs::{Input, Inputs, OfferedInput};
use tactus_streamd::sink::Sink;
use tactus_streamd::{Handle, Measure, Offered, Pace, ServeError, Server, Settings};
use tactus_sys::local_socket;
use tempfile::TempDir;

/// A server on a socket of its own.
pub struct Running {
    folder: TempDir,
    pub handle: Handle,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

pub const SETTINGS: Settings = Settings {
    pace: Pace { policy: Scheduling::ORDINARY, spin: Nanos::ZERO },
    horizon: Nanos::from_secs(10),
};

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
        let folder = tempfile::tempdir().unwrap();
        let (listener, file) = local_socket::listen_packets(&folder.path().join("socket")).unwrap();
        let offered = sinks.map(|(name, sink)| Offered {
            name: name.to_owned(),
            spec: "test".to_owned(),
            sink,
        });
        let offered_inputs = inputs.map(|(name, input)| OfferedInput {
            name: name.to_owned(),
            spec: "test".to_owned(),
            input,
        });
        let inputs = Inputs::start(offered_inputs.into(), settings.pace.policy).unwrap();
        let server = Server::new(listener, Some(file), offered.into(), settings).unwrap();
        let server = server.with_inputs(inputs);
        let handle = server.handle();
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { folder, handle, thread }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn client(&self, name: &str) -> Client {
        Client::connect(self.socket(), &Wanted::named(name)).unwrap()
    }

    /// What the server returns when it ends by itself.
    #[expect(clippy::allow_attributes, reason = "not every test program uses it")]
    #[allow(dead_code)]
    pub fn result(mut self) -> Result<(), ServeError> {
        self.thread.take().expect("it was not ended").join().unwrap()
    }

    pub fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.handle.end();
            thread.join().unwrap().unwrap();
        }
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
