//! A component that knows nothing of us, and whose results are large, or take much more memory outside than inside.

wit_bindgen::generate!({
    inline: r#"
        package hostile:flood;

        world flood {
            flags many {
                a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af,
            }
            record wide { a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8 }
            record boxed { data: list<u8> }

            export all-flags: func(count: u32) -> list<many>;
            export records: func(count: u32) -> list<wide>;
            export bytes: func(count: string) -> list<u8>;
            export boxed-bytes: func(count: u32) -> boxed;
            export text: func(count: u32) -> string;
            export options: func(count: u32) -> list<option<option<option<option<bool>>>>>;
        }
    "#,
});

struct Flood;

fn times<T: Clone>(value: T, count: u32) -> Vec<T> {
    vec![value; count as usize]
}

impl Guest for Flood {
    fn all_flags(count: u32) -> Vec<Many> {
        times(Many::all(), count)
    }

    fn records(count: u32) -> Vec<Wide> {
        times(Wide { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 }, count)
    }

    fn bytes(count: String) -> Vec<u8> {
        times(7, count.parse().unwrap_or_default())
    }

    fn boxed_bytes(count: u32) -> Boxed {
        Boxed { data: times(7, count) }
    }

    fn text(count: u32) -> String {
        "\u{1}".repeat(count as usize)
    }

    fn options(count: u32) -> Vec<Option<Option<Option<Option<bool>>>>> {
        times(Some(Some(Some(Some(true)))), count)
    }
}

export!(Flood);
