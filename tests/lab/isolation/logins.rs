//! Logins, copies, forwarding, and what an honest tenant does.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::inside::ptrace;
use super::record::{Record, python};
use super::{DB, Lab, WEB};
use crate::host::{Tenant, quoted};

/// Whatever the tenant leaves for sshd, the shell and systemd to read runs
/// confined, or not at all.
pub fn startup_files(lab: &Lab, record: &mut Record) {
    println!("== refused: what logins read from its home");
    let evil = |name: &str| {
        format!(
            "echo {name} $(cat /proc/self/attr/current) $(grep NoNewPrivs /proc/self/status) >> ~/trace; cat /srv/open/file > ~/stolen-{name} 2>/dev/null"
        )
    };
    let mut script = String::from(
        "mkdir -p ~/.config/environment.d; echo PATH=/home/web:/usr/bin > ~/.config/environment.d/x.conf\n",
    );
    for (name, path) in [
        ("bashrc", ".bashrc"),
        ("profile", ".bash_profile"),
        ("rc", ".ssh/rc"),
        ("bash-env", "bash-env"),
    ] {
        writeln!(script, "echo {} > ~/{path}", quoted(&evil(name))).unwrap();
    }
    script.push_str("echo BASH_ENV=/home/web/bash-env > ~/.ssh/environment\n");
    lab.web.run(&script).ok();

    let keys = lab.k.dir.path().join("second");
    std::fs::create_dir(&keys).unwrap();
    let second = Tenant::new("web", &keys, lab.host.forward(&format!("{WEB}:22")));
    let public = std::fs::read_to_string(second.public_key()).unwrap();
    let line = format!(
        "command=\"{}\",environment=\"BASH_ENV=/home/web/bash-env\",tunnel=\"0\" {}",
        evil("command"),
        public.trim()
    );
    lab.web
        .run(&format!("echo {} >> ~/.ssh/authorized_keys", quoted(&line)))
        .ok();
    second.run("true");
    lab.web.run("true");
    lab.web.ssh(&["-tt"], "", "exit\n");
    let found = lab
        .web
        .run("cat ~/trace; cat ~/stolen-*; rm -rf ~/trace ~/stolen-* ~/.bashrc ~/.bash_profile ~/.ssh/rc ~/.ssh/environment ~/.config; sed -i /command=/d ~/.ssh/authorized_keys");
    let text = found.stdout;
    for name in ["bashrc", "profile", "command"] {
        record.check(
            &format!("{name} had its turn, confined"),
            text.lines().any(|l| l.starts_with(&format!("{name} "))),
            &text,
        );
    }
    for name in ["rc ", "bash-env "] {
        record.check(
            &format!("sshd passes over {name}"),
            !text.lines().any(|l| l.starts_with(name)),
            &text,
        );
    }
    record.check(
        "every one of them ran under the profile and without privileges",
        text.lines()
            .all(|l| l.contains("kloigos-web (enforce) NoNewPrivs: 1")),
        &text,
    );
    record.check(
        "none read what is open to all",
        !text.contains("secret"),
        &text,
    );
}

pub fn ssh_features(lab: &Lab, record: &mut Record) {
    println!("== ssh: copies and forwarding");
    let dir = lab.k.dir.path();
    let local = dir.join("up");
    std::fs::write(&local, "over the wire\n").unwrap();
    let (local, down) = (local.to_str().unwrap(), dir.join("down"));
    let down = down.to_str().unwrap();
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();

    for (name, options) in [("scp", &[][..]), ("scp -O", &["-O"][..])] {
        let up = lab.web.copy(options, &[local], "web:copied");
        let back = lab.web.copy(options, &["web:copied"], down);
        record.check(
            name,
            read(down) == "over the wire\n",
            up.stderr + &back.stderr,
        );
        let _ = std::fs::remove_file(down);
    }
    let out = lab.web.copy(&[], &["web:/srv/open/file"], down);
    record.check(
        "scp of what is open to all: refused",
        out.code != 0 && !Path::new(down).exists(),
        "copied",
    );
    let sftp = lab
        .web
        .sftp("put /etc/hostname ~/../web/by-sftp\nls by-sftp\n");
    let sftp_out = lab.web.sftp(&format!("get /srv/open/file {down}\n"));
    record.check(
        "sftp",
        sftp.stdout.contains("by-sftp"),
        sftp.stdout + &sftp.stderr,
    );
    record.check(
        "sftp of what is open to all: refused",
        sftp_out.code != 0 && !Path::new(down).exists(),
        "copied",
    );

    // rsync is on the host, not everywhere where this test runs.
    let key = std::fs::read_to_string(lab.web.key()).unwrap();
    let rsync = lab.host.root(&format!(
        "umask 077; printf %s {} > /root/key; rsync -a -e 'ssh -i /root/key -o StrictHostKeyChecking=accept-new -o BatchMode=yes' /etc/debian_version web@{WEB}:by-rsync && cat /home/web/by-rsync; rm -f /root/key",
        quoted(&key)
    ));
    record.check("rsync", rsync.code == 0, rsync.stderr);

    lab.web
        .run("mkdir -p ~/www; echo served > ~/www/index.html; cd ~/www; setsid python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 </dev/null &")
        .ok();
    let fetch = "for i in $(seq 30); do sleep 0.5; exec 3<>/dev/tcp/127.0.0.1/PORT && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && grep served <&3 && exit 0; done 2>/dev/null; exit 1";
    let forwarded = lab.web.forwarded(&["-L", "PORT:127.0.0.1:8000"], fetch);
    record.check(
        "ssh -L to its own service",
        forwarded.stdout.contains("served"),
        forwarded.stderr,
    );
    let forwarded = lab.web.forwarded(
        &["-L", "PORT:/run/dbus/system_bus_socket"],
        "for i in $(seq 20); do sleep 0.5; exec 3<>/dev/tcp/127.0.0.1/PORT && printf '\\0AUTH\\r\\n' >&3 && grep -a REJECTED <&3 && exit 0; done 2>/dev/null; exit 1",
    );
    record.check(
        "ssh -L to a socket in the file system: refused",
        forwarded.code != 0,
        forwarded.stdout,
    );
    let agent = lab
        .web
        .ssh(&["-R", "9001:127.0.0.1:22"], "ss -Hltn 'sport = 9001'", "");
    record.check(
        "ssh -R",
        agent.stdout.contains("127.0.0.1:9001"),
        agent.stdout + &agent.stderr,
    );
    let low = lab
        .web
        .ssh(&["-R", "81:127.0.0.1:22"], "ss -Hltn 'sport = 81'", "");
    record.check(
        "ssh -R of a port below 1024: refused",
        !low.stdout.contains(":81"),
        low.stdout,
    );
    let wide = lab.web.ssh(
        &["-R", &format!("{DB}:9002:127.0.0.1:22")],
        "ss -Hltn 'sport = 9002'",
        "",
    );
    record.check(
        "ssh -R at a neighbour's address: refused",
        !wide.stdout.contains(DB),
        wide.stdout,
    );
    let socket = lab.web.ssh(
        &["-R", "/tmp/forwarded:127.0.0.1:22"],
        "ls /tmp/forwarded",
        "",
    );
    record.check(
        "ssh -R of a socket in the file system: refused",
        socket.code != 0,
        socket.stdout,
    );
    let display = lab.web.ssh(&["-X"], "echo \"[$DISPLAY]\"", "");
    record.check(
        "ssh -X: refused",
        display.stdout.contains("[]"),
        display.stdout,
    );
}

pub fn honest_work(lab: &Lab, record: &mut Record) {
    let slice = format!("/sys/fs/cgroup/user.slice/user-{}.slice", lab.web_uid);
    #[rustfmt::skip]
    record.works(&lab.web, "honest work", &[
        ("a terminal of its own", python("import os, pty; pty.spawn(['/bin/sh', '-c', 'tty'])"), "/dev/pts/"),
        ("systemctl --user", "mkdir -p ~/.config/systemd/user && printf '[Service]\\nExecStart=/bin/sleep 600\\n' > ~/.config/systemd/user/nap.service && systemctl --user daemon-reload && systemctl --user start nap && systemctl --user is-active nap".into(), "active"),
        ("systemd-run --user", "systemd-run --user --wait --pipe -q echo ran".into(), "ran"),
        ("a timer of its own", "systemd-run --user --on-active=600 -q --unit=later true; systemctl --user list-timers --no-pager".into(), "later"),
        ("its own bus", "busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetId".into(), "s "),
        ("its memory figures", format!("cat {slice}/memory.current {slice}/memory.max {slice}/cpu.stat"), "usage_usec"),
        ("a group of its own below its manager", format!("mkdir {slice}/user@{0}.service/mine && rmdir {slice}/user@{0}.service/mine && echo made", lab.web_uid), "made"),
        ("its processes", "pgrep -u web -x sleep && ps -o args= -C sleep".into(), "sleep 600"),
        ("a trace of its own child", ptrace("__import__('subprocess').Popen(['sleep', '9']).pid"), ""),
        ("a program that it built in /tmp", "printf '#!/bin/sh\\necho built' > /tmp/web-built && chmod +x /tmp/web-built && /tmp/web-built".into(), "built"),
        ("executable memory (JIT)", python("import mmap; mmap.mmap(-1, 4096, prot=7); print('mapped')"), "mapped"),
        ("shared memory", python("from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=99); m.unlink(); print('shared')"), "shared"),
        ("name service", "getent passwd web; getent hosts localhost".into(), "localhost"),
        ("the log of the system takes its lines", "logger from-web && echo logged".into(), "logged"),
        ("Python", "python3 -c 'import ssl, sqlite3; print(6 * 7)'".into(), "42"),
    ]);
}

/// What root reads of a tenant's must not hold a playbook up. Nobody logs in
/// as that tenant afterwards.
pub fn a_pipe_for_its_keys(lab: &Lab, record: &mut Record) {
    println!("== refused: holding up a playbook");
    lab.web
        .run("rm ~/.ssh/authorized_keys && mkfifo ~/.ssh/authorized_keys")
        .ok();
    let id = "allocation_id=web";
    let mut run = lab
        .k
        .command(&["run", "ALLOCATION_CREATE", "--check", "-e", id]);
    let mut child = run
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if started.elapsed() > Duration::from_secs(300) {
            lab.host.root("pkill -9 -f kloigos_");
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    record.check(
        "a playbook passes by a pipe in place of authorized_keys",
        ended.is_some(),
        "it still hangs after five minutes",
    );
}
