//! Run folders -> what is scored, and what an author sees of a task's judge.

pub mod acceptance;
pub mod score;
