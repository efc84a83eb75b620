//! What the terminal sends, as messages: what came in one frame is put together.

use crossterm::event::{Event, KeyEventKind, MouseButton, MouseEventKind};

use super::msg::Msg;

/// Messages of events in their order; turns of the wheel over one place are one, and of a window
/// that is dragged the last size counts.
pub fn messages(events: Vec<Event>) -> Vec<Msg> {
    let mut all: Vec<Msg> = Vec::new();
    for event in events {
        let Some(msg) = message(event) else { continue };
        match (all.last_mut(), &msg) {
            (Some(Msg::Resize(w, h)), Msg::Resize(width, height)) => (*w, *h) = (*width, *height),
            (
                Some(Msg::Wheel { column, row, steps }),
                Msg::Wheel {
                    column: c,
                    row: r,
                    steps: s,
                },
            ) if (*column, *row) == (*c, *r) => *steps = steps.saturating_add(*s),
            _ => all.push(msg),
        }
    }
    all.retain(|msg| !matches!(msg, Msg::Wheel { steps: 0, .. }));
    all
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(key.into())),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(width, height) => Some(Msg::Resize(width, height)),
        Event::Mouse(mouse) => {
            let (column, row) = (mouse.column, mouse.row);
            let wheel = |steps| Some(Msg::Wheel { column, row, steps });
            match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click { column, row }),
                MouseEventKind::ScrollUp => wheel(-1),
                MouseEventKind::ScrollDown => wheel(1),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyModifiers, MouseEvent};

    fn mouse(kind: MouseEventKind, column: u16) -> Event {
        Event::Mouse(MouseEvent {
            kind,
            column,
            row: 3,
            modifiers: KeyModifiers::NONE,
        })
    }

    #[test]
    fn a_frame_has_one_turn_of_the_wheel_and_one_size() {
        let mut events = vec![mouse(MouseEventKind::ScrollDown, 7); 90];
        events.push(mouse(MouseEventKind::ScrollUp, 7));
        events.push(mouse(MouseEventKind::ScrollDown, 8));
        events.extend((1..200).map(|w| Event::Resize(w, 50)));
        events.push(mouse(MouseEventKind::Moved, 8));
        events.push(mouse(MouseEventKind::Down(MouseButton::Left), 8));
        let all = format!("{:?}", messages(events));
        let wheel = |column, steps| format!("Wheel {{ column: {column}, row: 3, steps: {steps} }}");
        let resize = "Resize(199, 50)";
        let click = "Click { column: 8, row: 3 }";
        assert_eq!(
            all,
            format!("[{}, {}, {resize}, {click}]", wheel(7, 89), wheel(8, 1))
        );
    }
}
