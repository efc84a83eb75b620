//! `infradev __relay ADDRESS SOCKET`: inside a sandbox, carries connections to a loopback address
//! to a socket that is mounted in, behind which our proxy listens. Nothing else of the network is
//! in reach, and nothing is decided here.

use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Printed when connections are taken.
pub const RELAY_READY: &str = "relay: ready";
/// Connections at once; more wait.
const MOST: usize = 128;
const MOMENT: Duration = Duration::from_millis(10);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The hidden subcommand.
pub fn relay_main() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let (Some(address), Some(socket)) = (arguments.next(), arguments.next()) else {
        return ended("__relay ADDRESS SOCKET");
    };
    match serve(&address, Path::new(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ended(&format!("{address}: {error}")),
    }
}

fn ended(why: &str) -> ExitCode {
    writeln!(io::stderr(), "relay: {why}").ok();
    ExitCode::FAILURE
}

fn serve(address: &str, socket: &Path) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let mut out = io::stdout();
    writeln!(out, "{RELAY_READY}")?;
    out.flush()?;
    loop {
        // neither a client that is gone nor a moment without room ends the way out for good
        let Ok((client, _)) = listener.accept() else {
            std::thread::sleep(MOMENT);
            continue;
        };
        while OPEN.load(Ordering::Relaxed) >= MOST {
            std::thread::sleep(MOMENT);
        }
        let open = Open::one();
        let socket = socket.to_path_buf();
        let carrying = thread().spawn(move || {
            let _open = open;
            carry(&client, &socket).ok();
        });
        if carrying.is_err() {
            std::thread::sleep(MOMENT);
        }
    }
}

/// Counted while it lives.
struct Open;

impl Open {
    fn one() -> Self {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().stack_size(128 << 10)
}

/// Both ways until both are done; a side that ends is ended on the other.
fn carry(client: &TcpStream, socket: &Path) -> io::Result<()> {
    client.set_nodelay(true)?;
    let proxy = UnixStream::connect(socket)?;
    std::thread::scope(|scope| -> io::Result<()> {
        thread().spawn_scoped(scope, || {
            io::copy(&mut &*client, &mut &proxy).ok();
            proxy.shutdown(Shutdown::Write).ok();
        })?;
        io::copy(&mut &proxy, &mut &*client).ok();
        client.shutdown(Shutdown::Write).ok();
        Ok(())
    })
}
