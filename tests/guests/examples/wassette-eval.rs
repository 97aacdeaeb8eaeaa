//! What Wassette's example `eval-py` is to its callers: two functions that take a program. This one adds numbers.

wit_bindgen::generate!({
    inline: r#"
        package local:eval-py;

        world sandbox {
            export eval: func(expression: string) -> result<string, string>;
            export exec: func(statements: string) -> result<string, string>;
        }
    "#,
});

struct Sandbox;

impl Guest for Sandbox {
    fn eval(expression: String) -> Result<String, String> {
        let numbers = expression.split('+').map(|number| number.trim().parse::<i64>());
        numbers.sum::<Result<i64, _>>().map(|sum| sum.to_string()).map_err(|error| format!("{expression:?}: {error}"))
    }

    fn exec(statements: String) -> Result<String, String> {
        let lines: Result<Vec<String>, String> = statements.lines().map(|line| Self::eval(line.to_owned())).collect();
        Ok(lines?.join("\n"))
    }
}

export!(Sandbox);
