//! `infradev env usage`: what environments and their cache take, each inode once, and what sharing
//! saves.

use std::collections::HashMap;
use std::path::Path;

use super::document::{UsageDocument, UsageRow};
use super::scan::{Disk, Inode};
use super::shelf::{entries, real};
use crate::environment::{EnvironmentError, data, pool};

/// Walks all of it: seconds for a million files.
pub fn usage(home: &Path) -> Result<UsageDocument, EnvironmentError> {
    let home = real(home)?;
    let mut cache = Disk::of(&home.join("cache").join("uv"))?;
    let mut apart = Vec::new();
    for entry in entries(&home)? {
        apart.push((entry.hash, Disk::of(&entry.folder)?));
    }
    // inode -> its size, and how many environments hold it
    let mut holders: HashMap<Inode, (u64, u32)> = HashMap::new();
    for (_, disk) in &apart {
        for (inode, held) in disk.iter() {
            holders.entry(*inode).or_insert((held.bytes, 0)).1 += 1;
        }
    }
    let alone = |inode: &Inode| holders[inode].1 == 1 && !cache.holds(inode);
    let rows: Vec<UsageRow> = apart
        .iter()
        .map(|(hash, disk)| UsageRow {
            hash: hash.clone(),
            bytes: disk.bytes(),
            own_bytes: disk
                .iter()
                .filter(|(inode, _)| alone(inode))
                .map(|(_, held)| held.bytes)
                .sum(),
        })
        .collect();
    let environments_bytes = holders.values().map(|(bytes, _)| bytes).sum();
    // what an environment put into the pool is no less its own
    cache.add(&pool::folder(&home))?;
    let cache_bytes = cache
        .iter()
        .filter(|(inode, _)| !holders.contains_key(inode))
        .map(|(_, held)| held.bytes)
        .sum();
    let total_bytes = environments_bytes + cache_bytes;
    let copies_bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    Ok(UsageDocument {
        schema: 1,
        environments: rows,
        environments_bytes,
        cache_bytes,
        total_bytes,
        copies_bytes,
        saved_bytes: copies_bytes.cast_signed() - total_bytes.cast_signed(),
        data_bytes: Disk::of(&data::folder(&home))?.bytes(),
        tools_bytes: Disk::of(&home.join("tools"))?.bytes(),
        home,
    })
}
