//! Keys: how they are written and sent, which action they mean, and what the user's `keymap.toml`
//! changes about it.

mod key;
mod load;
mod map;
mod print;

pub use key::{Key, chord, written};
pub use load::load;
pub use map::{Found, Keymap};
pub use print::print;

#[cfg(test)]
mod tests;
