//! `publish`: what guests write, resources and prompts. A function returns before its change is on disk (`save`).

use super::context::{OwnerContext, lifetime};
use super::item::Item;
use super::owner::OwnerData;
use super::prompt::{StoredPrompt, full_name};
use super::quota::Usage;
use super::resource::{self, StoredResource};
use super::store::PrincipalStore;
use super::unsaved::Over;
use policy::{DistinctNames, NameClash, Principal, is_name};
use runtime::imports::{Provenance, PublishError, PublishedPrompt, Publisher, ResourceAttributes, ResourceBody};

/// Characters of a name that all clients accept.
const MAX_NAME: usize = 64;

impl Publisher for PrincipalStore {
    fn put_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
        attributes: ResourceAttributes,
    ) -> Result<String, PublishError> {
        let tail = resource::tail(&source, path);
        self.with_writer(owner, |own, context| {
            own.write(&source, context.now)?;
            put_resource(own, context, &tail, (body, attributes, source))
        })
    }

    fn append_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
    ) -> Result<String, PublishError> {
        let tail = resource::tail(&source, path);
        self.with_writer(owner, |own, context| {
            own.write(&source, context.now)?;
            let Some(resource) = own.resources.get(&tail).filter(|there| there.source.data == source.data) else {
                return put_resource(own, context, &tail, (body, ResourceAttributes::default(), source));
            };
            let old = resource.usage();
            let more = Usage { items: 0, bytes: resource::length(&body) as u64 };
            own.check_quota(context.others, &source, old, old.plus(more))?;
            let Some(resource) = own.resources.get_mut(&tail) else { return Err(PublishError::NotFound) };
            match (&mut resource.body, body) {
                (ResourceBody::Text(text), ResourceBody::Text(more)) => text.push_str(&more),
                (ResourceBody::Blob(bytes), ResourceBody::Blob(more)) => bytes.extend(more),
                (ResourceBody::Text(_), ResourceBody::Blob(_)) => return Err(body_mismatch(&tail, "text", "bytes")),
                (ResourceBody::Blob(_), ResourceBody::Text(_)) => return Err(body_mismatch(&tail, "bytes", "text")),
            }
            resource.source = source;
            resource.modified = context.wall;
            resource.expires = context.now + lifetime(resource.attributes.ttl);
            let uri = resource::uri(&tail);
            context.changed(&uri);
            context.store(Item::Resource(tail), Over::Known);
            Ok(uri)
        })
    }

    fn remove_resource(&self, owner: &Principal, source: Provenance, path: &str) -> Result<(), PublishError> {
        let tail = resource::tail(&source, path);
        self.with_owner(owner, |own, context| {
            own.write(&source, context.now)?;
            own.resources.get(&tail).filter(|there| there.source.data == source.data).ok_or(PublishError::NotFound)?;
            own.resources.remove(&tail);
            context.resources_changed();
            context.changed(&resource::uri(&tail));
            context.store(Item::Resource(tail), Over::Anything);
            Ok(())
        })
    }

    fn put_prompt(&self, owner: &Principal, source: Provenance, prompt: PublishedPrompt) -> Result<(), PublishError> {
        self.with_writer(owner, |own, context| {
            own.write(&source, context.now)?;
            put_prompt(own, context, source, prompt)
        })
    }

    fn remove_prompt(&self, owner: &Principal, source: Provenance, name: &str) -> Result<(), PublishError> {
        self.with_owner(owner, |own, context| {
            own.write(&source, context.now)?;
            remove_prompt(own, context, &source, name)
        })
    }
}

fn put_resource(
    own: &mut OwnerData,
    context: &mut OwnerContext<'_>,
    tail: &str,
    (body, attributes, source): (ResourceBody, ResourceAttributes, Provenance),
) -> Result<String, PublishError> {
    let expires = context.now + lifetime(attributes.ttl);
    let new = StoredResource::new(tail, body, attributes, source, context.wall, expires);
    let old = own.resources.get(tail);
    let listed_anew = old.is_none_or(|old| old.attributes != new.attributes);
    own.check_quota(context.others, &new.source, old.map(StoredResource::usage).unwrap_or_default(), new.usage())?;
    own.resources.insert(tail.to_owned(), new);
    if listed_anew {
        context.resources_changed();
    }
    let uri = resource::uri(tail);
    context.changed(&uri);
    context.store(Item::Resource(tail.to_owned()), Over::Anything);
    Ok(uri)
}

fn put_prompt(
    own: &mut OwnerData,
    context: &mut OwnerContext<'_>,
    source: Provenance,
    prompt: PublishedPrompt,
) -> Result<(), PublishError> {
    let name = full_name(&source.plugin, &prompt.name);
    let there = own.prompts.get(&name);
    if there.is_some_and(|there| there.source.plugin != source.plugin) {
        let text =
            format!("another plugin has published a prompt that clients see as `{name}` too; choose another name");
        return Err(PublishError::Invalid(text));
    }
    check_name(own, &name, &source.plugin)?;
    let old = there.map(StoredPrompt::usage).unwrap_or_default();
    let new = StoredPrompt { expires: context.now + lifetime(prompt.ttl), prompt, source };
    own.check_quota(context.others, &new.source, old, new.usage())?;
    own.prompts.insert(name.clone(), new);
    context.prompts_changed();
    context.store(Item::Prompt(name), Over::Anything);
    Ok(())
}

/// Checks that clients accept the whole name, and that they cannot take another prompt of the same owner for it.
fn check_name(own: &OwnerData, name: &str, plugin: &String) -> Result<(), PublishError> {
    if !is_name(name, MAX_NAME, "_-") {
        let text = format!("clients would see the prompt as `{name}`, which is longer than {MAX_NAME} characters");
        return Err(PublishError::Invalid(text));
    }
    let mut names = DistinctNames::default();
    for (other, stored) in own.prompts.iter().filter(|(other, _)| *other != name) {
        // Each was checked against the others when it was published.
        let _ = names.insert(other, &stored.source.plugin);
    }
    let clash = |clash: NameClash<String>| {
        let text = format!("clients may take `{name}` for the prompt `{}`; choose another name", clash.name);
        PublishError::Invalid(text)
    };
    names.insert(name, plugin).map_err(clash)
}

fn remove_prompt(
    own: &mut OwnerData,
    context: &mut OwnerContext<'_>,
    source: &Provenance,
    name: &str,
) -> Result<(), PublishError> {
    let name = full_name(&source.plugin, name);
    // Plugin `a` with `_b` and plugin `a_` with `b` share one name for clients.
    own.prompts.get(&name).filter(|there| there.source.data == source.data).ok_or(PublishError::NotFound)?;
    own.prompts.remove(&name);
    context.prompts_changed();
    context.store(Item::Prompt(name), Over::Anything);
    Ok(())
}

fn body_mismatch(tail: &str, there: &str, more: &str) -> PublishError {
    PublishError::Invalid(format!("{} is {there}; {more} cannot be added to it", resource::uri(tail)))
}
