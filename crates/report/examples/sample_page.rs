//! Writes the page and the tables of made-up runs, to be looked at: `sample_page FOLDER`.

#[path = "../fixtures/runs.rs"]
mod runs;

use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder to write to")?);
    let (quick, standard) = (runs::quick(), runs::standard());
    println!("{}", tactus_report::cells_table(&quick, &tactus_report::TableOptions::default()));
    println!("{}\n", tactus_report::verdict(&quick));
    println!("{}", tactus_report::run_details(&standard, &tactus_report::TableOptions::default()));
    let pages = [
        ("quick", vec![quick.clone()]),
        ("standard", vec![standard.clone()]),
        ("both", vec![quick, standard]),
    ];
    for (name, runs) in pages {
        let began = Instant::now();
        let page = tactus_report::page(&runs)?;
        let path = folder.join(format!("{name}.html"));
        println!("{}: {} KiB in {:?}", path.display(), page.len() >> 10, began.elapsed());
        std::fs::write(path, page)?;
    }
    Ok(())
}
