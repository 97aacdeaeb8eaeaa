//! `permissions.resources`: limits. Wassette enforces only memory, and that only as `limits.memory`.

use super::policy_text::Node;
use super::remarks::Remarks;
use bytesize::ByteSize;
use policy::Limits;

/// The limit of memory, if the policy sets one.
pub(super) fn translate(node: &Node, remarks: &mut Remarks) -> Option<ByteSize> {
    let mut memory = None;
    for (key, value) in node.members("resources", remarks) {
        match key.as_str() {
            "limits" => {
                for (key, value) in value.members("limits", remarks) {
                    match key.as_str() {
                        "memory" => memory = read_memory(value, remarks),
                        _ => explain(key, value, remarks),
                    }
                }
            }
            "memory" => {
                remarks.note(value.line, "`memory` has no unit and was never enforced; limits.memory is as for all")
            }
            _ => explain(key, value, remarks),
        }
    }
    memory
}

fn explain(key: &str, value: &Node, remarks: &mut Remarks) {
    match key {
        "cpu" => remarks.note(value.line, "`cpu` is a share of a processor; each call has limits.fuel instead"),
        "io" => {
            remarks.note(value.line, "`io` has no equivalent; see limits.file-growth and the limits of grants.http")
        }
        _ => remarks.leave_out(value.line, format!("resources has no key `{key}`")),
    }
}

fn read_memory(node: &Node, remarks: &mut Remarks) -> Option<ByteSize> {
    let parsed = node.text().and_then(parse);
    let Some(bytes) = parsed else {
        remarks.leave_out(node.line, "`memory` is no size such as 128Mi; limits.memory is as for all");
        return None;
    };
    let (asked, most) = (ByteSize::b(bytes), Limits::MEMORY_CEILING);
    if asked > most {
        remarks
            .note(node.line, format!("`memory` is more than a plugin can have, and becomes {}", most.display().iec()));
    }
    Some(asked.min(most))
}

/// A quantity as Kubernetes writes it.
fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
