//! Writing git objects into one pack, with its index.
//!
//! libgit2's own looks for deltas and deflates on one thread, and took twenty times as long as the
//! work tree that a pack lies beside. This one has no deltas, and whoever brings an object deflates
//! it.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use git2::{ObjectType, Oid};
use sha1::{Digest, Sha1};

use crate::domain::hex;

/// Code goes to a quarter at this level, and the next ones win little.
const LEVEL: u32 = 1;
/// An offset in the index that needs more than 31 bits stands in a table of its own.
const FAR: u64 = 1 << 31;

/// A pack that is being written; several threads may put into it.
pub(super) struct Pack {
    dir: PathBuf,
    part: PathBuf,
    count: u32,
    inner: Mutex<Inner>,
}

struct Inner {
    seen: HashSet<Oid>,
    out: Summed<BufWriter<File>>,
    entries: Vec<Entry>,
}

struct Entry {
    id: Oid,
    crc: u32,
    offset: u64,
}

/// Counts and hashes what goes through.
struct Summed<W> {
    out: W,
    hash: Sha1,
    bytes: u64,
}

impl Pack {
    /// `dir`: `objects/pack` of a repository. `count`: how many objects will be put.
    pub(super) fn new(dir: &Path, count: usize) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let part = dir.join("pack.part");
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)?;
        let count = u32::try_from(count).map_err(io::Error::other)?;
        let mut out = Summed::new(BufWriter::with_capacity(1 << 20, file));
        out.put(b"PACK")?;
        out.put(&2_u32.to_be_bytes())?;
        out.put(&count.to_be_bytes())?;
        Ok(Self {
            dir: dir.to_path_buf(),
            part,
            count,
            inner: Mutex::new(Inner {
                seen: HashSet::new(),
                out,
                entries: Vec::new(),
            }),
        })
    }

    /// An object whose id is known; one that is in already costs nothing.
    pub(super) fn put(&self, id: Oid, kind: ObjectType, bytes: &[u8]) -> io::Result<()> {
        if !self.lock().seen.insert(id) {
            return Ok(());
        }
        let mut text = ZlibEncoder::new(header(kind, bytes.len())?, Compression::new(LEVEL));
        text.write_all(bytes)?;
        let text = text.finish()?;
        let mut crc = Crc::new();
        crc.update(&text);
        let mut inner = self.lock();
        let offset = inner.out.bytes;
        inner.out.put(&text)?;
        inner.entries.push(Entry {
            id,
            crc: crc.sum(),
            offset,
        });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the pack its name, by its content.
    pub(super) fn finish(self) -> io::Result<()> {
        let inner = self.inner.into_inner();
        let inner = inner.unwrap_or_else(PoisonError::into_inner);
        let mut entries = inner.entries;
        if entries.len() != self.count as usize {
            let text = format!("{} objects instead of {}", entries.len(), self.count);
            return Err(io::Error::other(text));
        }
        entries.sort_unstable_by_key(|entry| entry.id);
        let sum = inner.out.finish()?;
        let name = self.dir.join(format!("pack-{}", hex(&sum)));
        let mode = Permissions::from_mode(0o444);
        fs::set_permissions(&self.part, mode.clone())?;
        fs::rename(&self.part, name.with_extension("pack"))?;
        let index = name.with_extension("idx");
        fs::write(&index, index_of(&entries, &sum))?;
        fs::set_permissions(&index, mode)
    }
}

/// Kind and length as a pack has them.
fn header(kind: ObjectType, mut length: usize) -> io::Result<Vec<u8>> {
    let kind: u8 = match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        ObjectType::Blob => 3,
        other => return Err(io::Error::other(format!("{other} in a pack"))),
    };
    let mut byte = kind << 4 | (length & 15) as u8;
    length >>= 4;
    let mut out = Vec::new();
    while length > 0 {
        out.push(byte | 0x80);
        byte = (length & 0x7f) as u8;
        length >>= 7;
    }
    out.push(byte);
    Ok(out)
}

/// Version 2 of an index; `entries` by id.
fn index_of(entries: &[Entry], pack: &[u8]) -> Vec<u8> {
    let mut out = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let up_to = entries.partition_point(|e| e.id.as_bytes()[0] <= first);
        out.extend_from_slice(&(up_to as u32).to_be_bytes());
    }
    for entry in entries {
        out.extend_from_slice(entry.id.as_bytes());
    }
    for entry in entries {
        out.extend_from_slice(&entry.crc.to_be_bytes());
    }
    let mut far: Vec<u64> = Vec::new();
    for entry in entries {
        let near = if entry.offset < FAR {
            entry.offset as u32
        } else {
            far.push(entry.offset);
            FAR as u32 | (far.len() - 1) as u32
        };
        out.extend_from_slice(&near.to_be_bytes());
    }
    for offset in far {
        out.extend_from_slice(&offset.to_be_bytes());
    }
    out.extend_from_slice(pack);
    let sum = Sha1::digest(&out);
    out.extend_from_slice(&sum);
    out
}

impl<W: Write> Summed<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            hash: Sha1::new(),
            bytes: 0,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Puts the sum behind, and returns it.
    fn finish(mut self) -> io::Result<Vec<u8>> {
        let sum = self.hash.finalize().to_vec();
        self.out.write_all(&sum)?;
        self.out.flush()?;
        Ok(sum)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn id(n: u8) -> Oid {
        Oid::from_str(&format!("{n:02x}").repeat(20)).unwrap()
    }

    #[test]
    fn offsets_beyond_two_gigabytes_are_as_git_reads_them() {
        let entry = |n, offset| Entry {
            id: id(n),
            crc: u32::from(n),
            offset,
        };
        let entries = [
            entry(1, 12),
            entry(7, FAR - 1),
            entry(7, FAR),
            entry(0xff, 5 << 32),
        ];
        let mut git = Command::new("git")
            .arg("show-index")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let index = index_of(&entries, &[0; 20]);
        git.stdin.take().unwrap().write_all(&index).unwrap();
        let output = git.wait_with_output().unwrap();
        let wanted: Vec<String> = entries
            .iter()
            .map(|e| format!("{} {} ({:08x})", e.offset, e.id, e.crc))
            .collect();
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_count_that_was_not_put_is_an_error_and_no_pack() {
        let dir = tempfile::tempdir().unwrap();
        let pack = Pack::new(dir.path(), 2).unwrap();
        for _ in 0..2 {
            pack.put(id(1), ObjectType::Blob, b"x").unwrap();
        }
        let error = pack.finish().unwrap_err().to_string();
        assert_eq!(error, "1 objects instead of 2");
        let there: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(there.len(), 1, "the part alone");
    }
}
