//! What happens, and when it is over.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tactus_sys::clock;

use crate::comparison::Fault;
use crate::scene::{Part, Scene};

pub const FAULTS: [Fault; 13] = [
    Fault { name: "kill the ordinary side", needs: None, loses: true, act: kill },
    Fault { name: "stop it", needs: None, loses: false, act: stop },
    Fault { name: "corrupt indices", needs: None, loses: true, act: corrupt_indices },
    Fault { name: "corrupt messages", needs: None, loses: false, act: corrupt_messages },
    Fault { name: "exhaust memory", needs: Some(Part::Memory), loses: true, act: exhaust_memory },
    Fault { name: "exhaust descriptors", needs: None, loses: false, act: exhaust_descriptors },
    Fault {
        name: "exhaust processes",
        needs: Some(Part::Processes),
        loses: false,
        act: exhaust_processes,
    },
    Fault { name: "fill the disk", needs: Some(Part::Disk), loses: false, act: fill_disk },
    Fault { name: "fill the tmpfs", needs: Some(Part::Tmpfs), loses: false, act: fill_tmpfs },
    Fault { name: "step the clock", needs: Some(Part::Clock), loses: false, act: step_clock },
    Fault { name: "kill the real-time side", needs: None, loses: true, act: kill_real_time_side },
    Fault { name: "panic in the loop", needs: None, loses: false, act: panic_in_loop },
    Fault { name: "hang in the loop", needs: None, loses: false, act: hang_in_loop },
];

fn kill(scene: &mut Scene, time: Duration) {
    scene.end_peer();
    scene.mark();
    scene.start_peer();
    std::thread::sleep(time);
}

fn stop(scene: &mut Scene, time: Duration) {
    scene.peer().signal(Signal::STOP);
    std::thread::sleep(time);
    scene.mark();
    scene.peer().signal(Signal::CONT);
}

fn corrupt_indices(scene: &mut Scene, time: Duration) {
    scene.end_peer();
    let liar = scene.start_helper("hostile::a_liar");
    std::thread::sleep(time);
    drop(liar);
    scene.mark();
    scene.start_peer();
}

fn corrupt_messages(scene: &mut Scene, time: Duration) {
    let babbler = scene.start_helper("hostile::a_babbler");
    std::thread::sleep(time);
    drop(babbler);
    scene.mark();
}

fn exhaust_memory(scene: &mut Scene, time: Duration) {
    let began = Instant::now();
    scene.peer().order("memory");
    scene.await_end_of_peer();
    scene.mark();
    scene.end_peer();
    scene.start_peer();
    std::thread::sleep(time.saturating_sub(began.elapsed()));
}

fn exhaust_descriptors(scene: &mut Scene, time: Duration) {
    exhaust("descriptors", scene, time);
}

fn exhaust_processes(scene: &mut Scene, time: Duration) {
    exhaust("processes", scene, time);
}

fn fill_disk(scene: &mut Scene, time: Duration) {
    exhaust("disk", scene, time);
}

fn fill_tmpfs(scene: &mut Scene, time: Duration) {
    exhaust("tmpfs", scene, time);
}

/// Lets the ordinary side take all of something, and return it.
fn exhaust(what: &str, scene: &mut Scene, time: Duration) {
    scene.peer().order(what);
    std::thread::sleep(time);
    scene.mark();
    scene.peer().order("return");
}

/// Steps the clock forwards and back by a nanosecond, which does in the kernel what a step of
/// hours does, and harms nobody.
fn step_clock(scene: &mut Scene, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        clock::step(1).and_then(|()| clock::step(-1)).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    scene.mark();
}

fn kill_real_time_side(scene: &mut Scene, time: Duration) {
    scene.restart_servo();
    std::thread::sleep(time);
}

fn panic_in_loop(scene: &mut Scene, time: Duration) {
    plant("panic", scene, time);
}

fn hang_in_loop(scene: &mut Scene, time: Duration) {
    plant("hang", scene, time);
}

/// Lets one job of the loop fail.
fn plant(what: &str, scene: &mut Scene, time: Duration) {
    scene.mark();
    scene.servo.order(what);
    std::thread::sleep(time);
}
