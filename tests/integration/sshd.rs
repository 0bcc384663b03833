//! A real SSH server on a loopback address, which lets in the user who runs
//! the tests, by one key.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Sshd {
    dir: tempfile::TempDir,
    pub address: &'static str,
    pub port: u16,
    /// Further lines of its configuration.
    more: String,
    child: Option<Child>,
}

pub fn keygen(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status()
        .unwrap();
    assert!(made.success());
}

impl Sshd {
    /// Lets in whoever has the key of [`Sshd::key`].
    pub fn start(address: &'static str) -> Self {
        Sshd::with(address, "")
    }

    /// Lets in by certificates of this authority, and by nothing else.
    pub fn trusting(address: &'static str, authority: &Path) -> Self {
        let sshd = Sshd::with(
            address,
            &format!("TrustedUserCAKeys {}\n", authority.display()),
        );
        sshd.forget_keys();
        sshd
    }

    fn with(address: &'static str, more: &str) -> Self {
        let free = std::net::TcpListener::bind((address, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut sshd = Sshd {
            dir: tempfile::tempdir().unwrap(),
            address,
            port,
            more: more.to_owned(),
            child: None,
        };
        keygen(&sshd.key());
        std::fs::copy(
            sshd.key().with_extension("pub"),
            sshd.path("authorized_keys"),
        )
        .unwrap();
        keygen(&sshd.path("host_key"));
        sshd.run();
        sshd
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The private key that is let in.
    pub fn key(&self) -> PathBuf {
        self.path("id_ed25519")
    }

    pub fn port_text(&self) -> String {
        self.port.to_string()
    }

    fn run(&mut self) {
        if rustix::process::geteuid().is_root() {
            // Where Debian's sshd separates its privileges.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let config = self.path("sshd_config");
        std::fs::write(
            &config,
            format!(
                "Port {}\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\n{}",
                self.port,
                self.address,
                self.path("host_key").display(),
                self.path("authorized_keys").display(),
                self.more,
            ),
        )
        .unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(&config)
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(self.path("log")).unwrap())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let started = Instant::now();
        while TcpStream::connect((self.address, self.port)).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "sshd does not listen: {}",
                std::fs::read_to_string(self.path("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// The same address with another host key, as after a reinstallation.
    pub fn reinstall(&mut self) {
        self.stop();
        for name in ["host_key", "host_key.pub"] {
            std::fs::remove_file(self.path(name)).unwrap();
        }
        keygen(&self.path("host_key"));
        self.run();
    }

    /// As known_hosts has it.
    pub fn known_host(&self) -> String {
        let key = std::fs::read_to_string(self.path("host_key.pub")).unwrap();
        format!("[{}]:{} {key}", self.address, self.port)
    }

    /// Nobody's key is let in any more.
    pub fn forget_keys(&self) {
        std::fs::write(self.path("authorized_keys"), "").unwrap();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}
