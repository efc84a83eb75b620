//! A process on a terminal of its own, inside.

use infradev::engine::{ProcessStatus, SandboxEvent, Stream, TerminalSize};

use crate::house::{Box, Place, process, python, shell};

const SIZE: TerminalSize = TerminalSize {
    rows: 33,
    columns: 111,
};

/// What a terminal has shown.
struct Screen {
    id: u32,
    text: String,
    ended: Option<ProcessStatus>,
}

impl Screen {
    fn of(id: u32) -> Self {
        let text = String::new();
        Self {
            id,
            text,
            ended: None,
        }
    }

    async fn hear(&mut self, sandbox: &mut Box) {
        match sandbox.next().await {
            SandboxEvent::Output { id, stream, bytes } if id == self.id => {
                assert_eq!(stream, Stream::Stdout);
                self.text.push_str(&String::from_utf8_lossy(&bytes));
            }
            SandboxEvent::Exited { id, status, .. } if id == self.id => self.ended = Some(status),
            SandboxEvent::NotStarted { message, .. } => panic!("{message}"),
            _ => {}
        }
    }

    async fn shows(&mut self, sandbox: &mut Box, text: &str) {
        while !self.text.contains(text) {
            assert_eq!(self.ended, None, "no {text:?} in {:?}", self.text);
            self.hear(sandbox).await;
        }
    }

    async fn end(&mut self, sandbox: &mut Box) -> ProcessStatus {
        loop {
            if let Some(status) = self.ended {
                return status;
            }
            self.hear(sandbox).await;
        }
    }
}

async fn it_is_a_controlling_terminal_of_the_size_that_was_asked_for(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size && : >/dev/tty && tty";
    (sandbox.sandbox)
        .spawn_on_terminal(shell(1, script), SIZE)
        .unwrap();
    let mut screen = Screen::of(1);
    let status = screen.end(&mut sandbox).await;
    assert_eq!(status, ProcessStatus::Exited(0), "{}", screen.text);
    assert!(
        screen.text.starts_with("33 111\r\n/dev/pts/"),
        "{}",
        screen.text
    );
}

async fn what_is_typed_arrives_and_keys_are_signals(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    // not echoed: each text on the screen is the program's own
    let script = "import os, time\n\
         os.system('stty -echo'); print('up', flush=True)\n\
         print('got', ascii(input()))\n\
         try: print('sleeps', flush=True); time.sleep(600)\n\
         except KeyboardInterrupt: print('interrupted', flush=True)\n\
         try: input()\n\
         except EOFError: os._exit(7)";
    (sandbox.sandbox)
        .spawn_on_terminal(python(1, script), SIZE)
        .unwrap();
    let mut screen = Screen::of(1);
    screen.shows(&mut sandbox, "up").await;
    let control = sandbox.sandbox.control();
    control.typed(1, "h\u{e9}x\u{7f}llo\r".as_bytes()).unwrap();
    screen.shows(&mut sandbox, "got 'h\\xe9llo'").await;
    screen.shows(&mut sandbox, "sleeps").await;
    control.typed(1, b"\x03").unwrap();
    screen.shows(&mut sandbox, "interrupted").await;
    // the end of the input
    control.typed(1, b"\x04").unwrap();
    assert_eq!(screen.end(&mut sandbox).await, ProcessStatus::Exited(7));
    // it is gone, and nobody minds
    control.typed(1, b"x").unwrap();
    control.resize(1, SIZE).unwrap();
    assert_eq!(sandbox.kill_all().await, 0);
}

async fn a_new_size_is_told(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    let script = "import os, signal\n\
         def told(*_): os.write(1, ('now %d %d' % os.get_terminal_size(0)).encode())\n\
         signal.signal(signal.SIGWINCH, told); os.write(1, b'up')\n\
         while True: signal.pause()";
    (sandbox.sandbox)
        .spawn_on_terminal(python(1, script), SIZE)
        .unwrap();
    let mut screen = Screen::of(1);
    screen.shows(&mut sandbox, "up").await;
    let size = TerminalSize {
        rows: 20,
        columns: 70,
    };
    sandbox.sandbox.control().resize(1, size).unwrap();
    screen.shows(&mut sandbox, "now 70 20").await;
}

async fn its_output_is_never_cut_and_its_input_waits(at: &Place) {
    let mut spec = at.spec();
    spec.limits.output_bytes = 1000;
    let mut sandbox = at.start(spec).await;
    let script = "stty -echo raw; echo up; sleep 0.3; head -c 200000 | wc -c; \
                  head -c 300000 /dev/zero | tr '\\0' x; echo end";
    (sandbox.sandbox)
        .spawn_on_terminal(shell(1, script), SIZE)
        .unwrap();
    let mut screen = Screen::of(1);
    screen.shows(&mut sandbox, "up").await;
    // more than a terminal takes while nobody reads
    for _ in 0..20 {
        sandbox.sandbox.control().typed(1, &[b'y'; 10_000]).unwrap();
    }
    screen.shows(&mut sandbox, "200000").await;
    screen.shows(&mut sandbox, "end").await;
    assert_eq!(screen.text.matches('x').count(), 300_000);
    assert_eq!(screen.end(&mut sandbox).await, ProcessStatus::Exited(0));
}

async fn a_kill_takes_it_and_others_have_none(at: &Place) {
    let mut sandbox = at.start(at.spec()).await;
    (sandbox.sandbox)
        .spawn_on_terminal(shell(1, "sleep 600 & echo up; read line"), SIZE)
        .unwrap();
    let mut screen = Screen::of(1);
    screen.shows(&mut sandbox, "up").await;
    sandbox.sandbox.kill_all().unwrap();
    let status = screen.end(&mut sandbox).await;
    assert_eq!(status, ProcessStatus::Signaled(9));
    let ran = sandbox.run(process(2, &["tty"])).await;
    assert_eq!(ran.status, Some(ProcessStatus::Exited(1)));
    assert_eq!(ran.out(), "not a tty\n");
}

crate::house::both!(
    it_is_a_controlling_terminal_of_the_size_that_was_asked_for,
    what_is_typed_arrives_and_keys_are_signals,
    a_new_size_is_told,
    its_output_is_never_cut_and_its_input_waits,
    a_kill_takes_it_and_others_have_none,
);
