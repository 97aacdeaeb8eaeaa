//! Checks the prompts of an offer.

use super::error::OfferError;
use super::list::{check_bounds, sort_distinct};
use super::text::{self, TextCheck};
use runtime::imports::Prompt;
use std::collections::HashSet;

const MAX_PROMPTS: usize = 256;
/// Arguments of one prompt, which a person fills in.
const MAX_ARGUMENTS: usize = 32;

pub(super) fn check(prompts: Vec<Prompt>) -> Result<Vec<Prompt>, OfferError> {
    let size = |prompt: &Prompt| {
        let arguments =
            prompt.arguments.iter().map(|a| a.name.len() + text::optional_size(&[&a.title, &a.description], &[]));
        text::optional_size(&[&prompt.title, &prompt.description], &prompt.icons) + arguments.sum::<usize>()
    };
    check_bounds("prompts", &prompts, MAX_PROMPTS, size)?;
    for prompt in &prompts {
        text::check_name("prompt", &prompt.name)?;
        let check = TextCheck::new("prompt", &prompt.name);
        check.title(prompt.title.as_ref())?;
        check.description(prompt.description.as_ref())?;
        check.icons(&prompt.icons)?;
        if prompt.arguments.len() > MAX_ARGUMENTS {
            let count = prompt.arguments.len();
            return Err(check.refuse("arguments", format!("are {count}, more than {MAX_ARGUMENTS}")));
        }
        let mut names = HashSet::new();
        for argument in &prompt.arguments {
            text::check_name("argument", &argument.name)?;
            if !names.insert(&argument.name) {
                return Err(check.refuse("arguments", format!("are two named `{}`", argument.name)));
            }
            check.title(argument.title.as_ref())?;
            check.description(argument.description.as_ref())?;
        }
    }
    sort_distinct("prompts", prompts, |prompt| &prompt.name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn prompts_are_sorted_and_bad_ones_are_refused() {
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
