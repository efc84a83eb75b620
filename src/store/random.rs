//! Names that nobody else has.

use std::io;

use crate::domain::hex;

/// `N` random bytes in hexadecimal.
pub fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(hex(&bytes))
}
