//! Both sides in processes of their own, which are killed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tactus_fifo::{Ended, FifoReader, FifoWriter, OpenError, Separation};
use tactus_testing::{Need, eventually, skip, wait_until};

use crate::{Place, reader};

/// The environment variables of a helper: what it does, and its socket.
const ROLE: &str = "TACTUS_FIFO_ROLE";
const SOCKET: &str = "TACTUS_FIFO_SOCKET";

/// Starts this test program as a helper with a role.
fn helper(role: &str, socket: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::a_helper", "--ignored", "--nocapture"]);
    command.env(ROLE, role).env(SOCKET, socket).stdout(Stdio::piped());
    command
}

#[test]
#[ignore = "another test starts it as a program"]
fn a_helper() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let socket = std::env::var(SOCKET).unwrap();
    let socket = Path::new(&socket);
    match role.as_str() {
        "read" => {
            let mut reader = reader(socket);
            println!("\n{}", reader.separation() == Separation::OtherUid);
            while let Ok(number) = reader.read() {
                println!("{number}");
            }
        }
        "open" => match FifoReader::<u64>::open(socket, "numbers") {
            Ok(_) => println!("\nopened"),
            Err(error) => println!("\n{error}"),
        },
        "write" => {
            let mut writer = FifoWriter::<u64>::open(socket, "commands").unwrap();
            (0..5).for_each(|number| writer.write(&number).unwrap());
            println!("\nwritten");
            std::thread::sleep(Duration::from_secs(60));
        }
        _ => serve(socket),
    }
}

/// A real-time side that pushes numbers until it is killed.
fn serve(socket: &Path) {
    let mut offers = tactus_fifo::Broker::builder(socket);
    let mut sender = offers.fifo_out::<u64>("numbers", 16).unwrap();
    let _broker = offers.start().unwrap();
    println!("\nserves");
    std::io::stdout().flush().unwrap();
    for number in 0..60_000 {
        let _ = sender.try_push(&number);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The lines that a helper prints, after the words of the test harness.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output = child.stdout.take().unwrap();
    // `test processes::a_helper ... ` stands before the first line.
    BufReader::new(output).lines().map_while(Result::ok).filter(|line| {
        let is_of_harness = ["running", "test ", "\n"].iter().any(|word| line.starts_with(word));
        !is_of_harness && !line.is_empty()
    })
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_reader_is_replaced_and_every_item_is_accounted_for() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 32).unwrap();
    let broker = offers.start().unwrap();
    let mut child = helper("read", &place.socket).spawn().unwrap();
    let mut lines = lines(&mut child);
    assert_eq!(lines.next().as_deref(), Some("false"), "the same user");
    for number in 0..50 {
        eventually(|| sender.try_push(&number));
    }
    assert_eq!(lines.next().as_deref(), Some("0"));
    end(child);
    wait_until("a peer is left", || broker.peers().is_empty());
    let mut reader = reader(&place.socket);
    let rest: Vec<_> = std::iter::from_fn(|| reader.try_read().unwrap()).collect();
    // What the killed reader had taken is gone with it; nothing comes twice, nothing is missing.
    assert_eq!(rest, (reader.start()..50).collect::<Vec<_>>());
    let _ = sender.try_push(&50);
    assert_eq!(reader.read(), Ok(50));
    let counts = sender.counts();
    assert_eq!(counts.pushed, reader.start() + reader.counts().popped);
}

#[test]
fn the_items_of_a_killed_writer_arrive() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("commands", 16).unwrap();
    let _broker = offers.start().unwrap();
    let mut child = helper("write", &place.socket).spawn().unwrap();
    assert_eq!(lines(&mut child).next().as_deref(), Some("written"));
    end(child);
    let items: Vec<_> = std::iter::from_fn(|| receiver.try_pop()).collect();
    assert_eq!(items, [0, 1, 2, 3, 4]);
}

#[test]
fn readers_see_the_end_of_a_killed_real_time_side_and_its_socket_is_replaced() {
    let place = Place::new();
    let mut child = helper("serve", &place.socket).spawn().unwrap();
    assert_eq!(lines(&mut child).next().as_deref(), Some("serves"));
    let mut first = reader(&place.socket);
    first.read().unwrap();
    end(child);
    let mut last = 0;
    let ended = loop {
        match first.read() {
            Ok(number) => last = number,
            Err(ended) => break ended,
        }
    };
    assert_eq!((ended, first.offered().0), (Ended, last + 1), "everything was read");
    let refused = FifoReader::<u64>::open(&place.socket, "numbers");
    assert!(matches!(refused, Err(OpenError::Socket { .. })));

    let mut child = helper("serve", &place.socket).spawn().unwrap();
    assert_eq!(lines(&mut child).next().as_deref(), Some("serves"));
    reader(&place.socket).read().unwrap();
    end(child);
    let left: Vec<_> = std::fs::read_dir(place.socket.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the socket: {left:?}");
}

/// The user `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn needs_root_another_user_is_separated_if_it_is_allowed() {
    if tactus_sys::process::effective_user() != 0 {
        return skip(Need::Root, "another user");
    }
    for is_allowed in [false, true] {
        let place = Place::new();
        // The folder is of mode 0700.
        std::fs::set_permissions(
            place.socket.parent().unwrap(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let mut offers = place.offers();
        if is_allowed {
            offers = offers.allow_user(NOBODY);
        }
        let mut sender = offers.fifo_out::<u64>("numbers", 16).unwrap();
        let broker = offers.start().unwrap();
        let role = if is_allowed { "read" } else { "open" };
        let mut command = helper(role, &place.socket);
        command.uid(NOBODY).current_dir("/");
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return skip(Need::Root, format!("another user runs this: {error}")),
        };
        let mut lines = lines(&mut child);
        if is_allowed {
            assert_eq!(lines.next().as_deref(), Some("true"));
            let peer = broker.peers().remove(0);
            assert_eq!((peer.user, peer.separation), (NOBODY, Separation::OtherUid));
            sender.try_push(&7).unwrap();
            assert_eq!(lines.next().as_deref(), Some("7"));
        } else {
            let refused = lines.next().unwrap();
            assert!(refused.starts_with("user 65534 is not permitted"), "{refused}");
        }
        end(child);
    }
}
