//! Digests as text.

use std::fmt::Write;

/// Two hexadecimal digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // writing to a string never fails
        let _ = write!(text, "{byte:02x}");
    }
    text
}
