//! The attached stream, taken apart.
//!
//! The daemon cuts what the container writes into pieces of its own, at any byte. Standard output
//! is process 1's frames: it is passed on as one run of bytes, and frames know their length.
//! Standard error is what process 1, or whatever failed to become it, said last.

use bollard::container::LogOutput;
use bollard::errors::Error;
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// Bytes under way before the daemon has to wait.
const UNDER_WAY: usize = 256 << 10;
/// What is kept of standard error.
const SAID_MAX: usize = 64 << 10;

/// The container's output, and what it will have said when its streams are closed.
pub(super) fn take_apart(
    mut pieces: impl Stream<Item = Result<LogOutput, Error>> + Unpin + Send + 'static,
) -> (DuplexStream, JoinHandle<String>) {
    let (mut writer, reader) = duplex(UNDER_WAY);
    let said = tokio::spawn(async move {
        let mut said = Vec::new();
        // the stream breaks when the daemon goes: the reader sees the end, perhaps within a frame
        while let Some(Ok(piece)) = pieces.next().await {
            match piece {
                // without a reader the rest is taken and forgotten, so that nobody waits for us
                LogOutput::StdOut { message } => drop(writer.write_all(&message).await),
                LogOutput::StdErr { message } => {
                    let room = SAID_MAX.saturating_sub(said.len()).min(message.len());
                    said.extend_from_slice(&message[..room]);
                }
                // not the daemon's way of framing: nothing after it can be trusted
                LogOutput::Console { .. } => break,
                LogOutput::StdIn { .. } => {}
            }
        }
        String::from_utf8_lossy(&said).trim().to_owned()
    });
    (reader, said)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::stream;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn pieces_are_joined_and_what_is_said_is_bounded() {
        let out = |text: &[u8]| {
            Ok(LogOutput::StdOut {
                message: text.to_vec().into(),
            })
        };
        let err = |text: Vec<u8>| {
            Ok(LogOutput::StdErr {
                message: text.into(),
            })
        };
        let pieces = vec![
            out(b"\xc3"),
            err(b" oh".to_vec()),
            out(b"\xa9!"),
            err(vec![b'x'; 2 * SAID_MAX]),
            Ok(LogOutput::Console {
                message: b"odd".to_vec().into(),
            }),
            out(b"never"),
        ];
        let (mut reader, said) = take_apart(stream::iter(pieces));
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "é!");
        let said = said.await.unwrap();
        assert!(said.starts_with("ohx") && said.len() == SAID_MAX - 1);
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_holds_nobody_up() {
        let piece = || {
            Ok(LogOutput::StdOut {
                message: vec![0; 1 << 20].into(),
            })
        };
        let last = Ok(LogOutput::StdErr {
            message: b"last".to_vec().into(),
        });
        let pieces = stream::iter((0..8).map(move |_| piece()).chain([last]));
        let (reader, said) = take_apart(pieces);
        drop(reader);
        assert_eq!(said.await.unwrap(), "last");
    }
}
