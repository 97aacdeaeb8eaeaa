//! Merges repeated steps of a timeline, such as 300 rounds of a call and its own steps, into one round.

use mcp::{Timeline, TimelineStep};

/// Most steps of a round.
const MOST_STEPS: usize = 8;
/// Fewest rounds that are merged: fewer are as easy to read one by one.
const LEAST_ROUNDS: usize = 4;

/// The same timeline, with one round in place of many. A step of it begins with the first of the merged steps, ends with the
/// last, and has the sum of their times.
pub(super) fn put_together(timeline: &Timeline) -> Timeline {
    let gap = usize::try_from(timeline.more_after).unwrap_or(usize::MAX).min(timeline.steps.len());
    // A round does not extend across steps that are not listed.
    let (before, after) = timeline.steps.split_at(if timeline.more > 0 { gap } else { timeline.steps.len() });
    let mut steps = rounds(before);
    let more_after = steps.len() as u64;
    steps.extend(rounds(after));
    Timeline { steps, more_after, samples: timeline.samples.clone(), ..*timeline }
}

fn rounds(steps: &[TimelineStep]) -> Vec<TimelineStep> {
    let (mut shown, mut rest) = (Vec::new(), steps);
    while !rest.is_empty() {
        let (length, times) = best_round(rest);
        shown.extend((0..length).map(|at| sum(rest[..length * times].iter().skip(at).step_by(length))));
        rest = &rest[length * times..];
    }
    shown
}

/// The length of the round that covers the most, and how often it is done. A single step if nothing is repeated.
fn best_round(steps: &[TimelineStep]) -> (usize, usize) {
    let mut best = (1, 1);
    for length in 1..=MOST_STEPS.min(steps.len() / LEAST_ROUNDS) {
        let first = &steps[..length];
        // A round consists of whole calls.
        if first.iter().any(|step| step.depth < first[0].depth || step.ends.is_none()) {
            break;
        }
        let is_same = |round: &&[TimelineStep]| round.len() == length && round.iter().zip(first).all(is_alike);
        let times = steps.chunks(length).take_while(is_same).count();
        // A last round that has more steps than the others is not merged with them.
        let is_last_longer = steps.get(length * times).is_some_and(|next| next.depth > first[0].depth);
        let times = times - usize::from(is_last_longer);
        if times >= LEAST_ROUNDS && length * times > best.0 * best.1 {
            best = (length, times);
        }
    }
    best
}

fn is_alike((one, other): (&TimelineStep, &TimelineStep)) -> bool {
    one.depth == other.depth
        && one.import == other.import
        && one.name == other.name
        && one.waits == other.waits
        && one.ends.is_some()
}

fn sum<'a>(steps: impl Iterator<Item = &'a TimelineStep>) -> TimelineStep {
    let all = steps.cloned().reduce(|all, step| TimelineStep {
        ends: step.ends,
        took: all.took.saturating_add(step.took),
        times: all.times.saturating_add(step.times),
        ..all
    });
    all.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(steps: &[(u32, &str)]) -> Timeline {
        let step = |(at, (depth, import)): (usize, &(u32, &str))| {
            let begins = 10 * at as u64;
            let (import, ends) = ((*import).to_owned(), Some(begins + 3));
            TimelineStep { depth: *depth, import, begins, ends, took: 3, times: 1, ..TimelineStep::default() }
        };
        Timeline { steps: steps.iter().enumerate().map(step).collect(), ..Timeline::default() }
    }

    fn shown(timeline: &Timeline) -> Vec<String> {
        let line = |step: &TimelineStep| format!("{}{} x{}", " ".repeat(step.depth as usize), step.import, step.times);
        put_together(timeline).steps.iter().map(line).collect()
    }

    #[test]
    fn rounds_are_one_round() {
        let mut steps = vec![(0, "begin")];
        steps.extend([(0, "call"), (1, "get"), (1, "set")].repeat(100));
        steps.extend([(0, "call"), (1, "get"), (0, "emit")]);
        let all = timeline(&steps);
        assert_eq!(shown(&all), ["begin x1", "call x100", " get x100", " set x100", "call x1", " get x1", "emit x1"]);
        let call = &put_together(&all).steps[1];
        assert_eq!((call.begins, call.ends, call.took), (10, Some(2_983), 300));
        assert_eq!(shown(&timeline(&[(0, "a"); 300])), ["a x300"]);
        assert_eq!(shown(&timeline(&[(0, "a"); 3])), ["a x1"; 3], "few are shown one by one");
    }

    #[test]
    fn what_differs_stays() {
        let mut all = timeline(&[(0, "a"); 8]);
        all.steps[3].name = Some("other".into());
        all.steps[7].ends = None;
        assert_eq!(shown(&all), ["a x1"; 8]);
        assert_eq!(shown(&timeline(&[[(0, "a"); 5].as_slice(), &[(1, "b")]].concat())), ["a x4", "a x1", " b x1"]);
        let (mut cut, all) = (timeline(&[(0, "a"); 8]), timeline(&[(0, "a"); 8]));
        (cut.more, cut.more_after) = (9, 4);
        assert_eq!((shown(&cut), put_together(&cut).more_after), (vec!["a x4".to_owned(); 2], 1));
        assert_eq!(shown(&all), ["a x8"]);
    }
}
