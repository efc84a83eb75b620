use proptest::prelude::*;
use ratatui::layout::Rect;

use super::*;

fn wish(layout: LayoutKind, focus: PaneKind) -> Wish {
    Wish {
        layout,
        focus,
        beside: PaneKind::Log,
        zoom: false,
        matrix: 20,
        gpus: 8,
        sizes: Sizes::default(),
    }
}

#[test]
fn sizes_fall_into_their_classes() {
    for (w, h, class) in [
        (39, 60, SizeClass::TooSmall),
        (200, 9, SizeClass::TooSmall),
        (40, 10, SizeClass::Single),
        (80, 24, SizeClass::Single),
        (81, 24, SizeClass::Double),
        (99, 60, SizeClass::Double),
        (200, 34, SizeClass::Double),
        (100, 36, SizeClass::Full),
        (139, 60, SizeClass::Full),
        (140, 35, SizeClass::Wide),
    ] {
        assert_eq!(size_class(w, h), class, "{w}x{h}");
    }
}

#[test]
fn panes_cover_the_body_without_overlap_and_the_focus_is_always_seen() {
    for w in 40..220_u16 {
        for h in 10..70_u16 {
            let area = Rect::new(0, 0, w, h);
            for layout in LayoutKind::ALL {
                for focus in PaneKind::ALL {
                    let plan = plan(area, wish(layout, focus));
                    let cells: u32 = plan.panes.iter().map(|(_, r)| r.area()).sum();
                    assert_eq!(cells, u32::from(w) * u32::from(h - 2), "{w}x{h}");
                    assert!(plan.shows(focus), "{w}x{h} {layout:?} {focus:?}");
                }
            }
        }
    }
}

#[test]
fn from_100x36_the_layout_shows_what_it_is_for_whatever_has_the_focus() {
    for (w, h) in [(100, 36), (120, 40), (140, 35), (200, 60)] {
        for layout in LayoutKind::ALL {
            let usual = plan(Rect::new(0, 0, w, h), wish(layout, layout.home()));
            for pane in PaneKind::ALL {
                let own = pane.author() == (layout == LayoutKind::Author);
                assert_eq!(usual.shows(pane), own, "{layout:?} {pane:?}");
                let focused = plan(Rect::new(0, 0, w, h), wish(layout, pane));
                if own {
                    assert_eq!(focused, usual, "{layout:?} {pane:?}");
                }
            }
        }
    }
}

const WAYS: [Way; 4] = [Way::Narrower, Way::Wider, Way::Lower, Way::Higher];

#[test]
fn a_pane_grows_and_shrinks_and_returns() {
    let area = Rect::new(0, 0, 120, 40);
    for layout in LayoutKind::ALL {
        for focus in PaneKind::ALL {
            let mut wish = wish(layout, focus);
            let before = plan(area, wish).of(focus);
            for (way, back) in [(Way::Wider, Way::Narrower), (Way::Higher, Way::Lower)] {
                let mut sizes = wish.sizes;
                if !resize(area, wish, way, &mut sizes) {
                    continue;
                }
                wish.sizes = sizes;
                let grown = plan(area, wish).of(focus);
                assert!(grown.area() > before.area(), "{layout:?} {focus:?} {way:?}");
                assert!(resize(area, wish, back, &mut sizes));
                wish.sizes = sizes;
                assert_eq!(plan(area, wish).of(focus), before);
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_was_resized_where_every_screen_is_covered(
        sizes in (40..300_u16, 10..100_u16),
        other in (40..300_u16, 10..100_u16),
        layout in 0..3_usize,
        steps in proptest::collection::vec((0..8_usize, 0..4_usize), 0..60),
    ) {
        let area = Rect::new(0, 0, sizes.0, sizes.1);
        let layout = LayoutKind::ALL[layout];
        let mut wish = wish(layout, layout.home());
        for (focus, way) in steps {
            wish.focus = PaneKind::ALL[focus];
            let mut sizes = wish.sizes;
            resize(area, wish, WAYS[way], &mut sizes);
            wish.sizes = sizes;
        }
        // and the same shares on another screen
        for (w, h) in [sizes, other] {
            let area = Rect::new(0, 0, w, h);
            let plan = plan(area, wish);
            let cells: u32 = plan.panes.iter().map(|(_, r)| r.area()).sum();
            prop_assert_eq!(cells, u32::from(w) * u32::from(h - 2));
            prop_assert!(plan.shows(wish.focus));
            for (pane, rect) in &plan.panes {
                prop_assert!(rect.width > 0 && rect.height > 0, "{pane:?} {rect:?}");
            }
        }
    }
}
