//! What a trip is like and what it costs. All made up of the letters of its destination: always the same for the same
//! place, and without a network.

/// A trip on offer.
pub(crate) struct Offer {
    pub(crate) flight: String,
    /// How far ahead the flight is.
    pub(crate) weeks: u32,
    /// The numbers of the destination's letters in the alphabet, summed up.
    letters: u32,
}

impl Offer {
    /// A flight there.
    pub(crate) fn to(destination: &str) -> Self {
        // In ASCII the lowest five bits of a letter, large or small, are its number; elsewhere they will do.
        let letters = destination.chars().filter(|c| c.is_alphabetic()).map(|c| u32::from(c) % 32).sum();
        Self { flight: format!("PC{}", 100 + letters), weeks: 0, letters }
    }

    /// Finds the next free date.
    pub(crate) fn find_date(&mut self) {
        self.weeks = 2 + self.letters % 8;
    }

    /// What it costs: 1200 for Paris.
    pub(crate) fn price(&self) -> u32 {
        570 + 10 * self.letters
    }
}
