//! Recognises what looks like a secret: a plugin that is granted such a variable would get the secret.

/// Words in the name of a variable that suggest a secret.
const WORDS: [&str; 13] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "DSN",
    "PAT",
    "PASSPHRASE",
];
/// Words in the names of variables that hold the address of a service. The address usually contains a password.
const SERVICES: [&str; 12] = [
    "DATABASE",
    "DB",
    "POSTGRES",
    "POSTGRESQL",
    "MYSQL",
    "MONGO",
    "MONGODB",
    "REDIS",
    "AMQP",
    "RABBITMQ",
    "CLICKHOUSE",
    "ELASTICSEARCH",
];
const ADDRESSES: [&str; 3] = ["URL", "URI", "CONNECTION"];
/// Prefixes of the tokens of widely used services.
const TOKENS: [&str; 17] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
];
/// A shorter text is not taken for a token.
const SHORTEST_TOKEN: usize = 16;

/// Whether the name of a variable suggests a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let has = |words: &[&str]| name.split('_').any(|part| words.contains(&part));
    has(&WORDS)
        || WORDS.iter().any(|word| word.len() > 4 && name.ends_with(word))
        || (has(&SERVICES) && has(&ADDRESSES))
}

/// What in the value of a variable has the shape of a secret. `None` if nothing has.
pub fn secret_in_value(value: &str) -> Option<&'static str> {
    let value = value.trim();
    // The user info, which stands before the `@` of an address.
    let mut users = value.split("://").skip(1).filter_map(|rest| {
        let authority = rest.split(['/', '?', '#']).next()?;
        authority.rsplit_once('@').map(|(user, _)| user)
    });
    // A short user such as `git@` is no secret; a long one is a token.
    let is_secret = |user: &str| {
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty()) || user.len() >= SHORTEST_TOKEN
    };
    if users.any(is_secret) {
        return Some("an address with a password or a token");
    }
    if value.contains("-----BEGIN ") {
        return Some("a key or certificate in PEM");
    }
    let is_jwt = value.starts_with("eyJ") && value.split('.').count() == 3;
    let is_token = TOKENS.iter().any(|begin| value.starts_with(begin));
    (value.len() >= SHORTEST_TOKEN && (is_jwt || is_token)).then_some("an access token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_suggest_a_secret() {
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "pgpassword",
            "SENTRY_DSN",
            "GITHUB_PAT",
            "DATABASE_URL",
            "REDIS_URL",
            "MONGODB_URI",
            "DB_CONNECTION",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["TZ", "_x1", "HTTP_PROXY", "KEYBOARD", "MONKEY", "PATH", "API_URL", "DB_NAME", "LANG"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values_with_the_shape_of_a_secret() {
        let pem = "-----BEGIN PRIVATE KEY-----\nMII";
        for (value, what) in [
            ("postgres://app:hunter2@db.example/app", "an address"),
            ("https://8f0c0de1234567890@sentry.example/7", "an address"),
            ("http://proxy.example:3128 http://u:p@b.example", "an address"),
            ("ghp_0123456789abcdefghij", "an access token"),
            ("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", "an access token"),
            (pem, "a key"),
        ] {
            assert!(secret_in_value(value).is_some_and(|found| found.starts_with(what)), "{value}");
        }
        for value in [
            "Europe/Paris",
            "https://api.example.com/users/a@b.example",
            "sk-short",
            "a@b.example",
            "",
            "ssh://git@forge.example/a",
        ] {
            assert_eq!(secret_in_value(value), None, "{value}");
        }
    }
}
