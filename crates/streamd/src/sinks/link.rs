//! Names for devices whose paths change.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// A symbolic link to a device. Dropping it removes it, unless another server has replaced it.
#[derive(Debug)]
pub(super) struct Link {
    path: PathBuf,
    target: PathBuf,
}

impl Link {
    /// Makes the link, or replaces one that a killed server has left.
    ///
    /// Whoever may write to its folder can replace the link, so only the user of this process may.
    pub(super) fn make(path: &Path, target: PathBuf) -> io::Result<Self> {
        let folder = path.parent().unwrap_or_else(|| Path::new("/"));
        check_folder(folder)?;
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink()) {
            let said = format!("{} exists and is not a link", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, said));
        }
        // Renaming replaces the link in one step.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!(".{name}.{}", std::process::id()));
        let _ = fs::remove_file(&new);
        symlink(&target, &new)?;
        fs::rename(&new, path)?;
        Ok(Self { path: path.to_owned(), target })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if fs::read_link(&self.path).is_ok_and(|target| target == self.target) {
            // A link to nothing does no harm; the next server replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn check_folder(folder: &Path) -> io::Result<()> {
    const OTHERS_WRITE: u32 = 0o022;
    let found = fs::metadata(folder)?;
    let is_safe =
        found.mode() & OTHERS_WRITE == 0 && found.uid() == tactus_sys::process::effective_user();
    if is_safe {
        return Ok(());
    }
    let said = format!("{} must belong to this user, who alone may write to it", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, said))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_link_replaces_a_stale_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("synth");
        symlink("/nowhere", &path).unwrap();
        let link = Link::make(&path, "/dev/null".into()).unwrap();
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("/dev/null"));
        let second = Link::make(&path, "/dev/zero".into()).unwrap();
        drop(link);
        assert!(path.is_symlink(), "it is the second server's");
        drop(second);
        assert!(!path.is_symlink());
        fs::write(&path, "text").unwrap();
        assert_eq!(
            Link::make(&path, "/dev/null".into()).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn others_may_not_write_to_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Link::make(&folder.path().join("synth"), "/dev/null".into()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
