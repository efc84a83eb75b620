//! Colours at the depth that the terminal has.

use ratatui::style::Color;

use crate::tui::caps::Depth;

/// A colour as a theme gives it: for each depth, or for some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shade {
    pub truecolor: Option<Color>,
    pub ansi256: Option<u8>,
    pub ansi16: Option<Color>,
}

impl Shade {
    /// The colour at a depth; what is not given is made of the next finer one, else the next
    /// coarser one. `None`: no colours here, or none given.
    pub fn at(self, depth: Depth) -> Option<Color> {
        let wide = self.ansi256.map(Color::Indexed);
        match depth {
            Depth::None => None,
            Depth::True => self.truecolor.or(wide).or(self.ansi16),
            Depth::Ansi256 => wide
                .or(self.truecolor.map(|full| match full {
                    Color::Rgb(r, g, b) => Color::Indexed(nearest_256(r, g, b)),
                    named => named,
                }))
                .or(self.ansi16),
            Depth::Ansi16 => self.ansi16.or_else(|| {
                let full = self.truecolor.or(wide)?;
                Some(match full {
                    Color::Rgb(r, g, b) => nearest_16(r, g, b),
                    Color::Indexed(index) => {
                        let [r, g, b] = rgb_of(index);
                        nearest_16(r, g, b)
                    }
                    named => named,
                })
            }),
        }
    }
}

/// A name of the palette, `default` or `#rrggbb`.
pub fn parse(text: &str) -> Option<Color> {
    if text == "default" {
        return Some(Color::Reset);
    }
    // an index is no name: it stands in `ansi256`
    let index = text.bytes().all(|b| b.is_ascii_digit());
    text.parse::<Color>().ok().filter(|_| !index)
}

/// Whether 16 colours hold it.
pub fn of_the_palette(colour: Color) -> bool {
    !matches!(colour, Color::Rgb(..) | Color::Indexed(_))
}

/// What an index of the 256 colours usually looks like.
fn rgb_of(index: u8) -> [u8; 3] {
    match index {
        0..=15 => PALETTE[usize::from(index)].0,
        16..=231 => {
            let cell = index - 16;
            [cell / 36, cell / 6 % 6, cell % 6].map(|step| STEPS[usize::from(step)])
        }
        232.. => [8 + (index - 232) * 10; 3],
    }
}

const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

const PALETTE: [([u8; 3], Color); 16] = [
    ([0, 0, 0], Color::Black),
    ([205, 0, 0], Color::Red),
    ([0, 205, 0], Color::Green),
    ([205, 205, 0], Color::Yellow),
    ([0, 0, 238], Color::Blue),
    ([205, 0, 205], Color::Magenta),
    ([0, 205, 205], Color::Cyan),
    ([229, 229, 229], Color::Gray),
    ([127, 127, 127], Color::DarkGray),
    ([255, 0, 0], Color::LightRed),
    ([0, 255, 0], Color::LightGreen),
    ([255, 255, 0], Color::LightYellow),
    ([92, 92, 255], Color::LightBlue),
    ([255, 0, 255], Color::LightMagenta),
    ([0, 255, 255], Color::LightCyan),
    ([255, 255, 255], Color::White),
];

/// Nearest of the 6x6x6 cube and the grey ramp.
fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    let step = |v: u8| {
        (0..6_u8)
            .min_by_key(|i| STEPS[usize::from(*i)].abs_diff(v))
            .unwrap_or(0)
    };
    let (cr, cg, cb) = (step(r), step(g), step(b));
    let cube = [cr, cg, cb].map(|i| STEPS[usize::from(i)]);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey_step = (mean.saturating_sub(8) / 10).min(23) as u8;
    let grey = 8 + grey_step * 10;
    if distance([r, g, b], [grey; 3]) < distance([r, g, b], cube) {
        232 + grey_step
    } else {
        16 + 36 * cr + 6 * cg + cb
    }
}

fn nearest_16(r: u8, g: u8, b: u8) -> Color {
    PALETTE
        .iter()
        .min_by_key(|(rgb, _)| distance([r, g, b], *rgb))
        .map_or(Color::Reset, |(_, colour)| *colour)
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter()
        .zip(b)
        .map(|(x, y)| u32::from(x.abs_diff(y)).pow(2))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_down_to_what_the_terminal_has() {
        assert_eq!(nearest_256(255, 0, 0), 196);
        assert_eq!(nearest_256(128, 128, 128), 244);
        assert_eq!(nearest_16(250, 10, 10), Color::LightRed);
    }

    #[test]
    fn what_a_theme_leaves_out_is_derived() {
        let full = Shade {
            truecolor: parse("#ff0000"),
            ..Shade::default()
        };
        assert_eq!(full.at(Depth::True), Some(Color::Rgb(255, 0, 0)));
        assert_eq!(full.at(Depth::Ansi256), Some(Color::Indexed(196)));
        assert_eq!(full.at(Depth::Ansi16), Some(Color::LightRed));
        assert_eq!(full.at(Depth::None), None);
        let wide = Shade {
            ansi256: Some(46),
            ..Shade::default()
        };
        assert_eq!(wide.at(Depth::True), Some(Color::Indexed(46)));
        assert_eq!(wide.at(Depth::Ansi16), Some(Color::LightGreen));
        let small = Shade {
            ansi16: Some(Color::Blue),
            ..Shade::default()
        };
        assert_eq!(small.at(Depth::True), Some(Color::Blue));
        assert_eq!(small.at(Depth::Ansi256), Some(Color::Blue));
    }

    #[test]
    fn an_index_looks_as_the_cube_says() {
        assert_eq!(rgb_of(196), [255, 0, 0]);
        assert_eq!(rgb_of(244), [128; 3]);
        assert_eq!(parse("12"), None);
        assert_eq!(parse("default"), Some(Color::Reset));
    }
}
