//! CPU ranges as operators write them, and the sets that they name.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};
use thiserror::Error;

/// The highest CPU number that is accepted; Linux' own limit is 8192 (NR_CPUS
/// of the x86-64 kernels of Debian).
const MAX_CPU: u32 = 8191;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CpuRangeError {
    #[error(
        "`{0}` is not a CPU range: write `a-b`, `a-b:step`, single numbers, or a comma list of these"
    )]
    Form(String),
    #[error("`{0}` is not a CPU range: it ends before it begins")]
    Backwards(String),
    #[error("`{0}` is not a CPU range: the step must be at least 1")]
    Step(String),
    #[error("`{0}` is not a CPU range: CPU numbers end at {MAX_CPU}")]
    TooHigh(String),
    #[error("`{range}` names CPU {cpu} twice")]
    Twice { range: String, cpu: u32 },
    #[error("compute units `{first}` and `{second}` share CPU {cpu}")]
    Overlap {
        first: String,
        second: String,
        cpu: u32,
    },
    #[error("`{range}` names CPU {cpu}, but the server has only CPUs 0 to {last}", last = count.saturating_sub(1))]
    Beyond { range: String, cpu: u32, count: u32 },
}

/// A range as written, for example `0-6:2` or `0,2,4-5`, with the CPUs that it
/// names. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuRange {
    text: String,
    cpus: BTreeSet<u32>,
}

impl CpuRange {
    pub fn parse(s: &str) -> Result<Self, CpuRangeError> {
        let shown = s.escape_debug().to_string();
        let number = |t: &str| -> Result<u32, CpuRangeError> {
            if t.is_empty() || t.len() > 6 || !t.bytes().all(|b| b.is_ascii_digit()) {
                return Err(CpuRangeError::Form(shown.clone()));
            }
            let n = t
                .parse::<u32>()
                .map_err(|_| CpuRangeError::Form(shown.clone()))?;
            if n > MAX_CPU {
                return Err(CpuRangeError::TooHigh(shown.clone()));
            }
            Ok(n)
        };
        let mut cpus = BTreeSet::new();
        for part in s.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, number(step)?),
                None => (part, 1),
            };
            if step == 0 {
                return Err(CpuRangeError::Step(shown));
            }
            let (first, last) = match range.split_once('-') {
                Some((a, b)) => (number(a)?, number(b)?),
                None if part.contains(':') => return Err(CpuRangeError::Form(shown)),
                None => (number(range)?, number(range)?),
            };
            if last < first {
                return Err(CpuRangeError::Backwards(shown));
            }
            for cpu in (first..=last).step_by(step as usize) {
                if !cpus.insert(cpu) {
                    return Err(CpuRangeError::Twice { range: shown, cpu });
                }
            }
        }
        Ok(CpuRange {
            text: s.to_owned(),
            cpus,
        })
    }

    /// As the operator wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }

    pub fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.cpus.iter().copied()
    }

    /// The expanded comma list that playbooks get as `cpu_set`, for example
    /// `0,2,4`.
    pub fn cpu_set(&self) -> String {
        let list: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        list.join(",")
    }

    /// Checks against the number of CPUs that the server said it has.
    pub fn within(&self, count: u32) -> Result<(), CpuRangeError> {
        match self.cpus.iter().find(|c| **c >= count) {
            Some(&cpu) => Err(CpuRangeError::Beyond {
                range: self.text.clone(),
                cpu,
                count,
            }),
            None => Ok(()),
        }
    }

    /// The compute units of one server must not share a CPU.
    pub fn disjoint(ranges: &[CpuRange]) -> Result<(), CpuRangeError> {
        for (i, first) in ranges.iter().enumerate() {
            for second in &ranges[i + 1..] {
                if let Some(cpu) = first.cpus.intersection(&second.cpus).next() {
                    return Err(CpuRangeError::Overlap {
                        first: first.text.clone(),
                        second: second.text.clone(),
                        cpu: *cpu,
                    });
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for CpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl std::str::FromStr for CpuRange {
    type Err = CpuRangeError;

    fn from_str(s: &str) -> Result<Self, CpuRangeError> {
        CpuRange::parse(s)
    }
}

impl Serialize for CpuRange {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form_expands() {
        for (text, set, count) in [
            ("0", "0", 1),
            ("0-3", "0,1,2,3", 4),
            ("0-6:2", "0,2,4,6", 4),
            ("0-5:2", "0,2,4", 3),
            ("4,1", "1,4", 2),
            ("0-1,8-9:1,12", "0,1,8,9,12", 5),
            ("3-3", "3", 1),
        ] {
            let r = CpuRange::parse(text).unwrap();
            assert_eq!((r.cpu_set().as_str(), r.count()), (set, count), "{text}");
            assert_eq!(r.as_str(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            ",",
            "a",
            "1-",
            "-1",
            "3-1",
            "0-3:0",
            "0-3:",
            "0:2",
            "0-1,1",
            "9999",
            "0-99999999999",
            "0 - 3",
            "0-3:2:1",
            "+1",
            "0-3-5",
        ] {
            assert!(CpuRange::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shared_cpus_are_named() {
        let r = [
            CpuRange::parse("0-3").unwrap(),
            CpuRange::parse("4-7").unwrap(),
            CpuRange::parse("3").unwrap(),
        ];
        assert!(CpuRange::disjoint(&r[..2]).is_ok());
        assert_eq!(
            CpuRange::disjoint(&r).unwrap_err().to_string(),
            "compute units `0-3` and `3` share CPU 3"
        );
    }

    #[test]
    fn cpus_beyond_the_server_are_refused() {
        let r = CpuRange::parse("0-3").unwrap();
        assert!(r.within(4).is_ok());
        assert_eq!(
            r.within(2).unwrap_err().to_string(),
            "`0-3` names CPU 2, but the server has only CPUs 0 to 1"
        );
    }
}
