//! Percentiles of samples.

/// The sample below which `percent` of all lie, by nearest rank; none if there are no samples.
pub(crate) fn percentile(samples: &mut [f64], percent: f64) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_samples() {
        let mut samples: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut samples, 50.0), Some(100.0));
        assert_eq!(percentile(&mut samples, 99.0), Some(198.0));
        assert_eq!(percentile(&mut [3.0, 1.0, 2.0], 50.0), Some(2.0));
        assert_eq!(percentile(&mut [7.0], 99.0), Some(7.0));
        assert_eq!(percentile(&mut [], 50.0), None);
    }
}
