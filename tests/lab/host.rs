//! A disposable host, the program under test, and SSH as its tenants.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;

/// What a command gave.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub seconds: f32,
}

impl Ran {
    fn of(output: &Output, started: Instant) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            seconds: started.elapsed().as_secs_f32(),
        }
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "exit code {} instead of {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.code, self.stdout, self.stderr
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| {
            panic!(
                "{e}\n--- stdout\n{}\n--- stderr\n{}",
                self.stdout, self.stderr
            )
        })
    }

    /// Standard output without the last line end.
    pub fn text(&self) -> &str {
        self.stdout.trim_end()
    }
}

fn repo() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub struct Host {
    name: String,
    dir: PathBuf,
    pub port: u16,
    key: PathBuf,
}

impl Host {
    /// Boots one with a spare disk of `disk_gb` and the given forwards
    /// (`10.0.2.50:22`).
    pub fn boot(name: &str, arguments: &[&str], forwards: &[&str]) -> Host {
        let name = format!("{name}{}", std::process::id());
        let mut command = Command::new(repo().join("tests/lab/host"));
        command.args(["start", &name]).args(arguments);
        for f in forwards {
            command.args(["--forward", f]);
        }
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "the host did not boot");
        let text = String::from_utf8(output.stdout).unwrap();
        let value = |key: &str| {
            text.split_whitespace()
                .find_map(|p| p.strip_prefix(key)?.strip_prefix('='))
                .unwrap_or_else(|| panic!("no {key} in {text}"))
                .to_owned()
        };
        Host {
            dir: value("dir").into(),
            port: value("ssh_port").parse().unwrap(),
            key: value("key").into(),
            name,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn key(&self) -> &str {
        self.key.to_str().unwrap()
    }

    /// The local port that leads to `guest` (`10.0.2.50:22`).
    pub fn forward(&self, guest: &str) -> u16 {
        std::fs::read_to_string(self.dir.join("forwards"))
            .unwrap()
            .lines()
            .find_map(|l| l.strip_prefix(guest)?.trim().parse().ok())
            .unwrap()
    }

    /// As root on the host.
    pub fn root(&self, script: &str) -> Ran {
        ssh(
            self.port,
            "admin",
            &self.key,
            &format!("sudo bash -c {}", quoted(script)),
        )
    }

    /// Source addresses of TCP connections that the host opened to `port`.
    pub fn tcp_sources(&self, port: u16) -> Vec<String> {
        let output = Command::new(repo().join("tests/lab/host"))
            .args(["pcap", &self.name])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|l| l.contains(&format!(":{port}")))
            .map(str::to_owned)
            .collect()
    }

    /// As root, with this on its standard input; what it says meanwhile is shown.
    pub fn root_with_input(&self, script: &str, input: &[u8]) -> Ran {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, input).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let started = Instant::now();
        let output = ssh_command(
            self.port,
            "admin",
            &self.key,
            &format!("sudo bash -c {}", quoted(script)),
        )
        .stdin(file)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
        Ran::of(&output, started)
    }

    /// Restarts it, disks and all, and waits until it takes logins again.
    pub fn reboot(&self) {
        let boot = || self.root("cat /proc/sys/kernel/random/boot_id");
        let before = boot().ok().stdout;
        self.root("systemctl --no-block reboot");
        let started = Instant::now();
        loop {
            std::thread::sleep(std::time::Duration::from_secs(3));
            let now = boot();
            if now.code == 0 && now.stdout != before {
                break;
            }
            assert!(
                started.elapsed().as_secs() < 1200,
                "it did not come back: {}",
                now.stderr
            );
        }
        self.root("systemctl is-system-running --wait || systemctl --failed --no-legend");
        println!("  rebooted in {} s", started.elapsed().as_secs());
    }

    /// One that runs already, by its directory.
    pub fn at(dir: &Path) -> Host {
        let port = std::fs::read_to_string(dir.join("ssh_port")).unwrap();
        Host {
            name: dir.file_name().unwrap().to_str().unwrap().to_owned(),
            port: port.trim().parse().unwrap(),
            key: dir.join("id_ed25519"),
            dir: dir.to_owned(),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A command of `tests/lab/host` for this host, to be waited for.
    pub fn start_lab(&self, command: &str, arguments: &[&str]) -> std::process::Child {
        Command::new(repo().join("tests/lab/host"))
            .args([command, &self.name])
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The same, waited for.
    #[track_caller]
    pub fn lab(&self, command: &str, arguments: &[&str]) {
        let ended = self.start_lab(command, arguments).wait().unwrap();
        assert!(ended.success(), "`host {command}` failed");
    }
}

impl Host {
    /// The arguments that add it, each of its two CPUs a unit.
    pub fn adding(&self, profile: &str, more: &[&str]) -> Vec<String> {
        let port = self.port.to_string();
        let mut add = vec!["server", "add", &self.name, "--private-ip", "10.0.2.15"];
        // Reached through the port that leads to it.
        add.extend(["--public-ip", "127.0.0.1", "--port", &port]);
        add.extend(["--admin-user", "admin", "--region", "lab", "--zone", "a"]);
        add.extend(["--profile", profile, "--cu", "0", "1"]);
        add.extend(more);
        add.into_iter().map(str::to_owned).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new(repo().join("tests/lab/host"))
            .args(["kill", &self.name])
            .output();
    }
}

pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn ssh(port: u16, user: &str, key: &Path, command: &str) -> Ran {
    let started = Instant::now();
    let output = ssh_command(port, user, key, command).output().unwrap();
    Ran::of(&output, started)
}

fn ssh_command(port: u16, user: &str, key: &Path, script: &str) -> Command {
    let mut command = Command::new("ssh");
    command
        .args(["-p", &port.to_string(), "-i"])
        .arg(key)
        .args([
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=30",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ])
        .arg(format!("{user}@127.0.0.1"))
        .arg(script)
        .stdin(Stdio::null());
    command
}

/// A tenant with a key of its own.
pub struct Tenant {
    pub user: String,
    key: PathBuf,
    port: u16,
}

impl Tenant {
    /// With the key that is in `dir` already, else a new one.
    pub fn new(user: &str, dir: &Path, port: u16) -> Tenant {
        let key = dir.join(user);
        if key.exists() {
            return Tenant {
                user: user.to_owned(),
                key,
                port,
            };
        }
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", user, "-f"])
            .arg(&key)
            .status()
            .unwrap();
        assert!(made.success());
        Tenant {
            user: user.to_owned(),
            key,
            port,
        }
    }

    pub fn public_key(&self) -> PathBuf {
        self.key.with_extension("pub")
    }

    /// Over SSH, at the tenant's own address.
    pub fn run(&self, script: &str) -> Ran {
        ssh(self.port, &self.user, &self.key, script)
    }

    /// What the tenant must not be able to do.
    #[track_caller]
    pub fn refused(&self, script: &str) {
        let ran = self.run(script);
        assert_ne!(ran.code, 0, "`{script}` went through:\n{}", ran.stdout);
        assert_ne!(ran.code, 255, "ssh itself failed: {}", ran.stderr);
    }

    pub fn key(&self) -> &Path {
        &self.key
    }

    fn client(&self, program: &str, port_option: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args([port_option, &self.port.to_string(), "-i"])
            .arg(&self.key);
        for option in [
            "IdentitiesOnly=yes",
            "BatchMode=yes",
            "ConnectTimeout=30",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
        ] {
            command.args(["-o", option]);
        }
        command
    }

    /// Over SSH with options of the test's own; an empty command is a login.
    pub fn ssh(&self, options: &[&str], command: &str, input: &str) -> Ran {
        let mut ssh = self.client("ssh", "-p");
        ssh.args(options)
            .arg(format!("{}@127.0.0.1", self.user))
            .args((!command.is_empty()).then_some(command));
        fed(ssh, input)
    }

    /// scp; a path that begins with the user and a colon is the tenant's.
    pub fn copy(&self, options: &[&str], from: &[&str], to: &str) -> Ran {
        let full = |path: &str| {
            path.strip_prefix(&format!("{}:", self.user)).map_or_else(
                || path.to_owned(),
                |there| format!("{}@127.0.0.1:{there}", self.user),
            )
        };
        let mut scp = self.client("scp", "-P");
        scp.args(options)
            .args(from.iter().map(|p| full(p)))
            .arg(full(to));
        fed(scp, "")
    }

    pub fn sftp(&self, batch: &str) -> Ran {
        let mut sftp = self.client("sftp", "-P");
        sftp.args(["-b", "-"])
            .arg(format!("{}@127.0.0.1", self.user));
        fed(sftp, batch)
    }

    /// Runs a script here while ssh forwards; PORT in both is a free local port.
    pub fn forwarded(&self, options: &[&str], script: &str) -> Ran {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|l| l.local_addr())
            .unwrap()
            .port()
            .to_string();
        let mut ssh = self.client("ssh", "-p");
        let mut forward = ssh
            .args(options.iter().map(|o| o.replace("PORT", &port)))
            .arg("-N")
            .arg(format!("{}@127.0.0.1", self.user))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-c", &script.replace("PORT", &port)]);
        let ran = fed(bash, "");
        forward.kill().unwrap();
        forward.wait().unwrap();
        ran
    }
}

/// Runs it with this on its standard input.
fn fed(mut command: Command, input: &str) -> Ran {
    use std::io::Write;
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who ended before reading it all says so by its exit code.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran::of(&child.wait_with_output().unwrap(), started)
}

/// The program with a store of its own.
pub struct Kloigos {
    pub dir: tempfile::TempDir,
}

impl Kloigos {
    pub fn new() -> Self {
        Kloigos {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kloigos"));
        command
            .args(arguments)
            .env("KLOIGOS_HOME", self.dir.path().join("store"))
            // An emulated host beside others was seen to take 23 s for a sudo.
            .env("ANSIBLE_TIMEOUT", "90")
            .stdin(Stdio::null());
        command
    }

    /// Adds the host, each of its two CPUs a unit.
    pub fn add_server(&self, host: &Host, profile: &str, more: &[&str]) -> Ran {
        let add = host.adding(profile, more);
        self.run(&add.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        let started = Instant::now();
        let output = self.command(arguments).output().unwrap();
        let ran = Ran::of(&output, started);
        println!(
            "  kloigos {}: exit {}, {:.1} s",
            arguments.join(" "),
            ran.code,
            ran.seconds
        );
        ran
    }

    /// The JSON of a command that must succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        self.run(&all).ok().json()
    }
}
