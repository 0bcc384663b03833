//! Host keys at first contact, and sessions as a tenant.

use std::ffi::OsString;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ansible::launch::known_hosts_option;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::fs::{self, FsError};
use crate::paths::Paths;

/// As known_hosts names it: the address alone for port 22.
fn host_name(address: IpAddr, port: u16) -> String {
    if port == 22 {
        address.to_string()
    } else {
        format!("[{address}]:{port}")
    }
}

fn program(env: &Env, name: &str) -> Result<PathBuf, Error> {
    env.find_program(name).ok_or_else(|| {
        Error::new(Kind::Ansible, format!("`{name}` is not on PATH"))
            .hint("install it: `apt install openssh-client`")
    })
}

fn output(env: &Env, name: &str, arguments: &[&str]) -> Result<String, Error> {
    let path = program(env, name)?;
    let output = Command::new(&path)
        .args(arguments)
        .env_clear()
        .envs(env.all())
        .stdin(Stdio::null())
        .output()
        .map_err(FsError::of("start", &path))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Type and fingerprint of each accepted key of the host, as in
/// "ED25519 SHA256:…".
pub fn known_host_keys(
    env: &Env,
    paths: &Paths,
    address: IpAddr,
    port: u16,
) -> Result<Vec<String>, Error> {
    let file = paths.known_hosts();
    if !file.exists() {
        return Ok(Vec::new());
    }
    let file = file.to_string_lossy().into_owned();
    // # Host 10.0.0.1 found: line 1
    // 10.0.0.1 ED25519 SHA256:…
    let name = host_name(address, port);
    let said = output(env, "ssh-keygen", &["-l", "-F", &name, "-f", &file])?;
    Ok(said
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| {
            let mut words = l.split_whitespace().skip(1);
            Some(format!("{} {}", words.next()?, words.next()?))
        })
        .collect())
}

/// Drops what was accepted: the address may be another machine's next time.
pub fn forget_host_key(env: &Env, paths: &Paths, address: IpAddr, port: u16) -> Result<(), Error> {
    let file = paths.known_hosts();
    if file.exists() {
        let text = file.to_string_lossy().into_owned();
        output(
            env,
            "ssh-keygen",
            &["-R", &host_name(address, port), "-f", &text],
        )?;
        // It keeps a copy of the file as it was.
        let _ = std::fs::remove_file(file.with_extension("old"));
    }
    Ok(())
}

/// Accepts the keys that the host shows, if none is known yet. Gives those
/// that are new.
pub fn learn_host_key(
    env: &Env,
    paths: &Paths,
    address: IpAddr,
    port: u16,
) -> Result<Vec<String>, Error> {
    if !known_host_keys(env, paths, address, port)?.is_empty() {
        return Ok(Vec::new());
    }
    let scanned = output(
        env,
        "ssh-keyscan",
        &[
            "-T",
            "5",
            "-p",
            &port.to_string(),
            "-t",
            "ed25519,ecdsa,rsa",
            &address.to_string(),
        ],
    )?;
    let lines: Vec<&str> = scanned
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
        .collect();
    if lines.is_empty() {
        return Err(Error::new(
            Kind::Local,
            format!("no ssh server answers at {}", host_name(address, port)),
        ));
    }
    fs::create_private_dir(&paths.ansible())?;
    let path = paths.known_hosts();
    let mut file = fs::open_lock_file(&path)?;
    file.lock().map_err(FsError::of("lock", &path))?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))
        .and_then(|_| file.write_all(format!("{}\n", lines.join("\n")).as_bytes()))
        .map_err(FsError::of("write", &path))?;
    drop(file);
    known_host_keys(env, paths, address, port)
}

/// The command line of an interactive or single-command session.
pub fn ssh_session(
    env: &Env,
    paths: &Paths,
    user: &str,
    address: IpAddr,
    port: u16,
    identity: Option<&Path>,
    command: &[String],
) -> Result<Vec<OsString>, Error> {
    let mut argv: Vec<OsString> = vec![
        program(env, "ssh")?.into(),
        "-p".into(),
        port.to_string().into(),
        "-l".into(),
        user.into(),
        "-o".into(),
        known_hosts_option(&paths.known_hosts()).into(),
        "-o".into(),
        "StrictHostKeyChecking=yes".into(),
    ];
    if let Some(identity) = identity {
        argv.push("-i".into());
        argv.push(identity.into());
        argv.push("-o".into());
        argv.push("IdentitiesOnly=yes".into());
    }
    argv.push(address.to_string().into());
    if !command.is_empty() {
        argv.push("--".into());
        argv.extend(command.iter().map(OsString::from));
    }
    Ok(argv)
}
