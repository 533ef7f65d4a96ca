//! Fetched and built kernels, stored by the digest of their content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tactus_model::digest::sha256;

use crate::{FileError, Kernel, KernelError, failed, kernel_in};

/// A directory with a subdirectory for each content, and a file for each package with the digest
/// of its kernel.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    root: PathBuf,
}

const IMAGE: &str = "vmlinuz";
const CONFIG: &str = "config";

impl Cache {
    pub(super) const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The directory of the cache.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A temporary directory for unpacking, on the same filesystem.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, FileError> {
        fs::create_dir_all(&self.root).map_err(|error| failed(&self.root, error))?;
        tempfile::Builder::new()
            .prefix("fetch-")
            .tempdir_in(&self.root)
            .map_err(|error| failed(&self.root, error))
    }

    /// The kernel of a package, if it is in the cache and its content has not changed since.
    pub(super) fn find(&self, package: &str) -> Result<Option<Kernel>, KernelError> {
        let Some(digest) = self.read_name(package)? else { return Ok(None) };
        let directory = self.root.join(&digest);
        if !directory.join(IMAGE).is_file() {
            return Ok(None);
        }
        let kernel = kernel_in(&directory.join(IMAGE), Some(&directory.join(CONFIG)))?;
        Ok((kernel.sha256 == digest).then_some(kernel))
    }

    /// Stores the kernel of a package.
    pub(super) fn keep(
        &self,
        package: &str,
        image: &[u8],
        config: Option<&[u8]>,
    ) -> Result<Kernel, KernelError> {
        let digest = sha256([image]);
        let directory = self.root.join(&digest);
        // Each file appears only when complete, and the name comes last.
        if let Some(config) = config {
            self.write(&directory.join(CONFIG), config)?;
        }
        self.write(&directory.join(IMAGE), image)?;
        self.write(&self.name(package), format!("{digest}\n").as_bytes())?;
        kernel_in(&directory.join(IMAGE), Some(&directory.join(CONFIG)))
    }

    /// The packages of the kernels in the cache, sorted by name.
    pub(super) fn packages(&self) -> Result<Vec<String>, FileError> {
        let directory = self.names();
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| failed(&directory, error))?,
        };
        let mut packages: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        packages.sort();
        Ok(packages)
    }

    fn names(&self) -> PathBuf {
        self.root.join("packages")
    }

    fn name(&self, package: &str) -> PathBuf {
        self.names().join(package)
    }

    fn read_name(&self, package: &str) -> Result<Option<String>, FileError> {
        let file = self.name(package);
        match fs::read_to_string(&file) {
            Ok(digest) => Ok(Some(digest.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&file, error)),
        }
    }

    fn write(&self, file: &Path, content: &[u8]) -> Result<(), FileError> {
        let write = || {
            let directory = file.parent().unwrap_or(&self.root);
            fs::create_dir_all(directory)?;
            let mut scratch = tempfile::NamedTempFile::new_in(&self.root)?;
            io::Write::write_all(&mut scratch, content)?;
            scratch.persist(file).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error| failed(file, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::tests::image;

    #[test]
    fn a_kernel_is_found_by_its_package_while_its_content_is_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("kernels"));
        assert_eq!(cache.packages().unwrap(), [""; 0]);
        assert_eq!(cache.find("linux-image-x").unwrap(), None);

        let kept = cache.keep("linux-image-x", &image("6.1 #1"), Some(b"CONFIG_HZ=100\n")).unwrap();
        assert_eq!(cache.find("linux-image-x").unwrap().as_ref(), Some(&kept));
        assert_eq!(cache.packages().unwrap(), ["linux-image-x"]);

        fs::write(&kept.path, image("6.2 #1")).unwrap();
        assert_eq!(cache.find("linux-image-x").unwrap(), None, "its content has changed");
        cache.keep("linux-image-x", &image("6.1 #1"), None).unwrap();
        assert_eq!(cache.find("linux-image-x").unwrap().as_ref(), Some(&kept));
    }
}
