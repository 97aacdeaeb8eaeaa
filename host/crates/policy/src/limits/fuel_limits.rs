//! Limits of fuel per day: for all calls together, and for each principal.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// An absent limit means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FuelLimits {
    /// For all calls together. Bounds how much processor time the host spends for others in a day.
    pub per_day: Option<u64>,
    /// For the calls of one principal. Bounds what one principal takes from the others.
    pub per_principal: Option<u64>,
}

/// The owner of the fuel that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FuelOwner {
    Host,
    Principal,
}

/// The fuel for the day is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayUsedUp {
    pub owner: FuelOwner,
    /// Units per day.
    pub limit: u64,
    /// When the next day begins: seconds since 1970.
    pub until: u64,
}

impl FuelLimits {
    pub fn are_set(&self) -> bool {
        self.per_day.is_some() || self.per_principal.is_some()
    }

    pub fn per_day_of(&self, owner: FuelOwner) -> Option<u64> {
        match owner {
            FuelOwner::Host => self.per_day,
            FuelOwner::Principal => self.per_principal,
        }
    }

    /// Refuses impossible limits; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        match (self.per_day, self.per_principal) {
            (Some(0), _) | (_, Some(0)) => {
                Err("fuel.per-day and per-principal = 0 would let nobody call anything".into())
            }
            (Some(all), Some(one)) if one > all => {
                Err(format!("fuel.per-principal = {one} is more than all may use, {all} (fuel.per-day)"))
            }
            _ => Ok(()),
        }
    }
}

impl DayUsedUp {
    /// The end of the day, in the format of RFC 3339.
    pub fn until(&self) -> String {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(self.until)).to_string()
    }
}

impl fmt::Display for DayUsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, key) = match self.owner {
            FuelOwner::Host => ("the host may use", "per-day"),
            FuelOwner::Principal => ("you may use", "per-principal"),
        };
        let (limit, until) = (self.limit, self.until());
        write!(
            f,
            "all {limit} units of fuel that {what} in a day are used up until {until}; server.fuel.{key} sets how much"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_nothing_or_more_than_all() {
        let check = |text: &str| toml::from_str::<FuelLimits>(text).unwrap().check();
        for good in ["", "per-day = 5", "per-principal = 5", "per-day = 5\nper-principal = 5"] {
            check(good).unwrap();
        }
        for bad in ["per-day = 0", "per-principal = 0", "per-day = 5\nper-principal = 6"] {
            check(bad).unwrap_err();
        }
        assert!(toml::from_str::<FuelLimits>("per-hour = 5").is_err());
    }
}
