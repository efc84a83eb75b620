//! `__shell`: the half of a shell that holds the sandbox. It lives in a session of its own, and
//! whatever becomes of the person's half (an exit, a lost terminal, a kill), its stream ends, and this
//! one ends the sandbox and removes everything.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Mutex, mpsc, watch};

use super::greeting::greeting;
use super::open::stay;
use super::order::{FromPerson, Order, ToPerson};
use super::rooms::Room;
use super::since::changes;
use super::site::{Site, manifest};
use crate::domain::{Event, Level};
use crate::engine::docker::all_gone;
use crate::engine::frame::{Decoder, encode};
use crate::pipeline::error::{Stop, WorkError};
use crate::pipeline::ground::{Ground, prepare};
use crate::pipeline::recorder::Recorder;
use crate::store::{Home, Journal};

/// What sandboxes may take to go.
const ENDING: Duration = Duration::from_secs(10);
/// Typed before the shell is open.
type Typed = mpsc::UnboundedReceiver<(FromPerson, Vec<u8>)>;

/// The way to the person; one that is gone holds nobody up.
#[derive(Clone)]
pub(super) struct Out(Arc<Mutex<Sender>>);

impl Out {
    /// False: it is too long.
    pub(super) async fn put(&self, message: &ToPerson, payload: &[u8]) -> bool {
        let Ok(frame) = encode(message, payload) else {
            return false;
        };
        let mut pipe = self.0.lock().await;
        pipe.write_all(&frame).await.ok();
        true
    }

    pub(super) async fn say(&self, message: ToPerson) {
        self.put(&message, &[]).await;
    }
}

/// Serves one shell over standard input and output.
pub fn serve(home: &Home) -> Result<(), WorkError> {
    // what the terminal's keys send is for the person's half
    let _ = nix::unistd::setsid();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(WorkError::Runtime)?;
    runtime.block_on(async {
        let input = io::stdin().as_fd().try_clone_to_owned();
        let output = io::stdout().as_fd().try_clone_to_owned();
        let input = input.and_then(Receiver::from_owned_fd);
        let output = output.and_then(Sender::from_owned_fd);
        let (input, output) = (
            input.map_err(WorkError::Runtime)?,
            output.map_err(WorkError::Runtime)?,
        );
        let out = Out(Arc::new(Mutex::new(output)));
        let (orders, mut typed) = mpsc::unbounded_channel();
        let (left, gone) = watch::channel(false);
        tokio::spawn(listen(input, orders, left));
        if let Some((FromPerson::Order(order), _)) = typed.recv().await {
            let done = whole(home, &order, typed, gone, &out).await;
            all_gone(ENDING).await;
            if let Err(stop) = done {
                tell(stop, &out).await;
            }
        }
        Ok::<_, WorkError>(())
    })?;
    runtime.shutdown_timeout(ENDING);
    Ok(())
}

async fn tell(stop: Stop, out: &Out) {
    let (input, message) = match stop {
        // nobody listens
        Stop::Cancelled => return,
        Stop::Input(message) => (true, message),
        Stop::Fault(message) => (false, message),
    };
    out.say(ToPerson::Failed { input, message }).await;
}

/// Takes what the person says until that ends.
async fn listen(
    mut input: Receiver,
    orders: mpsc::UnboundedSender<(FromPerson, Vec<u8>)>,
    left: watch::Sender<bool>,
) {
    let mut decoder = Decoder::default();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match decoder.take() {
            Ok(Some(said)) => {
                orders.send(said).ok();
                continue;
            }
            Ok(None) => {}
            Err(_) => break,
        }
        match input.read(&mut chunk).await {
            Ok(n) if n > 0 => decoder.push(&chunk[..n]),
            _ => break,
        }
    }
    left.send_replace(true);
}

async fn left(mut gone: watch::Receiver<bool>) {
    // an error: the listener is gone, and so is whom it listened to
    gone.wait_for(|gone| *gone).await.ok();
}

/// From the order to nothing left.
async fn whole(
    home: &Home,
    order: &Order,
    typed: Typed,
    gone: watch::Receiver<bool>,
    out: &Out,
) -> Result<(), Stop> {
    let room = {
        let home = home.clone();
        let opened = tokio::task::spawn_blocking(move || Room::open(&home)).await;
        opened.map_err(|e| Stop::Fault(e.to_string()))??
    };
    let recorder = Recorder::new(Journal::open(&room.dir.journal_path())?);
    let (lines, told) = mpsc::unbounded_channel();
    recorder.tell(move |event| {
        if let Event::Log {
            level: Level::Info | Level::Warn,
            text,
        } = event
        {
            lines.send(text.clone()).ok();
        }
    });
    let passing = tokio::spawn(pass(told, out.clone()));
    let manifest = manifest(order, room.dir.id());
    let prepared = tokio::select! {
        biased;
        () = left(gone.clone()) => Err(Stop::Cancelled),
        ground = prepare(home, &room.dir, &manifest, &recorder) => ground,
    };
    let done = match prepared {
        Ok(ground) => {
            let opened = on_ground(home, &ground, order, typed, gone, out).await;
            ground.end(opened, &recorder).await
        }
        Err(stop) => Err(stop),
    };
    drop(recorder);
    passing.await.ok();
    all_gone(ENDING).await;
    let cleared = tokio::task::spawn_blocking(move || room.clear()).await;
    let cleared = cleared.map_err(|e| Stop::Fault(e.to_string()))?;
    done.and(cleared)
}

async fn pass(mut told: mpsc::UnboundedReceiver<String>, out: Out) {
    while let Some(text) = told.recv().await {
        out.say(ToPerson::Progress(text)).await;
    }
}

async fn on_ground(
    home: &Home,
    ground: &Ground,
    order: &Order,
    typed: Typed,
    gone: watch::Receiver<bool>,
    out: &Out,
) -> Result<(), Stop> {
    let mut site = tokio::select! {
        biased;
        () = left(gone.clone()) => return Err(Stop::Cancelled),
        site = Site::make(home, ground, order) => site?,
    };
    let stayed = tokio::select! {
        biased;
        () = left(gone) => Err(Stop::Cancelled),
        stayed = opened(home, ground, order, &mut site, typed, out) => stayed,
    };
    // before anything else is done with the tree
    let Site {
        sandbox,
        worktree,
        laid,
        ..
    } = site;
    sandbox.close().await;
    stayed?;
    if let Some(laid) = laid {
        let trees = Arc::clone(&ground.trees);
        let captured = tokio::task::spawn_blocking(move || trees.snapshot.capture(&worktree, laid));
        let captured = captured.await.map_err(|e| Stop::Fault(e.to_string()))?;
        let captured = captured.map_err(|e| Stop::Fault(format!("the changes: {e}")))?;
        let note = |n: &crate::domain::CaptureNote| format!("{}: {}", n.path, n.detail);
        let left_out = captured.notes.iter().map(note).collect();
        let patch = ToPerson::Patch { left_out };
        if !out.put(&patch, &captured.patch).await {
            return Err(Stop::Fault(
                "what was changed is too long to be kept".into(),
            ));
        }
    }
    Ok(())
}

async fn opened(
    home: &Home,
    ground: &Ground,
    order: &Order,
    site: &mut Site,
    typed: Typed,
    out: &Out,
) -> Result<(), Stop> {
    let warnings = match &order.run {
        Some(run) => {
            let run = home.run(run);
            let manifest = run.manifest()?;
            changes(ground, &run, &manifest, order.suite)?
        }
        None => Vec::new(),
    };
    let isolation = site.sandbox.isolation();
    let greeting = greeting(ground, order, &site.run, isolation, &site.inside);
    out.say(ToPerson::Open { warnings, greeting }).await;
    stay(site, order.terminal, typed, out).await
}
