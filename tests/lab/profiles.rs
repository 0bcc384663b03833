//! What a runtime profile installs can be used: each tool, as a tenant, under
//! the tenant's AppArmor profile and limits.

use crate::host::{Host, Kloigos, Tenant};

const ADDRESS: &str = "10.0.2.50";

/// Name, script, and what its output must have. Every script works in a fresh
/// directory of the tenant's home.
const STANDARD: &[(&str, &str, &str)] = &[
    (
        "Java runs a program of its own",
        "keytool -genkeypair -alias a -keyalg EC -keystore ks -storepass changeit -dname CN=web && keytool -list -keystore ks -storepass changeit",
        "PrivateKeyEntry",
    ),
    (
        "Java sees the unit's CPU",
        "java -XshowSettings:system -version 2>&1; java -XX:+PrintFlagsFinal -version 2>&1 | grep -w ActiveProcessorCount",
        "ActiveProcessorCount",
    ),
    (
        "Python has venv, and pip in it without a network",
        "python3 -m venv v && v/bin/pip --version && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
        "True",
    ),
    (
        "pip installs a package of the tenant's",
        "mkdir -p p && printf '[project]\\nname = \"ours\"\\nversion = \"1\"\\n' > p/pyproject.toml && printf 'answer = 42\\n' > p/ours.py && python3 -m venv --system-site-packages v && v/bin/pip install -q --no-index --no-build-isolation ./p && v/bin/python -c 'import ours; print(ours.answer)'",
        "42",
    ),
    (
        "pipx",
        "pipx list 2>&1 && pipx environment --value PIPX_HOME",
        "/home/web",
    ),
    (
        "Node compiles what it runs often",
        "node -e 'let s = 0n; for (let i = 0n; i < 300000n; i++) s += i % 7n; console.log(String(s)); require(\"crypto\").randomBytes(9)'",
        "899997",
    ),
    (
        "Node has worker threads and WebAssembly",
        "node -e 'const {Worker} = require(\"worker_threads\"); new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0])); new Worker(\"console.log(6*7)\", {eval: true})'",
        "42",
    ),
    (
        "git",
        "git init -q r && cd r && echo x > f && git add f && git -c user.name=w -c user.email=w@w commit -qm first && git clone -q . ../c && git -C ../c log --oneline",
        "first",
    ),
    ("jq", "echo '{\"a\": 42}' | jq .a", "42"),
    (
        "curl and wget",
        "echo served > f; python3 -m http.server -b 127.0.0.1 8123 >/dev/null 2>&1 & for i in $(seq 40); do sleep 0.5; curl -s http://127.0.0.1:8123/f && break; done; wget -qO- http://127.0.0.1:8123/f; kill %1",
        "served",
    ),
    (
        "unzip",
        "python3 -m zipfile -c a.zip /etc/hostname && unzip -p a.zip | grep . && unzip -l a.zip",
        "1 file",
    ),
];

const BUILD: &[(&str, &str, &str)] = &[
    (
        "gcc and make",
        "printf '#include <stdio.h>\\nint main(void) { puts(\"from C\"); }\\n' > a.c && printf 'a: a.c\\n\\tcc -O2 -o a a.c\\n' > Makefile && make -s && ./a",
        "from C",
    ),
    (
        "g++",
        "printf '#include <iostream>\\nint main() { std::cout << \"from C++\\\\n\"; }\\n' > a.cc && g++ -o a a.cc && ./a",
        "from C++",
    ),
    (
        "cmake",
        "printf 'cmake_minimum_required(VERSION 3.13)\\nproject(a C)\\nadd_executable(a a.c)\\n' > CMakeLists.txt && printf '#include <stdio.h>\\nint main(void) { puts(\"from cmake\"); }\\n' > a.c && cmake -B b . && cmake --build b && b/a",
        "from cmake",
    ),
    (
        "pkg-config",
        "pkg-config --version && pkg-config --list-all | head -n 1",
        ".",
    ),
    (
        "go",
        "printf 'module a\\n\\ngo 1.18\\n' > go.mod && printf 'package main\\n\\nfunc main() { println(\"from Go\") }\\n' > a.go && go build -o a . && ./a 2>&1",
        "from Go",
    ),
    (
        "rustc",
        "printf 'fn main() { println!(\"from Rust\"); }\\n' > a.rs && rustc a.rs && ./a",
        "from Rust",
    ),
    (
        "cargo",
        "cargo init -q --name a --vcs none . && cargo run -q --offline && cargo test -q --offline",
        "Hello, world!",
    ),
    (
        "javac",
        "printf 'public class A { public static void main(String[] a) { System.out.println(\"from Java\"); } }\\n' > A.java && javac A.java && java A",
        "from Java",
    ),
    (
        "Java stops at its own heap, not at the host's memory",
        "printf 'public class H { public static void main(String[] a) { var l = new java.util.ArrayList<byte[]>(); try { while (true) l.add(new byte[1 << 20]); } catch (OutOfMemoryError e) { int n = l.size(); l = null; System.out.println(\"stopped after \" + n); } } }\\n' > H.java && javac H.java && java -Xmx64m H",
        "stopped after",
    ),
];

fn every_tool(host: &Host, tenant: &Tenant, cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (number, (name, script, wanted)) in cases.iter().enumerate() {
        let ran = tenant.run(&format!(
            "rm -rf ~/t{number}; mkdir ~/t{number}; cd ~/t{number}; {{ {script}; }} 2>&1"
        ));
        let good = ran.code == 0 && ran.stdout.contains(wanted);
        println!(
            "  {} {name} ({:.1} s)",
            if good { "ok   " } else { "WRONG" },
            ran.seconds
        );
        if !good {
            let denied = host.root("dmesg | grep apparmor=.DENIED | tail -n 5");
            wrong.push(format!(
                "{name}: exit {}\n{}{}\n{}",
                ran.code,
                ran.stdout,
                ran.stderr,
                denied.text()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn tools_of_a_build_host(suite: &str) {
    let host = Host::boot(
        "build",
        &["--suite", suite, "--disk", "4"],
        &[&format!("{ADDRESS}:22")],
    );
    let k = Kloigos::new();
    k.json(&["init"]);
    k.run(&["setting", "set", "ssh.private_key_file", host.key()])
        .ok();
    k.json(&["ip", "add", ADDRESS]);
    k.add_server(&host, "build", &["--disk", "/dev/vdb"]).ok();
    let web = Tenant::new("web", k.dir.path(), host.forward(&format!("{ADDRESS}:22")));
    let key = web.public_key();
    k.json(&[
        "alloc",
        "create",
        "web",
        "--key",
        key.to_str().unwrap(),
        "--cpus",
        "1",
    ]);
    println!("== the tools of the profile standard");
    every_tool(&host, &web, STANDARD);
    println!("== and those of build");
    every_tool(&host, &web, BUILD);
}

#[test]
#[ignore = "long: make lab-full"]
fn a_tenant_uses_every_tool_of_a_build_host() {
    tools_of_a_build_host("bookworm");
}

#[test]
#[ignore = "long: make lab-full"]
fn a_tenant_uses_every_tool_of_a_build_host_on_trixie() {
    tools_of_a_build_host("trixie");
}
