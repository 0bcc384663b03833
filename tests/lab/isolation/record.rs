//! Attempts run many at a time, each with its control, and what came of them.

use std::fmt::Write as _;

use crate::host::{Host, Tenant, quoted};

/// Who must get through with the same script.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Control {
    /// A user of the host that is no tenant.
    Plain,
    Root,
    /// The attempt itself would do harm, or tells by its words.
    None,
}

pub struct Attempt {
    pub name: &'static str,
    pub script: String,
    pub control: Control,
}

pub fn attempt(name: &'static str, control: Control, script: impl Into<String>) -> Attempt {
    Attempt {
        name,
        script: script.into(),
        control,
    }
}

/// A Python script as one word of the shell.
pub fn python(script: &str) -> String {
    format!("python3 -c {}", quoted(script))
}

/// Code of every script of a batch with what it said.
pub type Told = Vec<(i32, String)>;

/// One script that runs them all, each by itself, and frames what they say.
pub fn batch<'a>(scripts: impl Iterator<Item = &'a str>) -> String {
    let mut whole = String::from(
        "export SESSION=$PPID PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n\
         cd /tmp\n\
         try() { said=$(timeout -k 1 90 bash -c \"$2\" </dev/null 2>&1); code=$?; \
         printf '@@%s %s\\n%s\\n' \"$1\" $code \"${said:0:400}\"; }\n",
    );
    for (number, script) in scripts.enumerate() {
        writeln!(whole, "try {number} {}", quoted(script)).unwrap();
    }
    whole.push_str("echo @@end\n");
    whole
}

#[track_caller]
pub fn told(text: &str, count: usize) -> Told {
    let mut found: Told = Vec::new();
    let mut ended = false;
    for line in text.lines() {
        if line == "@@end" {
            ended = true;
        } else if let Some(head) = line.strip_prefix("@@") {
            let (number, code) = head.split_once(' ').unwrap();
            assert_eq!(number, found.len().to_string(), "{text}");
            found.push((code.parse().unwrap(), String::new()));
        } else if let Some((_, said)) = found.last_mut() {
            said.push_str(line);
            said.push(' ');
        }
    }
    assert!(
        ended && found.len() == count,
        "the batch was cut short:\n{text}"
    );
    found
}

/// Everything that was tried, and what did not go as it must.
#[derive(Default)]
pub struct Record {
    pub tried: usize,
    pub wrong: Vec<String>,
}

impl Record {
    pub fn note(&mut self, name: &str, problem: Option<String>) {
        self.tried += 1;
        match problem {
            None => println!("  ok      {name}"),
            Some(problem) => {
                println!("  WRONG   {name}: {problem}");
                self.wrong.push(format!("{name}: {problem}"));
            }
        }
    }

    /// Runs the attempts as `tenant` and as their controls.
    pub fn refused(&mut self, host: &Host, tenant: &Tenant, title: &str, attempts: &[Attempt]) {
        println!("== refused: {title}");
        let scripts = || attempts.iter().map(|a| a.script.as_str());
        let as_tenant = told(&tenant.run(&batch(scripts())).stdout, attempts.len());
        let by = |control: Control| {
            let chosen: Vec<&str> = attempts
                .iter()
                .filter(|a| a.control == control)
                .map(|a| a.script.as_str())
                .collect();
            if chosen.is_empty() {
                return Vec::new();
            }
            let script = batch(chosen.iter().copied());
            let ran = if control == Control::Root {
                host.root(&script)
            } else {
                host.root(&format!(
                    "cd /; runuser -u mallory -- bash -c {}",
                    quoted(&script)
                ))
            };
            told(&ran.stdout, chosen.len())
        };
        let (mut plain, mut root) = (
            by(Control::Plain).into_iter(),
            by(Control::Root).into_iter(),
        );
        for (a, (code, said)) in attempts.iter().zip(as_tenant) {
            let control = match a.control {
                Control::Plain => plain.next(),
                Control::Root => root.next(),
                Control::None => None,
            };
            let problem = match (code, control) {
                (0, _) => Some(format!("it got through: {said}")),
                (124 | 127, _) => Some(format!("it proves nothing ({code}): {said}")),
                (_, Some((control, said))) if control != 0 => Some(format!(
                    "its control ({:?}) did not get through ({control}): {said}",
                    a.control
                )),
                _ => None,
            };
            self.note(a.name, problem);
        }
    }

    /// What the tenant may do: name, script, and what its output must have.
    pub fn works(&mut self, tenant: &Tenant, title: &str, cases: &[(&str, String, &str)]) {
        println!("== works: {title}");
        let ran = tenant.run(&batch(cases.iter().map(|c| c.1.as_str())));
        for ((name, _, wanted), (code, said)) in cases.iter().zip(told(&ran.stdout, cases.len())) {
            let problem = (code != 0 || !said.contains(wanted))
                .then(|| format!("exit {code}, wanted `{wanted}`: {said}"));
            self.note(name, problem);
        }
    }

    pub fn check(&mut self, name: &str, good: bool, otherwise: impl Into<String>) {
        self.note(name, (!good).then(|| otherwise.into()));
    }
}
