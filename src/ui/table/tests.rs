//! Tables as they come out.

use super::*;

fn history() -> Table {
    Table::new([
        column("run").right(),
        column("status"),
        column("playbook"),
        column("by").optional(1),
        column("reason").below(),
    ])
    .rows([
        vec![
            Cell::new(12),
            Cell::toned("failed", Tone::Bad),
            Cell::new("PATCH@3"),
            Cell::new("ana"),
            Cell::new("web1: task `Install` failed: no space left on the device"),
        ],
        vec![
            Cell::new(9),
            Cell::toned("success", Tone::Good),
            Cell::new("PATCH@3"),
            Cell::new("ana"),
            Cell::new(""),
        ],
    ])
}

#[test]
fn what_has_no_room_beside_a_row_stands_below_it() {
    let shown: String = [90, 44, 24, 16]
        .map(|w| format!("{:-^w$}\n{}", "", history().render(Some(w), Palette::PLAIN)))
        .concat();
    insta::assert_snapshot!(shown);
    assert_eq!(history().left_out(Some(24)), ["by"]);
    assert!(history().left_out(Some(44)).is_empty());
    for width in 12..100 {
        for line in history().render(Some(width), Palette::PLAIN).lines() {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
    }
}

fn sample() -> Table {
    Table::new([
        column("host"),
        column("status"),
        column("cpus").right(),
        column("place").optional(2),
        column("note").wraps().optional(1),
    ])
    .rows([
        vec![
            Cell::new("lab1"),
            Cell::toned("READY", Tone::Good),
            Cell::new(16),
            Cell::new("home"),
            Cell::new("a note that is long enough to be wrapped on most terminals"),
        ],
        vec![
            Cell::new("漢字-server"),
            Cell::toned("INIT_FAIL", Tone::Bad),
            Cell::new(4),
            Cell::optional(None::<String>),
            Cell::new("tab\tand\nbreak\u{1b}[31m"),
        ],
    ])
}

#[test]
fn piped_tables_have_one_line_a_row_and_straight_columns() {
    insta::assert_snapshot!(sample().render(None, Palette::PLAIN));
}

#[test]
fn tables_fit_the_terminal_and_stay_straight() {
    let shown: String = [100, 60, 40, 24]
        .map(|w| format!("{:-^w$}\n{}", "", sample().render(Some(w), Palette::PLAIN)))
        .concat();
    insta::assert_snapshot!(shown);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for colour in [false, true] {
        let palette = Palette {
            colour,
            unicode: true,
        };
        for width in 12..120 {
            for line in sample().render(Some(width), palette).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn columns_that_gave_way_are_named() {
    assert_eq!(sample().left_out(Some(50)), ["place"]);
    assert_eq!(sample().left_out(Some(30)), ["place", "note"]);
    assert!(sample().left_out(Some(100)).is_empty());
    assert!(sample().left_out(None).is_empty());
}

#[test]
fn colour_is_never_the_only_sign() {
    let coloured = sample().render(
        Some(100),
        Palette {
            colour: true,
            unicode: true,
        },
    );
    assert!(coloured.contains('\u{1b}'));
    let stripped: String = console::strip_ansi_codes(&coloured)
        .lines()
        .map(|l| format!("{}\n", l.trim_end()))
        .collect();
    assert_eq!(stripped, sample().render(Some(100), Palette::PLAIN));
}
