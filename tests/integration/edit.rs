//! A server's record changed, compute units taken out of use and added.

use serde_json::json;

use crate::program::{INIT, Program, adding};

#[test]
fn what_an_edit_names_changes_and_the_rest_stays() {
    let p = Program::with_server();
    let before = p.json(&["server", "show", "alpha"]);
    let edit = [
        "server",
        "edit",
        "alpha",
        "--private-ip",
        "127.0.0.22",
        "--port",
        "2",
        "--region",
        "us",
        "--tag",
        "rack=7",
    ];
    let after = p.json(&edit);
    assert_eq!(after["private_ip"], "127.0.0.22");
    assert_eq!(after["port"], 2);
    assert_eq!(after["region"], "us");
    assert_eq!(after["tags"], json!({ "rack": "7" }));
    for field in ["zone", "admin_user", "profile", "status", "storage"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let event = &p.json(&["event", "list", "--subject", "server alpha", "--limit", "1"])[0];
    assert_eq!(event["kind"], "server.edited");
    assert_eq!(event["detail"]["port"], json!({ "from": 1, "to": 2 }));
    assert!(event["detail"].get("zone").is_none(), "{event}");

    let after = p.json(&[
        "server",
        "edit",
        "alpha",
        "--untag",
        "rack",
        "--public-ip",
        "127.0.0.23",
    ]);
    assert_eq!(after["tags"], json!({}));
    assert_eq!(after["public_ip"], "127.0.0.23");
    let after = p.json(&["server", "edit", "alpha", "--no-public-ip"]);
    assert_eq!(after["public_ip"], json!(null));
}

#[test]
fn an_edit_that_would_make_two_of_one_is_refused_and_nothing_is_changed() {
    let p = Program::with_server();
    p.run(&adding("beta", "127.0.0.31", &["0"], &["--no-init"]))
        .exits(0);
    p.run(&["alloc", "create", "web", "--key", &p.key()])
        .exits(0);
    let before = p.json(&["event", "list"]);
    for (change, code, part) in [
        (
            ["--private-ip", "127.0.0.31"],
            11,
            "server beta already has the address",
        ),
        (
            ["--private-ip", "192.0.2.10"],
            11,
            "the floating address of allocation web",
        ),
        (
            ["--admin-user", "web"],
            11,
            "the login user of allocation web",
        ),
        (["--cu", "3-8"], 2, "share CPU 3"),
        (["--cu", "8"], 2, "names CPU 8"),
        (["--port", "0"], 2, "0"),
    ] {
        let ran = p
            .run(&["server", "edit", "alpha", change[0], change[1]])
            .exits(code);
        assert!(ran.error().contains(part), "{change:?}: {}", ran.stderr);
    }
    p.run(&["server", "edit", "alpha"]).exits(2);
    p.run(&["server", "edit", "nope", "--port", "3"]).exits(3);
    assert_eq!(p.json(&["event", "list"]), before);
}

#[test]
fn a_further_unit_is_free_when_the_host_has_followed_and_not_before() {
    let p = Program::initialised();
    p.push("SERVER_INIT", INIT);
    p.add_server("alpha", &["0-1"]).exits(0);
    p.file("fail-init", "");
    let add = ["server", "edit", "alpha", "--cu", "2-3", "4-7"];
    p.run(&add).exits(1);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
    assert_eq!(p.json(&["cu", "list"]).as_array().unwrap().len(), 3);
    p.run(&["ip", "add", "192.0.2.10"]).exits(0);
    let create = ["alloc", "create", "web", "--key", &p.key(), "--cpus", "4"];
    p.run(&create).exits(12);
    std::fs::remove_file(p.path().join("fail-init")).unwrap();
    let ready = p.json(&["server", "init", "alpha"]);
    assert_eq!(ready["status"], "READY");
    let unit = p.json(&["cu", "show", "alpha-cu02"]);
    assert_eq!(unit["status"], "FREE");
    assert_eq!(unit["cpu_set"], "4,5,6,7");
}

#[test]
fn a_unit_that_is_disabled_is_given_to_nobody() {
    let p = Program::with_server();
    let unit = |verb| p.json(&["cu", verb, "alpha-cu02"])["status"].clone();
    assert_eq!(unit("disable"), "UNAVAILABLE");
    assert_eq!(unit("disable"), "UNAVAILABLE");
    let four = ["alloc", "create", "web", "--key", &p.key(), "--cpus", "4"];
    p.run(&four).exits(12);
    p.run(&["server", "init", "alpha"]).exits(0);
    assert_eq!(
        p.json(&["cu", "show", "alpha-cu02"])["status"],
        "UNAVAILABLE"
    );
    assert_eq!(unit("enable"), "FREE");
    p.run(&four).exits(0);
    p.run(&["cu", "disable", "alpha-cu02"]).exits(4);
    p.run(&["cu", "enable", "alpha-cu02"]).exits(4);
    p.run(&["cu", "disable", "nope"]).exits(3);
}
