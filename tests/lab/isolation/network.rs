//! Addresses and ports of others.

use std::net::TcpListener;

use super::record::{Control, Record, attempt, batch, python, told};
use super::{DB, GATEWAY, Lab, MAIN, WEB};
use crate::host::quoted;

/// Connects a TCP or UDP socket bound to `from` and sends on it.
pub fn send_from(kind: &str, from: &str, to: &str, port: u16) -> String {
    python(&format!(
        "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_{kind})
s.settimeout(10)
s.bind(('{from}', 0))
s.connect(('{to}', {port}))
s.send(b'x')"
    ))
}

pub fn network(lab: &Lab, record: &mut Record) {
    use Control::Root;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let raw = |family: &str, kind: &str, protocol: &str| {
        python(&format!(
            "import socket; socket.socket(socket.{family}, socket.{kind}, {protocol})"
        ))
    };
    let attempts = [
        attempt(
            "TCP from a neighbour's address",
            Root,
            send_from("STREAM", DB, GATEWAY, port),
        ),
        attempt(
            "TCP from the host's address",
            Root,
            send_from("STREAM", MAIN, GATEWAY, port),
        ),
        attempt(
            "UDP from a neighbour's address",
            Root,
            send_from("DGRAM", DB, GATEWAY, 9),
        ),
        attempt(
            "UDP from the host's address",
            Root,
            send_from("DGRAM", MAIN, GATEWAY, 9),
        ),
        attempt(
            "ping from a neighbour's address",
            Root,
            format!("ping -c 1 -W 5 -I {DB} {GATEWAY}"),
        ),
        attempt(
            "ping from the host's address",
            Root,
            format!("ping -c 1 -W 5 -I {MAIN} {GATEWAY}"),
        ),
        attempt(
            "UDP to a neighbour from the neighbour's own address",
            Root,
            send_from("DGRAM", DB, DB, 9),
        ),
        attempt(
            "IPv6, which it has no address of",
            Root,
            python(
                "import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.sendto(b'x', ('ff02::1', 9, 0, socket.if_nametoindex('eth0')))",
            ),
        ),
        attempt("a raw socket", Root, raw("AF_INET", "SOCK_RAW", "1")),
        attempt("a packet socket", Root, raw("AF_PACKET", "SOCK_RAW", "0")),
        attempt(
            "mark a socket so that it goes past the rules",
            Root,
            python(&format!(
                "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_IP, 19, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
s.bind(('{DB}', 0))
s.sendto(b'x', ('{GATEWAY}', 9))"
            )),
        ),
        attempt(
            "add an address",
            Root,
            "ip addr add 10.0.2.99/32 dev lo && ip addr del 10.0.2.99/32 dev lo",
        ),
        attempt(
            "add a route",
            Root,
            "ip route add 198.51.100.0/24 dev eth0 && ip route del 198.51.100.0/24",
        ),
    ];
    record.refused(&lab.host, &lab.web, "network", &attempts);
    record.works(
        &lab.web,
        "network",
        &[
            (
                "ping the gateway",
                format!("ping -c 1 -W 5 {GATEWAY}"),
                "1 received",
            ),
            (
                "TCP out",
                format!("exec 3<>/dev/tcp/{GATEWAY}/{port} && echo through"),
                "through",
            ),
            (
                "UDP out",
                python(&format!(
                    "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('{GATEWAY}', 9)); s.send(b'x'); print(s.getsockname()[0])"
                )),
                WEB,
            ),
        ],
    );
}

/// A listener at an address; it lives long enough, and says what it got.
pub fn listen(address: &str, port: u16) -> String {
    let script = format!(
        "import socket, threading, time
t = socket.socket(); t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
t.bind(('{address}', {port})); t.listen()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('{address}', {port}))
def udp():
    while True:
        data, peer = u.recvfrom(9)
        try: u.sendto(b'answer', peer)
        except OSError: pass
def tcp():
    while True:
        c, peer = t.accept()
        c.sendall(b'answer'); c.close()
for f in (udp, tcp): threading.Thread(target=f, daemon=True).start()
time.sleep(900)"
    );
    format!(
        "setsid python3 -c {} >/dev/null 2>&1 </dev/null & for i in $(seq 50); do sleep 0.2; ss -Hltn | grep -q ':{port} ' && break; done",
        quoted(&script)
    )
}

pub fn ask(kind: &str, address: &str, port: u16) -> String {
    python(&format!(
        "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_{kind})
s.settimeout(4)
s.connect(('{address}', {port}))
s.send(b'x')
assert s.recv(9) == b'answer'"
    ))
}

/// A tenant may take a port of another's address, which the kernel does not
/// refuse: but whoever asks there gets no answer from it.
pub fn answering_for_another(lab: &Lab, record: &mut Record) {
    println!("== refused: answering at another's address");
    lab.web.run(&listen(DB, 7001)).ok();
    lab.web.run(&listen("0.0.0.0", 7002)).ok();
    lab.db.run(&listen(DB, 7003)).ok();
    lab.host.root(&listen(DB, 7004)).ok();
    let scripts = [
        ("TCP at its own address", "STREAM", WEB, 7002, true),
        ("UDP at its own address", "DGRAM", WEB, 7002, true),
        ("TCP at a neighbour's address", "STREAM", DB, 7001, false),
        ("UDP at a neighbour's address", "DGRAM", DB, 7001, false),
        (
            "TCP at all addresses, asked at the neighbour's",
            "STREAM",
            DB,
            7002,
            false,
        ),
        (
            "UDP at all addresses, asked at the neighbour's",
            "DGRAM",
            DB,
            7002,
            false,
        ),
        (
            "(control) root at that address, TCP",
            "STREAM",
            DB,
            7004,
            true,
        ),
        (
            "(control) root at that address, UDP",
            "DGRAM",
            DB,
            7004,
            true,
        ),
        (
            "(control) the neighbour itself, TCP",
            "STREAM",
            DB,
            7003,
            true,
        ),
        (
            "(control) the neighbour itself, UDP",
            "DGRAM",
            DB,
            7003,
            true,
        ),
    ];
    let asked: Vec<String> = scripts.iter().map(|s| ask(s.1, s.2, s.3)).collect();
    let ran = lab.host.root(&batch(asked.iter().map(String::as_str)));
    for ((name, .., answered), (code, said)) in scripts.iter().zip(told(&ran.stdout, scripts.len()))
    {
        record.check(
            &format!(
                "{name}: {}",
                if *answered { "answered" } else { "no answer" }
            ),
            (code == 0) == *answered,
            said,
        );
    }
    record.works(
        &lab.web,
        "neighbours on one host",
        &[
            (
                "reach a neighbour's service at its address",
                ask("STREAM", DB, 7003),
                "",
            ),
            (
                "reach it by UDP from its own address",
                python(&format!(
                    "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(4); s.bind(('{WEB}', 0)); s.connect(('{DB}', 7003)); s.send(b'x')
assert s.recv(9) == b'answer'"
                )),
                "",
            ),
            ("reach its own at its address", ask("STREAM", WEB, 7002), ""),
            (
                "reach its own at 127.0.0.1",
                ask("STREAM", "127.0.0.1", 7002),
                "",
            ),
        ],
    );
    let as_neighbour = lab.db.run(&ask("STREAM", DB, 7001));
    record.check(
        "answer the neighbour itself at its own address: no answer",
        as_neighbour.code != 0,
        "it was answered",
    );
}
