//! Files, processes and limits of others.

use super::Lab;
use super::record::{Control, Record, attempt, python};

pub fn files(lab: &Lab, record: &mut Record) {
    use Control::{Plain, Root};
    let mut attempts = vec![
        attempt("read a neighbour's open home", Plain, "cat /home/db/note"),
        attempt("list a neighbour's open home", Plain, "ls /home/db"),
        attempt("read a neighbour's open volume", Plain, "cat /mnt/db/note"),
        attempt("read a neighbour's file in /tmp", Plain, "cat /tmp/of-db"),
        attempt(
            "list a neighbour's directory in /tmp",
            Plain,
            "ls /tmp/dir-of-db",
        ),
        attempt(
            "read a neighbour's file in /var/tmp",
            Plain,
            "cat /var/tmp/of-db",
        ),
        attempt(
            "read a neighbour's shared memory",
            Plain,
            "cat /dev/shm/of-db",
        ),
        attempt(
            "write a neighbour's open file in /tmp",
            Plain,
            "printf x | dd of=/tmp/of-db conv=notrunc,nocreat status=none",
        ),
        attempt(
            "write a neighbour's shared memory",
            Plain,
            "printf x | dd of=/dev/shm/of-db conv=notrunc,nocreat status=none",
        ),
        attempt(
            "link a neighbour's file in /tmp",
            Plain,
            "ln /tmp/of-db /tmp/link-of-$(id -un)",
        ),
        attempt("read what is open to all", Plain, "cat /srv/open/file"),
        attempt(
            "the same under systemd-run --user",
            Control::None,
            "systemd-run --user --wait --pipe -q cat /srv/open/file",
        ),
        attempt(
            "the same in a user service that asks for no profile",
            Control::None,
            "systemd-run --user --wait --pipe -q -p AppArmorProfile=unconfined cat /srv/open/file",
        ),
        attempt(
            "the same with aa-exec",
            Plain,
            "aa-exec -p unconfined -- cat /srv/open/file",
        ),
        attempt(
            "leave the profile by /proc",
            Control::None,
            "sh -c 'echo exec unconfined > /proc/self/attr/exec; exec cat /srv/open/file'",
        ),
        attempt(
            "take a neighbour's profile by its login shell",
            Control::None,
            "/usr/local/lib/kloigos/shells/db -c true",
        ),
        attempt(
            "list a neighbour's runtime directory",
            Root,
            format!("ls /run/user/{}", lab.db_uid),
        ),
        attempt(
            "make a ~/.forward",
            Plain,
            "touch ~/.forward && rm ~/.forward",
        ),
        attempt(
            "make a ~/.forward by renaming",
            Plain,
            "touch ~/x && mv ~/x ~/.forward && rm ~/.forward",
        ),
    ];
    for (name, path) in [
        ("read the passwords", "/etc/shadow"),
        ("read the host's SSH key", "/etc/ssh/ssh_host_ed25519_key"),
        ("read the owner stamp", "/etc/kloigos/owner"),
        ("read sudo's rules", "/etc/sudoers"),
        ("read root's home", "/root/.bashrc"),
        (
            "read the host's network settings",
            "/etc/systemd/network/80-lab.network",
        ),
    ] {
        attempts.push(attempt(name, Root, format!("cat {path}")));
    }
    record.refused(&lab.host, &lab.web, "files", &attempts);
}

/// What root or a neighbour would fall for, were the kernel not to refuse it.
pub fn links_in_tmp(lab: &Lab, record: &mut Record) {
    println!("== refused: links and pipes in /tmp");
    lab.web
        .run("ln -s /home/web/grown /tmp/planted; touch /tmp/planted-file; chmod 666 /tmp/planted-file; mkfifo -m 666 /tmp/planted-pipe")
        .ok();
    let write = |path: &str| {
        lab.host
            .root(&format!("timeout 5 bash -c 'echo x > {path}'"))
            .code
    };
    for (name, path, setting) in [
        ("a link", "/tmp/planted", "fs.protected_symlinks"),
        ("a file", "/tmp/planted-file", "fs.protected_regular"),
    ] {
        let code = write(path);
        record.check(
            &format!("root writes through {name} planted in /tmp"),
            code == 1,
            format!("exit {code}"),
        );
        let control = lab.host.root(&format!(
            "was=$(sysctl -n {setting}); sysctl -qw {setting}=0; echo x > {path}; code=$?; sysctl -qw {setting}=$was; exit $code"
        ));
        record.check(
            &format!("  and would without {setting}"),
            control.code == 0,
            control.stderr,
        );
    }
    let code = write("/tmp/planted-pipe");
    record.check(
        "root writes into a pipe planted in /tmp",
        code == 1,
        format!("exit {code}"),
    );
    let there = lab
        .host
        .root("ln -s /etc/passwd /home/web/out; chown -h web: /home/web/out")
        .code;
    record.check("(a link out of its home)", there == 0, "not made");
    record.refused(
        &lab.host,
        &lab.web,
        "hard links",
        &[
            attempt(
                "link a file of root's into its own home",
                Control::Root,
                "ln /etc/hostname /home/web/linked && rm /home/web/linked",
            ),
            attempt(
                "write through a link of its own",
                Control::None,
                "echo evil:x:0:0::/: >> ~/out",
            ),
        ],
    );
}

pub fn ptrace(pid: &str) -> String {
    python(&format!(
        "import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int({pid})
if libc.ptrace(16, pid, 0, 0): sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(pid, 0x40000000)
sys.exit(1 if libc.ptrace(17, pid, 0, 0) else 0)"
    ))
}

pub fn processes(lab: &Lab, record: &mut Record) {
    use Control::{Plain, Root};
    let neighbour = lab.host.root("pgrep -u db -x sleep | head -n 1").ok();
    let neighbour = neighbour.text();
    let attempts = [
        attempt(
            "signal a neighbour",
            Root,
            format!("kill -CONT {neighbour}"),
        ),
        attempt("signal init", Root, "kill -0 1"),
        attempt(
            "signal the part of sshd that has its own UID",
            Control::None,
            "test -d /proc/$SESSION && kill -0 $SESSION",
        ),
        attempt("trace a neighbour", Root, ptrace(&format!("'{neighbour}'"))),
        attempt(
            "trace the part of sshd that has its own UID",
            Control::None,
            ptrace("__import__('os').environ['SESSION']"),
        ),
        attempt(
            "read the memory of that",
            Control::None,
            "head -c 1 /proc/$SESSION/maps | grep -q .",
        ),
        attempt(
            "read a neighbour's command line",
            Plain,
            format!("cat /proc/{neighbour}/cmdline"),
        ),
        attempt(
            "read a neighbour's environment",
            Root,
            format!("cat /proc/{neighbour}/environ"),
        ),
        attempt(
            "find a neighbour's command with ps",
            Plain,
            "ps -eo args | grep -q '[s]leep 86399'",
        ),
        attempt(
            "ask systemd about a neighbour",
            Plain,
            format!("systemctl status --no-pager user-{}.slice", lab.db_uid),
        ),
        attempt(
            "slow a neighbour down",
            Root,
            format!("renice -n 0 -p {neighbour}"),
        ),
        attempt(
            "move a neighbour to another CPU",
            Root,
            format!("taskset -cp 1 {neighbour}"),
        ),
    ];
    record.refused(&lab.host, &lab.web, "processes", &attempts);
}

pub fn limits(lab: &Lab, record: &mut Record) {
    use Control::{Plain, Root};
    let (web, db) = (&lab.web_uid, &lab.db_uid);
    let slice = format!("/sys/fs/cgroup/user.slice/user-{web}.slice");
    let outside = format!("grep -qv user-{web}.slice /proc/self/cgroup");
    let same = |file: &str| format!("v=$(cat {slice}/{file}) && echo $v > {slice}/{file}");
    let attempts = [
        attempt("be outside of its slice", Plain, outside.clone()),
        attempt(
            "be outside with setsid and nohup",
            Plain,
            format!("setsid --wait nohup {outside}"),
        ),
        attempt(
            "be outside as a user service",
            Control::None,
            format!("systemd-run --user --wait --pipe -q {outside}"),
        ),
        attempt(
            "be outside as a scope",
            Control::None,
            format!("systemd-run --user --scope -q {outside}"),
        ),
        attempt("use a CPU that is not its own", Root, "taskset -c 1 true"),
        attempt(
            "move to the root group",
            Root,
            "sh -c 'echo $$ > /sys/fs/cgroup/cgroup.procs'",
        ),
        attempt(
            "move to a neighbour's group",
            Root,
            format!(
                "sh -c 'echo $$ > /sys/fs/cgroup/user.slice/user-{db}.slice/user@{db}.service/init.scope/cgroup.procs'"
            ),
        ),
        attempt("write its memory limit", Root, same("memory.max")),
        attempt("write its limit of tasks", Root, same("pids.max")),
        attempt("write its CPUs", Root, same("cpuset.cpus")),
        attempt(
            "have systemd change its slice",
            Root,
            format!("systemctl set-property --runtime user-{web}.slice CPUWeight=100"),
        ),
        attempt("leave a job with at", Root, "echo true | at now"),
        attempt(
            "leave a job with cron",
            Root,
            "echo '0 0 1 1 * true' | crontab - && crontab -r",
        ),
        attempt(
            "leave a job with a crontab of its own",
            Control::None,
            "cp /usr/bin/crontab ~/c && echo '0 0 1 1 * true' | ~/c -",
        ),
        attempt(
            "leave a job in at's own directory",
            Root,
            "touch /var/spool/cron/atjobs/x && rm /var/spool/cron/atjobs/x",
        ),
        attempt(
            "raise its priority",
            Root,
            "nice -n -5 sh -c 'test $(nice) = -5'",
        ),
        attempt("real-time priority", Root, "chrt -f 1 true"),
        attempt(
            "be spared by the OOM killer",
            Root,
            "sh -c 'echo -500 > /proc/self/oom_score_adj'",
        ),
        attempt(
            "lock more memory than others may",
            Root,
            "ulimit -l unlimited",
        ),
    ];
    record.refused(&lab.host, &lab.web, "limits", &attempts);
}
