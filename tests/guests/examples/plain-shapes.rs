//! A component that knows nothing of us: functions over types of every kind, free ones and in an interface.

wit_bindgen::generate!({
    inline: r#"
        package acme:shapes@1.2.0;

        interface geometry {
            record point { x: f64, y: f64 }
            record label { text: string, size: option<u8>, at: option<point> }
            variant shape { circle(f64), polygon(list<point>), nothing }
            enum colour { red, dark-green }
            flags style { bold, italic, underlined }

            area: func(of: shape) -> result<f64, string>;
            draw: func(label: label, colour: colour, style: style) -> string;
            echo: func(label: label, shape: shape, colour: colour, style: style) -> tuple<label, shape, colour, style>;
            centre: func(points: list<point>) -> option<point>;
        }

        world shapes {
            export geometry;

            variant failure { too-small(u32), unknown }

            export greet: func(name: string, times: option<u8>) -> string;
            export numbers: func(unsigned: u64, signed: s64, small: s8, sign: char, real: f32) -> tuple<u64, s64, s8, char, f32>;
            export nested: func(value: option<option<bool>>) -> option<option<bool>>;
            export invert: func(bytes: list<u8>) -> list<u8>;
            export parts: func(name: string, bytes: list<u8>) -> result<list<u8>, string>;
            export checksums: func(parts: list<list<u8>>) -> list<u32>;
            export outcome: func(given: result<u8, string>) -> result<result<u8, string>, failure>;
            export nothing: func();
            export done: func(ok: bool) -> result<_, string>;
            export fail: func(size: option<u32>) -> result<string, failure>;
            export bare: func() -> result;
            export spin: func();
        }
    "#,
});

use exports::acme::shapes::geometry::{Colour, Guest as Geometry, Label, Point, Shape, Style};

struct Shapes;

impl Geometry for Shapes {
    fn area(of: Shape) -> Result<f64, String> {
        match of {
            Shape::Circle(radius) => Ok(radius * radius * 3.0),
            Shape::Polygon(points) => Err(format!("{} points", points.len())),
            Shape::Nothing => Ok(f64::INFINITY),
        }
    }

    fn draw(label: Label, colour: Colour, style: Style) -> String {
        let size = label.size.unwrap_or(12);
        let at = label.at.map_or_else(|| "nowhere".into(), |at| format!("{} {}", at.x, at.y));
        format!("{} {size} at {at} {colour:?} {style:?}", label.text)
    }

    fn echo(label: Label, shape: Shape, colour: Colour, style: Style) -> (Label, Shape, Colour, Style) {
        (label, shape, colour, style)
    }

    fn centre(points: Vec<Point>) -> Option<Point> {
        let count = points.len() as f64;
        let sum = points.into_iter().reduce(|a, b| Point { x: a.x + b.x, y: a.y + b.y })?;
        Some(Point { x: sum.x / count, y: sum.y / count })
    }
}

impl Guest for Shapes {
    fn greet(name: String, times: Option<u8>) -> String {
        vec![format!("Hello, {name}!"); times.unwrap_or(1).into()].join(" ")
    }

    fn numbers(unsigned: u64, signed: i64, small: i8, sign: char, real: f32) -> (u64, i64, i8, char, f32) {
        (unsigned, signed, small, sign, real)
    }

    fn nested(value: Option<Option<bool>>) -> Option<Option<bool>> {
        value
    }

    fn invert(bytes: Vec<u8>) -> Vec<u8> {
        bytes.into_iter().map(|byte| !byte).collect()
    }

    fn parts(name: String, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        if bytes.is_empty() { Err(format!("{name} is empty")) } else { Ok([name.as_bytes(), &bytes].concat()) }
    }

    fn checksums(parts: Vec<Vec<u8>>) -> Vec<u32> {
        parts.iter().map(|part| part.iter().map(|byte| u32::from(*byte)).sum()).collect()
    }

    fn outcome(given: Result<u8, String>) -> Result<Result<u8, String>, Failure> {
        Ok(given)
    }

    fn nothing() {}

    fn done(ok: bool) -> Result<(), String> {
        if ok { Ok(()) } else { Err("it was not to be".into()) }
    }

    fn fail(size: Option<u32>) -> Result<String, Failure> {
        Err(size.map_or(Failure::Unknown, Failure::TooSmall))
    }

    fn bare() -> Result<(), ()> {
        Err(())
    }

    fn spin() {
        loop {
            std::hint::black_box(0);
        }
    }
}

export!(Shapes);
