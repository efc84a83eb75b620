//! The pictures of the README: each layout as it is drawn, cell by cell, as SVG. They are held
//! against what is drawn now; `INFRADEV_WRITE_PICTURES=1 cargo test --lib pictures` writes them.

use std::fmt::Write;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use crate::tui::caps::Depth;
use crate::tui::fixture::{author, empty, gpu, press, render, settle};
use crate::tui::msg::Msg;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::update::update;

/// Of a cell, in pixels.
const WIDE: f64 = 8.4;
const HIGH: f64 = 18.0;
const SIZE: (u16, u16) = (150, 42);
const FONT: &str = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace";
/// Where a theme leaves it to the terminal.
const INK: &str = "#d8dee9";
const GROUND: &str = "#14171d";

fn hex(colour: Color, plain: &'static str) -> String {
    match colour {
        Color::Reset => plain.to_owned(),
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        // the pictures are of a theme that gives 24 bits for all that it gives
        other => panic!("{other:?} in a picture"),
    }
}

struct Look {
    ink: String,
    ground: String,
    bold: bool,
    dim: bool,
}

fn look(cell: &Cell) -> Look {
    let (mut ink, mut ground) = (hex(cell.fg, INK), hex(cell.bg, GROUND));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut ink, &mut ground);
    }
    Look {
        ink,
        ground,
        bold: cell.modifier.contains(Modifier::BOLD),
        dim: cell.modifier.contains(Modifier::DIM),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn svg(buf: &Buffer) -> String {
    let (width, height) = (f64::from(buf.area.width), f64::from(buf.area.height));
    let mut out = String::new();
    let (all_wide, all_high) = (width * WIDE, height * HIGH);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_wide:.1} {all_high:.1}\" \
         font-family=\"{FONT}\" font-size=\"14\">\n\
         <rect width=\"{all_wide:.1}\" height=\"{all_high:.1}\" fill=\"{GROUND}\"/>"
    );
    for y in 0..buf.area.height {
        let mut x = 0;
        while x < buf.area.width {
            let Look {
                ink,
                ground,
                bold,
                dim,
            } = look(&buf[(x, y)]);
            // cells that look alike are one text, drawn as wide as they are whatever the font
            let (mut words, mut end) = (String::new(), x);
            while end < buf.area.width {
                let cell = &buf[(end, y)];
                let next = look(cell);
                let alike = next.ink == ink && next.ground == ground;
                if !alike || next.bold != bold || next.dim != dim {
                    break;
                }
                words.push_str(cell.symbol());
                end += text::width(cell.symbol()).max(1) as u16;
            }
            let (left, across) = (f64::from(x) * WIDE, f64::from(end - x) * WIDE);
            let top = f64::from(y) * HIGH;
            if ground != GROUND {
                let _ = writeln!(
                    out,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{across:.1}\" height=\"{HIGH}\" fill=\"{ground}\"/>"
                );
            }
            if !words.trim().is_empty() {
                let weight = if bold { " font-weight=\"bold\"" } else { "" };
                let faint = if dim { " opacity=\"0.6\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{across:.1}\" \
                     lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" fill=\"{ink}\"{weight}{faint}>{}</text>",
                    top + 13.5,
                    escaped(&words)
                );
            }
            x = end;
        }
    }
    out + "</svg>\n"
}

fn coloured(app: &mut App) {
    app.ui.depth = Depth::True;
    app.ui.themes = crate::tui::config::Config::standard(Depth::True).themes;
    let dark = app.ui.themes.iter().find(|theme| theme.name == "dark");
    app.ui.theme = dark.unwrap().clone();
}

#[test]
fn pictures() {
    let mut reviewer = empty(SIZE.0, SIZE.1, Depth::True);
    settle(&mut reviewer, App::first_effects());
    coloured(&mut reviewer);
    press(&mut reviewer, "R c n");
    let mut operator = empty(SIZE.0, SIZE.1, Depth::True);
    settle(&mut operator, App::first_effects());
    coloured(&mut operator);
    update(&mut operator, Msg::Gpu(gpu(4)));
    press(&mut operator, "O");
    let mut writer = author::app(SIZE.0, SIZE.1);
    coloured(&mut writer);
    held("author", &writer);
    held("reviewer", &reviewer);
    held("operator", &operator);
}

fn held(name: &str, app: &App) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/pictures");
    let write = std::env::var_os("INFRADEV_WRITE_PICTURES").is_some();
    let drawn = svg(&render(app));
    let path = folder.join(format!("{name}.svg"));
    if write {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == drawn, "{} is of another screen", path.display());
    assert!(drawn.contains("infradev") && drawn.len() > 10_000);
}
