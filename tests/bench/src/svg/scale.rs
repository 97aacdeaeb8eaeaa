//! Scales: where a value lies on an axis, and which values the axis names.

/// A range of values, drawn along an axis.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
}

impl Scale {
    /// From zero to a round number that is not below `highest`.
    pub(super) fn linear(highest: f64) -> Self {
        let step = step(highest);
        let to = if step > 0.0 { (highest / step).ceil() * step } else { 1.0 };
        Self { from: 0.0, to, kind: Kind::Linear }
    }

    /// Between two powers of two that enclose all values.
    pub(super) fn powers_of_two(values: impl Iterator<Item = f64> + Clone) -> Self {
        let lowest = values.clone().fold(f64::INFINITY, f64::min).log2().floor();
        let highest = values.fold(f64::NEG_INFINITY, f64::max).log2().ceil();
        Self { from: lowest.exp2(), to: highest.max(lowest + 1.0).exp2(), kind: Kind::Logarithmic }
    }

    /// The place of a value: 0 at the start of the axis, 1 at its end.
    pub(super) fn place(self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => (value - self.from) / (self.to - self.from),
            Kind::Logarithmic => (value / self.from).log2() / (self.to / self.from).log2(),
        }
    }

    /// The values to name.
    pub(super) fn ticks(self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = step(self.to);
                let count = (self.to / step).round() as usize;
                (0..=count).map(|number| number as f64 * step).collect()
            }
            Kind::Logarithmic => {
                let (from, to) = (self.from.log2().round() as i32, self.to.log2().round() as i32);
                (from..=to).map(|power| f64::from(power).exp2()).collect()
            }
        }
    }
}

/// The distance of ticks, 1, 2 or 5 times a power of ten, that makes three to six steps up to `highest`.
fn step(highest: f64) -> f64 {
    if highest.is_nan() || highest <= 0.0 {
        return 0.0;
    }
    let rough = highest / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let wanted = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    wanted.unwrap_or(10.0) * power
}

/// A number on an axis: short, without zeros at its end.
pub(super) fn short(value: f64) -> String {
    let (value, suffix) = if value >= 10_000.0 { (value / 1_000.0, "k") } else { (value, "") };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let axis = |highest: f64| {
            let scale = Scale::linear(highest);
            scale.ticks().into_iter().map(short).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(axis(1000.0), "0 200 400 600 800 1000");
        assert_eq!(axis(23_700.0), "0 5000 10k 15k 20k 25k");
        assert_eq!(axis(0.31), "0 0.1 0.2 0.3 0.4");
        assert_eq!(axis(64.0), "0 20 40 60 80");
        assert_eq!(axis(0.0), "0 0.2 0.4 0.6 0.8 1");
        assert!((Scale::linear(1000.0).place(250.0) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn logarithmic_axes_end_at_powers_of_two() {
        let scale = Scale::powers_of_two([0.3, 3.0].into_iter());
        assert_eq!(scale.ticks(), [0.25, 0.5, 1.0, 2.0, 4.0]);
        assert!((scale.place(1.0) - 0.5).abs() < 1e-9);
        assert_eq!(Scale::powers_of_two([1.0, 1.0].into_iter()).ticks(), [1.0, 2.0]);
    }
}
