//! Checks the resources and resource templates of an offer.

use super::error::OfferError;
use super::list::{check_bounds, sort_unique};
use super::text::{self, TextCheck};
use super::uri;
use super::uri_template::UriTemplate;
use runtime::imports::{ResourceInfo, ResourceTemplate};

/// More resources than this belong behind a template, which adds one entry to a list.
const MAX_RESOURCES: usize = 1_000;
/// Bounds the work of comparing each template with those of every other plugin.
const MAX_TEMPLATES: usize = 64;

pub(super) fn check(resources: Vec<ResourceInfo>) -> Result<Vec<ResourceInfo>, OfferError> {
    let size = |resource: &ResourceInfo| {
        let optional = [&resource.title, &resource.description, &resource.mime_type];
        resource.uri.len() + resource.name.len() + text::optional_size(&optional, &resource.icons)
    };
    check_bounds("resources", &resources, MAX_RESOURCES, size)?;
    for resource in &resources {
        let check = TextCheck::new("resource", &resource.uri.escape_debug().to_string());
        uri::check(&resource.uri).map_err(|problem| check.refuse("URI", problem))?;
        check.label(&resource.name)?;
        check.title(resource.title.as_ref())?;
        check.description(resource.description.as_ref())?;
        check.media_type(resource.mime_type.as_ref())?;
        check.annotations(resource.annotations.as_ref())?;
        check.icons(&resource.icons)?;
    }
    sort_unique("resources", resources, |resource| &resource.uri)
}

pub(super) fn check_templates(templates: Vec<ResourceTemplate>) -> Result<Vec<ResourceTemplate>, OfferError> {
    let size = |template: &ResourceTemplate| {
        let optional = [&template.title, &template.description, &template.mime_type];
        template.uri_template.len() + template.name.len() + text::optional_size(&optional, &template.icons)
    };
    check_bounds("resource templates", &templates, MAX_TEMPLATES, size)?;
    let templates = sort_unique("resource templates", templates, |template| &template.uri_template)?;
    for template in &templates {
        let check = text_check(template);
        parse(template)?;
        check.label(&template.name)?;
        check.title(template.title.as_ref())?;
        check.description(template.description.as_ref())?;
        check.media_type(template.mime_type.as_ref())?;
        check.annotations(template.annotations.as_ref())?;
        check.icons(&template.icons)?;
    }
    Ok(templates)
}

pub(super) fn parse(template: &ResourceTemplate) -> Result<UriTemplate, OfferError> {
    UriTemplate::parse(&template.uri_template).map_err(|problem| text_check(template).refuse("URI", problem))
}

fn text_check(template: &ResourceTemplate) -> TextCheck {
    TextCheck::new("resource template", &template.uri_template.escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use runtime::imports::{Annotations, Icon, Role};

    #[test]
    fn resources_are_sorted_and_bad_ones_are_refused() {
        let sorted = check(vec![resource("n:b"), resource("n:a")]).unwrap();
        assert_eq!(sorted.iter().map(|r| r.uri.as_str()).collect::<Vec<_>>(), ["n:a", "n:b"]);
        let broken = |change: fn(&mut ResourceInfo)| {
            let mut bad = resource("n:a");
            change(&mut bad);
            check(vec![bad]).unwrap_err().to_string()
        };
        assert!(check(vec![resource("n:a"), resource("n:a")]).unwrap_err().to_string().contains("two resources"));
        assert!(broken(|r| r.uri = "portcullis://mine".into()).contains("the host's own"));
        assert!(broken(|r| r.uri = "n:\u{202e}".into()).contains("\\u{202e}"), "the error escapes it");
        assert!(broken(|r| r.name = String::new()).contains("empty"));
        assert!(broken(|r| r.title = Some("x\u{200b}".into())).contains("invisible"));
        assert!(broken(|r| r.mime_type = Some("text".into())).contains("text/plain"));
        let loud = Annotations { audience: vec![Role::User], priority: Some(1.5), last_modified: None };
        let mut bad = resource("n:a");
        bad.annotations = Some(loud);
        assert!(check(vec![bad]).unwrap_err().to_string().contains("1.5"));
        assert!(
            broken(|r| r.icons = vec![Icon { src: "http://x".into(), mime_type: None, sizes: vec![] }])
                .contains("https:")
        );
        let many = (0..=MAX_RESOURCES).map(|n| resource(&format!("n:{n}"))).collect();
        assert!(matches!(check(many), Err(OfferError::TooMany { count: 1_001, .. })));
        let long = |n| ResourceInfo { description: Some("x".repeat(4 << 10)), ..resource(&format!("n:{n}")) };
        assert!(matches!(check((0..70).map(long).collect()), Err(OfferError::TooMuchText { .. })));
    }

    #[test]
    fn templates_are_sorted_and_bad_ones_are_refused() {
        let sorted = check_templates(vec![template("n:b/{x}"), template("n:a/{x}")]).unwrap();
        assert_eq!(sorted[0].uri_template, "n:a/{x}");
        assert!(check_templates(vec![template("n:{+x}")]).unwrap_err().to_string().contains("simple variable"));
        assert!(check_templates(vec![template("n:{x}"), template("n:{x}")]).unwrap_err().to_string().contains("two"));
    }
}
