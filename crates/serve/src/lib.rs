//! The results database as a read-only web site: runs, machines, histories, comparisons, and the
//! same as JSON.
//!
//! It has no accounts and changes nothing: the store is opened for reading, and only `GET` and `HEAD`
//! are answered. `index` keeps what lists and histories need in memory, `site` answers one
//! request, `http` limits what clients may use. docs/serve.md describes its use.
#![forbid(unsafe_code)]

mod http;
mod index;
mod query;
mod reply;
mod site;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tactus_app::Places;
use tokio::sync::Notify;

use index::Index;
use site::Site;

/// The description of the JSON replies, in JSON Schema.
pub const SCHEMA: &str = include_str!("../../../docs/serve.schema.json");

/// How a site is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen at.
    pub listen: SocketAddr,
    /// The names of this site, as a reverse proxy passes them on; requests for other names are
    /// refused, except for names of this machine's loopback.
    pub names: Vec<String>,
}

/// Why a site could not be started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The results database cannot be read.
    #[error(transparent)]
    Store(#[from] tactus_app::Error),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        error: io::Error,
    },
    /// The system refuses a thread or a socket.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

/// Receives errors that clients see only in general terms.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// A site that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
    end: Arc<Notify>,
}

/// Ends a server.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Notify>);

impl Handle {
    /// Ends the server; replies under way are dropped.
    pub fn end(&self) {
        self.0.notify_one();
    }
}

/// Opens the results database for reading, and begins to listen.
///
/// # Errors
/// The database cannot be read, or the address cannot be listened at.
pub fn start(places: Places, options: &Options, on_error: Listener) -> Result<Server, NotStarted> {
    places.open_store_to_read()?;
    let refused = |error| NotStarted::Listen { address: options.listen, error };
    let listener = TcpListener::bind(options.listen).map_err(refused)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let index = Arc::new(Index::default());
    let site = Site::new(places, index, address.ip(), options.names.clone(), on_error);
    Ok(Server { listener, address, site, end: Arc::new(Notify::new()) })
}

impl Server {
    /// The address it listens at.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it from another thread.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.end))
    }

    /// Serves until [`Handle::end`].
    ///
    /// # Errors
    /// The system refuses a thread or a socket.
    pub fn run(self) -> io::Result<()> {
        let Self { listener, site, end, .. } = self;
        let site = Arc::new(site);
        let reader = index::Reader::start(Arc::clone(&site))?;
        let served = http::serve(listener, site, &end);
        reader.end();
        served
    }
}
