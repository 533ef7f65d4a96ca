//! Writes the page and the tables of made-up runs, to be looked at: `sample_page FOLDER`.

#[path = "../fixtures/runs.rs"]
mod runs;

#[path = "../fixtures/explanations.rs"]
mod explanations;

use std::path::PathBuf;
use std::time::Instant;

use tactus_report::{CellExplanation, TableOptions, TracingCost};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder to write to")?);
    let (quick, standard) = (runs::quick(), runs::standard());
    println!("{}", tactus_report::cells_table(&quick, &tactus_report::TableOptions::default()));
    println!("{}\n", tactus_report::outcome(&quick));
    println!("{}", tactus_report::verdict_text(&tactus_judge::verdict::verdict(&quick), 100));
    println!("{}", tactus_report::run_details(&standard, &tactus_report::TableOptions::default()));
    let explained: Vec<CellExplanation> = explanations::cells();
    println!("{}", tactus_report::explanation_text(&explained, &TableOptions::default()));
    let page = tactus_report::page_with(std::slice::from_ref(&quick), &[explained])?;
    std::fs::write(folder.join("explained.html"), page)?;
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
