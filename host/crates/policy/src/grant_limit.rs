//! Reduces grants to those that other grants allow, too. Used while new grants wait to be confirmed.

use super::{ClientGrants, Grants, grant_subset as subset};

impl Grants {
    /// The grants that both these and `allowed` allow. An entry of a list or table is kept or dropped as a whole: if two
    /// entries overlap and neither contains the other, both are dropped.
    #[must_use]
    pub fn limited_to(&self, allowed: &Self) -> Self {
        let Self {
            filesystem,
            agent_tools,
            client,
            publish,
            events,
            connections,
            http,
            secrets,
            env,
            state,
            scratch,
            flows,
        } = self;
        Self {
            filesystem: common(filesystem, &allowed.filesystem, subset::mount),
            agent_tools: common(agent_tools, &allowed.agent_tools, |one, other| one.is_within(other)),
            client: asking(client, &allowed.client),
            publish: *publish && allowed.publish,
            events: common(events, &allowed.events, |one, other| one.is_within(other)),
            connections: common(connections, &allowed.connections, PartialEq::eq),
            http: common(http, &allowed.http, subset::requests),
            secrets: common(secrets, &allowed.secrets, subset::told),
            env: common(env, &allowed.env, PartialEq::eq),
            state: common(state.as_slice(), allowed.state.as_slice(), subset::values).pop(),
            scratch: common(scratch.as_slice(), allowed.scratch.as_slice(), subset::files).pop(),
            flows: common(flows, &allowed.flows, PartialEq::eq),
        }
    }
}

fn asking(one: &ClientGrants, other: &ClientGrants) -> ClientGrants {
    let ClientGrants { form, url, sample, roots } = one;
    ClientGrants {
        form: *form && other.form,
        url: common(url, &other.url, |one, other| one.is_within(other)),
        sample: common(sample.as_slice(), other.sample.as_slice(), subset::sampling).pop(),
        roots: *roots && other.roots,
    }
}

/// The entries of either list that are within an entry of the other.
fn common<T: Clone>(these: &[T], others: &[T], within: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let in_any = |one: &T, list: &[T]| list.iter().any(|other| within(one, other));
    let mut both: Vec<T> = these.iter().filter(|one| in_any(one, others)).cloned().collect();
    let rest: Vec<T> = others.iter().filter(|one| in_any(one, these) && !in_any(one, &both)).cloned().collect();
    both.extend(rest);
    both
}

#[cfg(test)]
mod tests {
    use super::super::grant_subset::tests::{LESS, grants};
    use super::*;

    #[test]
    fn of_more_and_less_the_less_is_left() {
        for (more, less) in LESS {
            let (wide, narrow) = (grants(more), grants(less));
            assert_eq!(wide.limited_to(&narrow), narrow, "{more}");
            assert_eq!(narrow.limited_to(&wide), narrow, "{less}");
            assert_eq!(wide.limited_to(&wide), wide, "{more}");
            assert_eq!(wide.limited_to(&Grants::default()), Grants::default(), "{more}");
        }
    }

    #[test]
    fn the_result_is_within_both() {
        for (one, other, both) in [
            (r#"env = ["A", "B"]"#, r#"env = ["B", "C"]"#, r#"env = ["B"]"#),
            (r#"events = ["a.*", "b.c"]"#, r#"events = ["a.b", "b.*"]"#, r#"events = ["b.c", "a.b"]"#),
            ("state = { size = \"1 MiB\", keys = 9 }", "state = { size = \"2 MiB\", keys = 8 }", ""),
            (r#"scratch = { guest = "/x" }"#, r#"scratch = { guest = "/y" }"#, ""),
        ] {
            let (one, other) = (grants(one), grants(other));
            let limited = one.limited_to(&other);
            assert_eq!(limited, grants(both));
            assert!(limited.is_within(&one) && limited.is_within(&other));
        }
    }
}
