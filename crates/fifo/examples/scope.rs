//! The ordinary side: prints what the loop sends, and gives it targets.

use std::error::Error;

use tactus_fifo::{FifoReader, FifoWriter};

const SOCKET: &str = "/tmp/tactus-servo.sock";

fn main() -> Result<(), Box<dyn Error>> {
    let mut positions = FifoReader::<f64>::open(SOCKET, "position")?;
    let mut targets = FifoWriter::<f64>::open(SOCKET, "target")?;
    println!("{}", positions.separation());
    for number in 1_u32.. {
        // Waits for the next item; an error is the end of the real-time side.
        let position = positions.read()?;
        if number % 500 == 0 {
            println!("{position:.3}");
            targets.write(&f64::from(number % 7))?;
        }
    }
    Ok(())
}
