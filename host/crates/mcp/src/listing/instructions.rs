//! The text that tells models what the server is. It does not depend on which plugins are ready at the moment, so that anything
//! an agent shows or caches stays valid; only a plugin that cannot be loaded changes it.

use plugins::catalog::{Catalog, Missing};

/// Characters of a list of names.
const MAX_NAMES: usize = 2_000;

const DENIALS: &str = "A call that is denied something lacks a grant, which only the user can give: say what was denied, and do not try to \
                       reach it in another way.";

/// Makes the text, without any text of plugins.
pub(super) fn text(catalog: &Catalog) -> String {
    let names = catalog.plugin_names();
    let runs = match catalog.only() {
        Some(only) => {
            let others = listed(names.into_iter().filter(|name| *name != only));
            let others = others.map(|names| format!(", among them those of {names}"));
            format!("The programs of `{only}` call all tools here{}.", others.unwrap_or_default())
        }
        None => match listed(names) {
            Some(names) => format!("Each of these plugins runs in a sandbox of Portcullis: {names}."),
            None => "Portcullis serves tools under the rules of its user.".to_owned(),
        },
    };
    let failed = catalog.missing().iter().filter(|(_, why)| matches!(why, Missing::Failed(_)));
    let failed = listed(failed.filter_map(|(table, _)| table.strip_prefix("plugins.")));
    // The reason is only for the operator.
    let failed =
        failed.map(|names| format!("These plugins cannot be loaded: {names}. The log of the server says why."));
    [Some(runs), Some(DENIALS.to_owned()), failed].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The names as a list; none if there are no names.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (mut text, mut more) = (String::new(), 0);
    for name in names {
        if more > 0 || text.len() + name.len() > MAX_NAMES {
            more += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plugins::catalog::{CatalogRules, MissingPlugins};
    use policy::{PluginId, Side};

    fn told(only: Option<&str>, missing: &[(&str, Missing)]) -> String {
        let only = only.map(|name| PluginId { side: Side::Server, name: name.into() });
        let missing: MissingPlugins = missing.iter().map(|(table, why)| ((*table).to_owned(), why.clone())).collect();
        text(&Catalog::starting(CatalogRules { reserved: &[], only }, missing, false))
    }

    #[test]
    fn plugins_are_named_whether_they_are_ready_or_not() {
        let loading = told(None, &[("plugins.b", Missing::Loading), ("agent.c", Missing::Loading)]);
        assert!(loading.starts_with("Each of these plugins runs in a sandbox of Portcullis: b.\nA call"), "{loading}");
        assert!(!loading.contains("cannot be loaded"), "{loading}");
        let failed =
            told(None, &[("plugins.a", Missing::Failed("secret path".into())), ("plugins.b", Missing::Loading)]);
        assert!(failed.contains(": a, b.") && failed.contains("cannot be loaded: a."), "{failed}");
        assert!(!failed.contains("secret"), "{failed}");
        let code = told(Some("code"), &[("plugins.code", Missing::Loading), ("plugins.b", Missing::Loading)]);
        assert!(code.starts_with("The programs of `code` call all tools here, among them those of b.\n"), "{code}");
        let agents = told(None, &[("agent.c", Missing::Failed("why".into()))]);
        assert!(agents.starts_with("Portcullis serves") && !agents.contains("loaded"), "{agents}");
    }

    #[test]
    fn many_names_are_cut() {
        let names: Vec<_> = (0..1_000).map(|n| format!("plugin-{n}")).collect();
        let text = listed(names.iter().map(String::as_str)).unwrap();
        assert!(text.len() < MAX_NAMES + 50 && text.contains(" and ") && text.ends_with(" more"), "{text}");
    }
}
