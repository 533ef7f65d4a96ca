//! Compiles whose sources come through a loopback server, as from a network filesystem.
//!
//! A server in a thread of the copy serves each request for a file on a connection of its own.
//! A copy keeps six sources, a program and the compiler's temporary files: less than 1 MiB.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tactus_wire::MESSAGE_LIMIT;

use super::Endless;
use super::compiler::Compiler;
use super::source::{self, Source};
use crate::error::{During, LoadError};
use crate::site::Site;

/// Counts one operation per build, and the bytes of sources that came over the network.
pub(super) fn run(site: &'static Site) -> Endless {
    let directory = site.path("build");
    fs::create_dir(&directory).during("make a directory for the build")?;
    let compiler = Compiler::find(&directory, site)?;
    let sources = source::divided_program(&mut site.random());
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .during("listen on the loopback interface")
        .map_err(|error| error.hint("bring the interface up: sudo ip link set lo up"))?;
    let server = listener.local_addr().during("listen on the loopback interface")?;
    site.spawn("server", move || serve(&listener, &sources))?;
    let files: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    let units: Vec<PathBuf> = files.iter().filter(|file| is_unit(file)).cloned().collect();
    loop {
        let mut bytes = 0;
        for (name, file) in names.iter().zip(&files) {
            let text = fetch(server, name)?;
            fs::write(file, &text).during("write a fetched source")?;
            bytes += text.len() as u64;
        }
        compiler.build(&units, &directory.join("program"))?;
        site.did(1, bytes);
    }
}

/// Whether the compiler is given the file: headers are not.
fn is_unit(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "c")
}

/// Requests a file from the server: sends its name and a newline, and receives the file.
fn fetch(server: SocketAddr, name: &str) -> Result<Vec<u8>, LoadError> {
    let mut text = Vec::new();
    TcpStream::connect(server)
        .and_then(|mut stream| {
            stream.write_all(format!("{name}\n").as_bytes())?;
            stream.take(MESSAGE_LIMIT as u64).read_to_end(&mut text)
        })
        .during(&format!("fetch {name} from the loopback server"))?;
    Ok(text)
}

fn serve(listener: &TcpListener, sources: &[Source]) -> Endless {
    loop {
        let (stream, _) = listener.accept().during("accept a connection")?;
        // Anybody may connect; a client that breaks the connection does not fail the load.
        let _ = serve_file(&stream, sources);
    }
}

fn serve_file(stream: &TcpStream, sources: &[Source]) -> std::io::Result<()> {
    /// Longer than any name of ours.
    const NAME_LIMIT: u64 = 64;
    // A client that sends nothing must not block the build forever.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut name = String::new();
    BufReader::new(stream.take(NAME_LIMIT)).read_line(&mut name)?;
    match sources.iter().find(|source| source.name == name.trim_end()) {
        Some(source) => (&mut &*stream).write_all(source.text.as_bytes()),
        None => Ok(()),
    }
}
