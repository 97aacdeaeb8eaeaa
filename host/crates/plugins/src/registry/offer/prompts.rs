//! Prompts: names, arguments, texts.

use super::words::{self, Words};
use super::{OfferError, bounded, sorted};
use runtime::imports::Prompt;
use std::collections::HashSet;

/// Prompts of one plugin.
const MAX_PROMPTS: usize = 256;
/// Arguments of one prompt: a person fills them in.
const MAX_ARGUMENTS: usize = 32;

pub(super) fn check(prompts: Vec<Prompt>) -> Result<Vec<Prompt>, OfferError> {
    let size = |prompt: &Prompt| {
        let arguments = prompt.arguments.iter().map(|a| a.name.len() + words::size(&[&a.title, &a.description], &[]));
        words::size(&[&prompt.title, &prompt.description], &prompt.icons) + arguments.sum::<usize>()
    };
    bounded("prompts", &prompts, MAX_PROMPTS, size)?;
    for prompt in &prompts {
        words::name("prompt", &prompt.name)?;
        let words = Words::of("prompt", &prompt.name);
        words.title(prompt.title.as_ref())?;
        words.description(prompt.description.as_ref())?;
        words.icons(&prompt.icons)?;
        if prompt.arguments.len() > MAX_ARGUMENTS {
            let count = prompt.arguments.len();
            return Err(words.refuse("arguments", format!("are {count}, more than {MAX_ARGUMENTS}")));
        }
        let mut names = HashSet::new();
        for argument in &prompt.arguments {
            words::name("argument", &argument.name)?;
            if !names.insert(&argument.name) {
                return Err(words.refuse("arguments", format!("are two named `{}`", argument.name)));
            }
            words.title(argument.title.as_ref())?;
            words.description(argument.description.as_ref())?;
        }
    }
    sorted("prompts", prompts, |prompt| &prompt.name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn sorts_and_refuses() {
        let sorted = check(vec![prompt("b", &["z", "a"]), prompt("a", &[])]).unwrap();
        assert_eq!((sorted[0].name.as_str(), sorted[1].arguments[0].name.as_str()), ("a", "z"));
        let refused = |prompts: Vec<Prompt>| check(prompts).unwrap_err().to_string();
        assert!(refused(vec![prompt("a b", &[])]).contains("prompt name"));
        assert!(refused(vec![prompt("a", &["x y"])]).contains("argument name"));
        assert!(refused(vec![prompt("a", &["x", "x"])]).contains("two named `x`"));
        assert!(refused(vec![prompt("a", &[]), prompt("a", &[])]).contains("two prompts"));
        assert!(refused(vec![Prompt { title: Some("\u{7}".into()), ..prompt("a", &[]) }]).contains("control"));
        assert!(refused(vec![prompt("a", &["x"; 33])]).contains("33"));
    }
}
