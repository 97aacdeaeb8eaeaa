//! Decides who loses how much when the records of many do not fit: the one with the most loses, until it has no more than the
//! next.

/// Bytes of one principal's records of one class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) bytes: u64,
    /// A share may have this many times what a share of weight 1 may have.
    pub(super) weight: u64,
}

/// How many bytes each share must lose, in the order of the shares, so that all together have at most `room`. A share that is
/// smaller than an equal part loses nothing, however many and however large the others are.
pub(super) fn excesses(shares: &[Share], room: u64) -> Vec<u64> {
    let mut order: Vec<_> = shares.iter().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| (one.bytes * other.weight).cmp(&(other.bytes * one.weight)));
    let (mut left, mut weights) = (room, shares.iter().map(|share| share.weight).sum::<u64>());
    let mut excesses = vec![0; shares.len()];
    for (at, share) in order {
        let allowed = share.bytes.min(left * share.weight / weights.max(1));
        excesses[at] = share.bytes - allowed;
        (left, weights) = (left - allowed, weights - share.weight);
    }
    excesses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(shares: &[(u64, u64)], room: u64) -> Vec<u64> {
        let shares: Vec<_> = shares.iter().map(|&(bytes, weight)| Share { bytes, weight }).collect();
        let lost = excesses(&shares, room);
        let left: u64 = shares.iter().zip(&lost).map(|(share, lost)| share.bytes - lost).sum();
        assert!(left <= room, "{left} of {room}");
        lost
    }

    #[test]
    fn whoever_has_the_most_loses_first() {
        assert_eq!(lost(&[(10, 1), (20, 1)], 30), [0, 0], "all fits");
        assert_eq!(lost(&[(1_000, 1), (10, 1)], 100), [910, 0]);
        assert_eq!(lost(&[(1_000, 1), (10, 1), (500, 1)], 100), [955, 0, 455], "the two have the same then");
        assert_eq!(lost(&[(40, 1), (40, 1)], 0), [40, 40]);
        assert_eq!(lost(&[], 0), [0; 0]);
    }

    #[test]
    fn a_share_has_room_by_its_weight() {
        assert_eq!(lost(&[(1_000, 1), (1_000, 4)], 500), [900, 600]);
        assert_eq!(lost(&[(1_000, 1), (300, 4)], 500), [800, 0]);
    }
}
