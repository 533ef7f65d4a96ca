//! Modules of Debian's kernels. `tactus lab` needs none, so its cache has only the kernels.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use tactus_guest::chore::Module;
use tactus_kernels::Kernel;

use super::Files;

/// The name of a module, and its file.
type Found = (String, Vec<u8>);

/// Fetches a module of a kernel and all that it needs into the files of a guest, and returns them,
/// each after those that it needs. `parameters` are those of the module itself.
pub(crate) fn add_to(
    files: &mut Files,
    kernel: &Kernel,
    (module, parameters): (&str, &str),
) -> anyhow::Result<Vec<Module>> {
    let release = kernel.release.as_deref().context("the kernel has no release")?;
    let mut modules = Vec::new();
    for (found, content) in fetch(release, module)? {
        let path = format!("modules/{found}.ko");
        files.file(&path, content);
        let parameters = if found == name(module) { parameters } else { "" }.to_owned();
        modules.push(Module { file: format!("/{path}"), parameters });
    }
    Ok(modules)
}

/// Fetches the package of a kernel, and returns this module and all that it needs.
fn fetch(release: &str, module: &str) -> anyhow::Result<Vec<Found>> {
    let package = format!("linux-image-{release}");
    let directory = tempfile::tempdir()?;
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", &package]).current_dir(directory.path());
    let output = download.output().context("apt-get")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "apt-get: {}", errors.trim());
    let fetched = fs::read_dir(directory.path())?.next().context("apt-get has fetched nothing")?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--fsys-tarfile").arg(fetched?.path()).stdout(Stdio::piped());
    let mut unpacking = unpack.spawn().context("dpkg-deb")?;
    let content = unpacking.stdout.take().context("dpkg-deb has no output")?;
    let all = unpack_modules(BufReader::new(content))?;
    ensure!(unpacking.wait()?.success(), "dpkg-deb cannot unpack {package}");
    let mut needed = Vec::new();
    add(module, &all, &mut needed)?;
    Ok(needed)
}

/// The name of a module: files may have a hyphen where the kernel has an underscore.
fn name(text: &str) -> String {
    text.replace('-', "_")
}

/// The modules in an archive of tar: some thousand, of which only a few are used, so they are not
/// written to a disk.
fn unpack_modules(mut archive: impl Read) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    /// Headers have a block, and contents fill whole ones.
    const BLOCK: usize = 512;
    /// The longest file of a package.
    const MOST: u64 = 1 << 30;
    let mut all = BTreeMap::new();
    let (mut header, mut long_name) = ([0; BLOCK], None);
    loop {
        archive.read_exact(&mut header)?;
        let text = |range: Range<usize>| {
            let field = header[range].split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(field).trim().to_owned()
        };
        let path = long_name.take().unwrap_or_else(|| text(0..100));
        if path.is_empty() {
            // Blocks of zeros end an archive.
            std::io::copy(&mut archive, &mut std::io::sink())?;
            return Ok(all);
        }
        let size = u64::from_str_radix(&text(124..136), 8).context("a damaged archive")?;
        ensure!(size <= MOST, "{path} has {size} bytes");
        let mut content = vec![0; (size as usize).next_multiple_of(BLOCK)];
        archive.read_exact(&mut content)?;
        content.truncate(size as usize);
        if header[156] == b'L' {
            // The name of the next file, which is longer than its header has room for.
            long_name = Some(String::from_utf8_lossy(&content).trim_end_matches('\0').to_owned());
        } else if let Some(file) = path.strip_suffix(".ko") {
            all.insert(name(file.rsplit('/').next().unwrap_or_default()), content);
        }
    }
}

fn add(
    module: &str,
    all: &BTreeMap<String, Vec<u8>>,
    needed: &mut Vec<Found>,
) -> anyhow::Result<()> {
    let module = name(module);
    if needed.iter().any(|(other, _)| *other == module) {
        return Ok(());
    }
    // A dependency that is built in has no file and is in no list.
    let bytes = all.get(&module).with_context(|| format!("the kernel has no module {module}"))?;
    for dependency in dependencies(bytes) {
        add(&dependency, all, needed)?;
    }
    needed.push((module, bytes.clone()));
    Ok(())
}

/// The modules that a module needs: `depends=mc,videodev` among the strings of its section
/// `.modinfo`.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else {
        return Vec::new();
    };
    let list = module[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(list).into_owned();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_an_archive() {
        let directory = tempfile::tempdir().unwrap();
        let long = format!("lib/{}", "long/".repeat(30));
        for (path, content) in
            [("lib/snd-aloop.ko", "a"), (&format!("{long}b.ko"), "bb"), ("c", "")]
        {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let tar = Command::new("tar")
            .args(["--format=gnu", "-cC"])
            .arg(directory.path())
            .arg(".")
            .output();
        let all = unpack_modules(tar.unwrap().stdout.as_slice()).unwrap();
        let expected = [("b", b"bb".to_vec()), ("snd_aloop", b"a".to_vec())];
        assert_eq!(all, expected.map(|(name, content)| (name.to_owned(), content)).into());
    }

    #[test]
    fn a_module_names_what_it_needs() {
        assert_eq!(dependencies(b"alias=a\0depends=mc,videodev\0name=b"), ["mc", "videodev"]);
        assert!(dependencies(b"alias=a\0depends=\0name=b").is_empty());
        assert!(dependencies(b"").is_empty());
    }
}
