//! `tactus serve`: the results database as a web site.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use tactus_app::{Error, ErrorKind, Places};
use tactus_serve::{NotStarted, Options};

use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::say;
use crate::values::socket_address;

/// Serve the runs in the store as a read-only web site, with histories, comparisons and a JSON API.
///
/// The site shows the runs, the machines, the history of a figure on each machine and kernel with
/// the changes of its level, the page of each run, and the comparison of any two runs. It changes
/// nothing: the store is opened for reading, and only GET and HEAD are answered.
///
/// It has no accounts, so it listens only on this machine unless --listen names another address.
/// docs/serve.md shows a reverse proxy that adds TLS and a login.
///
/// Example: tactus serve --store postgresql://reader@lab.example/results
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Address and port to listen at; port 0 chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8422",
        value_parser = socket_address)]
    listen: SocketAddr,
    /// Name under which a reverse proxy reaches the site; may be repeated. Requests for other names are refused, except for localhost and the address
    #[arg(long = "name", value_name = "NAME", value_parser = host_name)]
    names: Vec<String>,
    #[command(flatten)]
    quietness: Quietness,
}

/// Parses the name of a host, without scheme, port or path (RFC 1123, section 2.1).
fn host_name(text: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if text.len() <= 253 && text.split('.').all(is_label) {
        return Ok(text.to_owned());
    }
    Err("not the name of a host: write it without scheme, port and path, e.g. results.example"
        .to_owned())
}

pub(crate) fn run(arguments: &ServeArguments, places: &Places) -> CommandResult {
    let options = Options { listen: arguments.listen, names: arguments.names.clone() };
    let on_error = Arc::new(|error: &str| say!("warning: {error}"));
    let server = tactus_serve::start(places.clone(), &options, on_error).map_err(not_started)?;
    let handle = server.handle();
    signals::on_interrupt(move |_| handle.end())?;
    let address = server.address();
    if !address.ip().is_loopback() {
        say!(
            "warning: everyone who reaches {address} can read all runs; docs/serve.md has a proxy"
        );
    }
    if let Some(file) = places.absent_store()? {
        let file = file.display();
        say!("warning: {file} does not exist; the site is empty until a run is stored there");
    }
    arguments.quietness.note(format_args!("serving http://{address}/"));
    server.run().map_err(CommandError::internal)
}

fn not_started(error: NotStarted) -> CommandError {
    match error {
        NotStarted::Store(error) => error.into(),
        error => {
            let hint = "choose another address or port with `--listen ADDRESS:PORT`";
            Error::new(ErrorKind::Unavailable, error).with_hint(hint).into()
        }
    }
}
