//! Using up what others need.

use super::Lab;
use super::record::{Record, python};

pub fn exhaustion(lab: &Lab, record: &mut Record) {
    println!("== exhaustion");
    let slice = format!("/sys/fs/cgroup/user.slice/user-{}.slice", lab.web_uid);
    let cat = |file: &str| {
        lab.host
            .root(&format!("cat {slice}/{file}"))
            .text()
            .to_owned()
    };
    let neighbour_works = |record: &mut Record, during: &str| {
        let ran = lab.db.run("echo alive");
        record.check(
            &format!("the neighbour logs in {during}"),
            ran.text() == "alive" && ran.seconds < 60.0,
            format!(
                "exit {} after {:.0} s: {}",
                ran.code, ran.seconds, ran.stderr
            ),
        );
        let ran = lab.host.root("echo alive");
        record.check(
            &format!("and so does the administrator {during}"),
            ran.text() == "alive" && ran.seconds < 60.0,
            format!("exit {} after {:.0} s", ran.code, ran.seconds),
        );
    };

    let most: u64 = cat("memory.max").parse().unwrap();
    let tasks: u64 = cat("pids.max").parse().unwrap();
    let all_tasks: u64 = lab
        .host
        .root("cat /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max | sort -n | head -n 1")
        .text()
        .parse()
        .unwrap();
    record.check(
        "tasks are limited to its share",
        tasks == all_tasks * 9 / 20,
        format!("{tasks} of {all_tasks}"),
    );
    record.check(
        "and swap, of which there is none",
        cat("memory.swap.max") == "0",
        cat("memory.swap.max"),
    );

    lab.host
        .root(&format!(
            "systemctl set-property --runtime user-{}.slice TasksMax=150",
            lab.web_uid
        ))
        .ok();
    let bomb = python(
        "import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0: time.sleep(45); os._exit(0)
        made += 1
except BlockingIOError:
    open('/home/web/bomb', 'w').write(str(made))
time.sleep(30)",
    );
    lab.web.run(&format!("setsid {bomb} >/dev/null 2>&1 </dev/null & for i in $(seq 60); do sleep 0.5; [ -s ~/bomb ] && break; done 2>/dev/null"));
    neighbour_works(record, "during a fork bomb");
    let made = lab.host.root("cat /home/web/bomb").text().to_owned();
    record.check(
        "the fork bomb met its limit",
        made.parse::<u32>().is_ok_and(|n| n < 150)
            && cat("pids.current").parse::<u64>().is_ok_and(|n| n <= 150),
        made,
    );
    lab.host
        .root(&format!("pkill -9 -u web -f 'while made'; systemctl set-property --runtime user-{}.slice TasksMax={tasks}", lab.web_uid))
        .ok();

    for (name, script) in [
        (
            "memory",
            python(&format!(
                "b = []
while len(b) < {}: b.append(b'x' * (1 << 20))",
                (most >> 20) + 100
            )),
        ),
        (
            "shared memory",
            format!(
                "head -c {} /dev/zero > /dev/shm/hog-of-web",
                most + (100 << 20)
            ),
        ),
    ] {
        lab.web
            .run(&format!(
                "systemd-run --user -q --unit=hog --collect {script}"
            ))
            .ok();
        // From outside: inside, everything is held up with the hog.
        let met = "for i in $(seq 60); do sleep 0.5; awk '/^(high|max|oom_kill) [1-9]/ {n++} END {exit !n}' EVENTS && exit 0; done; exit 1";
        let met = lab
            .host
            .root(&met.replace("EVENTS", &format!("{slice}/memory.events")));
        neighbour_works(record, &format!("while another eats {name}"));
        let peak: u64 = cat("memory.peak").parse().unwrap_or(u64::MAX);
        record.check(
            &format!("{name} met its limit"),
            met.code == 0 && peak <= most,
            format!("{peak} of {most}, {}", cat("memory.events")),
        );
        lab.host.root(&format!(
            "echo 1 > {slice}/user@{}.service/app.slice/hog.service/cgroup.kill; rm -f /dev/shm/hog-of-web",
            lab.web_uid
        ));
    }
}
