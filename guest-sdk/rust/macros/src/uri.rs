//! URIs and URI templates of resources.

use syn::LitStr;

/// A piece of a template.
pub(crate) enum Piece {
    Literal(String),
    Variable(String),
}

/// Rejects text that is not a URI.
pub(crate) fn check(uri: &LitStr) -> syn::Result<()> {
    let text = uri.value();
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let proper = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let problem = if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(proper) {
        "has no scheme, such as `weather:`".to_owned()
    } else if let Some(bad) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
        format!("contains {bad:?}")
    } else if text.contains(['{', '}']) {
        "has variables; that is a #[resource_template(uri_template = \"...\")]".to_owned()
    } else {
        return Ok(());
    };
    Err(syn::Error::new(uri.span(), format!("the URI \"{text}\" {problem}")))
}

/// Parses a template. Only simple expansion, `{name}`: the rest of RFC 6570 cannot be matched unambiguously.
pub(crate) fn pieces(template: &LitStr) -> syn::Result<Vec<Piece>> {
    let text = template.value();
    let fail = |problem: &str| Err(syn::Error::new(template.span(), format!("the template \"{text}\" {problem}")));
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = text.as_str();
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open..].find('}') else { return fail("has a `{` without a `}`") };
        let name = &rest[open + 1..open + length];
        if open > 0 {
            pieces.push(Piece::Literal(rest[..open].to_owned()));
        } else if matches!(pieces.last(), Some(Piece::Variable(_))) {
            return fail("has two variables with nothing between them, so nobody could tell them apart");
        }
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return fail("has something else than plain variables, `{name}`");
        }
        if pieces.iter().any(|piece| matches!(piece, Piece::Variable(known) if known == name)) {
            return fail("has the same variable twice");
        }
        pieces.push(Piece::Variable(name.to_owned()));
        rest = &rest[open + length + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.to_owned()));
    }
    if !pieces.iter().any(|piece| matches!(piece, Piece::Variable(_))) {
        return fail("has no variables; that is a #[resource(uri = \"...\")]");
    }
    let example: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => literal.as_str(),
            Piece::Variable(_) => "x",
        })
        .collect();
    if !matches!(pieces.first(), Some(Piece::Literal(start)) if start.contains(':')) {
        return fail("does not start with a scheme, such as `weather:`");
    }
    check(&LitStr::new(&example, template.span()))?;
    Ok(pieces)
}
