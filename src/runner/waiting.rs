//! Who waits for whom, when a run that already has hosts asks for more.
//!
//! A run that has nothing yet asks for all its hosts at once and in turn, so
//! such runs never wait in a circle. One that has some and asks for more, as a
//! play that adds hosts does, may: for a run that stands before it in line but
//! cannot go on before it ends (that one is overtaken, which costs it nothing),
//! or for a run that has what it wants and wants what it has (the youngest of
//! such a circle gives way).

use std::collections::BTreeSet;

use crate::domain::run::RunId;

/// One run's place in the line for one host, in the order of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) run: RunId,
    pub(super) held: bool,
}

pub(super) struct Waiting<'p> {
    line: &'p [Place],
}

impl<'p> Waiting<'p> {
    /// Of live runs only.
    pub(super) fn of(line: &'p [Place]) -> Self {
        Waiting { line }
    }

    /// Runs for which `run` waits directly: those that have what it wants and,
    /// unless `held_only`, those that stand before it.
    fn direct(&self, run: RunId, held_only: bool) -> BTreeSet<RunId> {
        let mut found = BTreeSet::new();
        for (at, mine) in self.line.iter().enumerate() {
            if mine.run != run || mine.held {
                continue;
            }
            for (before, other) in self.line.iter().enumerate() {
                if other.host == mine.host
                    && other.run != run
                    && (other.held || (!held_only && before < at))
                {
                    found.insert(other.run);
                }
            }
        }
        found
    }

    /// Runs for which `run` waits, directly or through others.
    fn all(&self, run: RunId, held_only: bool) -> BTreeSet<RunId> {
        let mut found = BTreeSet::new();
        let mut todo = vec![run];
        while let Some(next) = todo.pop() {
            for other in self.direct(next, held_only) {
                if found.insert(other) {
                    todo.push(other);
                }
            }
        }
        found
    }

    /// Runs before `run` in line that cannot go on before it ends.
    pub(super) fn overtaken_by(&self, run: RunId) -> BTreeSet<RunId> {
        self.direct(run, false)
            .into_iter()
            .filter(|other| self.all(*other, false).contains(&run))
            .collect()
    }

    /// Whether `run` is the youngest of a circle that would wait for ever.
    pub(super) fn must_give_way(&self, run: RunId) -> bool {
        let circle: BTreeSet<RunId> = self
            .all(run, true)
            .into_iter()
            .filter(|other| self.all(*other, true).contains(&run))
            .collect();
        circle.last() == Some(&run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1:a" has host a, "2?a" waits for it, in the order of the line.
    fn line(places: &str) -> Vec<Place> {
        places
            .split_whitespace()
            .map(|p| {
                let at = p.find([':', '?']).unwrap();
                Place {
                    host: p[at + 1..].to_owned(),
                    run: RunId(p[..at].parse().unwrap()),
                    held: p.as_bytes()[at] == b':',
                }
            })
            .collect()
    }

    fn givers(places: &str, runs: std::ops::RangeInclusive<i64>) -> Vec<i64> {
        let line = line(places);
        runs.filter(|r| Waiting::of(&line).must_give_way(RunId(*r)))
            .collect()
    }

    fn overtaken(places: &str, run: i64) -> Vec<i64> {
        let line = line(places);
        Waiting::of(&line)
            .overtaken_by(RunId(run))
            .into_iter()
            .map(|r| r.0)
            .collect()
    }

    #[test]
    fn plain_waiting_makes_nobody_give_way() {
        assert_eq!(givers("1:a 2?a 3?a 3?b", 1..=3), [] as [i64; 0]);
        assert_eq!(overtaken("1:a 2?a 3?a", 3), [] as [i64; 0]);
        assert_eq!(overtaken("1:a 2?b 3:b 1?b", 1), [] as [i64; 0]);
    }

    #[test]
    fn the_youngest_of_a_circle_gives_way_however_long_it_is() {
        assert_eq!(givers("1:a 2:b 1?b 2?a", 1..=2), [2]);
        assert_eq!(givers("2:a 1:b 2?b 1?a", 1..=2), [2]);
        assert_eq!(givers("1:a 2:b 3:c 1?b 2?c 3?a", 1..=3), [3]);
        // One that only waits for the circle is not in it.
        assert_eq!(givers("1:a 2:b 1?b 2?a 3?a", 1..=3), [2]);
    }

    #[test]
    fn one_that_cannot_go_on_first_anyway_is_overtaken() {
        // 2 stands before 1 for b, but wants a as well, which 1 has.
        assert_eq!(overtaken("1:a 2?a 2?b 1?b", 1), [2]);
        assert_eq!(givers("1:a 2?a 2?b 1?b", 1..=2), [] as [i64; 0]);
        // Through a third one.
        assert_eq!(overtaken("1:a 3?a 3?c 2?c 2?b 1?b", 1), [2]);
    }
}
