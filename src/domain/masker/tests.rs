use super::*;
use serde_json::json;

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nQUFBQUI=\n-----END OPENSSH PRIVATE KEY-----\n";

fn flow(masker: &Masker, pieces: &[&str]) -> String {
    let mut flow = Flow::default();
    pieces.iter().map(|p| flow.pass(masker, p)).collect()
}

#[test]
fn a_secret_is_hidden_in_each_of_its_forms() {
    let secret = "it's \"a\" é/$1";
    let masker = Masker::new([secret]);
    for form in forms::of(secret) {
        let shown = masker.text(&format!("<{form}>")).into_owned();
        assert!(
            shown.starts_with("<********") && shown.ends_with('>'),
            "{form}: {shown}"
        );
        assert!(shown.len() < 30, "{form}: {shown}");
    }
}

#[test]
fn overlapping_secrets_are_hidden_as_one() {
    let masker = Masker::new(["abcdef", "defghi", "bcde"]);
    assert_eq!(masker.text("xabcdefghix abcdefx"), "x********x ********x");
}

#[test]
fn short_values_and_plain_words_stay() {
    let masker = Masker::new(["abc", "true"]);
    assert_eq!(masker.text("abc"), "abc");
    assert_eq!(
        masker.value(json!([true, null, "true"])),
        json!([true, null, "********"])
    );
    assert!(!Masker::hides("abc\n") && Masker::hides("abcd"));
}

#[test]
fn every_line_of_a_long_secret_is_hidden_by_itself() {
    let masker = Masker::new(["first line\n  second line\nab\n"]);
    assert_eq!(masker.text("x second line y"), "x ******** y");
    assert_eq!(
        masker.text("{\"a\": \"first line\\n\"}"),
        "{\"a\": \"********\\n\"}"
    );
    assert_eq!(masker.text("ab"), "ab");
}

#[test]
fn data_is_hidden_with_keys_and_numbers() {
    let masker = Masker::new(["12345", "hunter22"]);
    assert_eq!(
        masker.value(json!({"hunter22": [12345, 1], "b": {"c": "is hunter22"}})),
        json!({"********": ["********", 1], "b": {"c": "is ********"}})
    );
}

#[test]
fn a_secret_is_found_wherever_a_long_line_is_cut() {
    let masker = Masker::new(["hunter22", "er22 and more"]);
    let text = "aé hunter22hunter22 and more zé -----BEGIN PRIVATE KEY-----xyz-----END PRIVATE KEY----- hunter2\n";
    let wanted = flow(&masker, &[text]);
    assert_eq!(wanted, "aé **************** zé ******** hunter2\n");
    for (cut, _) in text.char_indices() {
        let (a, b) = text.split_at(cut);
        assert_eq!(flow(&masker, &[a, b]), wanted, "{cut}");
    }
    let each: Vec<String> = text.chars().map(String::from).collect();
    let each: Vec<&str> = each.iter().map(String::as_str).collect();
    assert_eq!(flow(&masker, &each), wanted);
}

#[test]
fn a_line_that_never_ends_is_shown_in_the_end() {
    let masker = Masker::new(["hunter22"]);
    let mut flow = Flow::default();
    assert_eq!(flow.end(&masker), "");
    let shown = flow.pass(&masker, "some text and hunter22 and hunter") + &flow.end(&masker);
    assert_eq!(shown, "some text and ******** and hunter\n");
    assert_eq!(flow.end(&masker), "");
}

#[test]
fn what_is_left_of_a_secret_at_a_cut_is_hidden() {
    let masker = Masker::new(["hunter22"]);
    assert_eq!(
        masker.text("it is hunt [cut]\nmore"),
        "it is ******** [cut]\nmore"
    );
    assert_eq!(masker.text("it is [cut]"), "it is [cut]");
}

#[test]
fn private_keys_are_hidden_whole_in_lines_and_cut_in_front() {
    let masker = Masker::new([]);
    assert_eq!(masker.text(&format!("a\n{KEY}b")), "a\n********\nb");
    let escaped = serde_json::to_string(KEY).unwrap();
    assert_eq!(masker.text(&escaped), "\"********\\n\"");
    let (_, tail) = KEY.split_at(50);
    assert_eq!(masker.text(&format!("{tail}b")), "********\nb");
    let public = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n";
    assert_eq!(masker.text(public), public);
    let lines: Vec<&str> = ["before\n"]
        .into_iter()
        .chain(KEY.split_inclusive('\n'))
        .chain(["after\n"])
        .collect();
    assert_eq!(flow(&masker, &lines), "before\n********\n\nafter\n");
}

#[test]
fn a_key_without_an_end_does_not_hide_the_run() {
    let masker = Masker::new([]);
    let shown = flow(
        &masker,
        &[
            "x -----BEGIN RSA PRIVATE KEY-----\n",
            "abc\n",
            "TASK [Next] **\n",
            "ok\n",
        ],
    );
    assert_eq!(shown, "x ********\nTASK [Next] **\nok\n");
}

#[test]
fn a_result_costs_microseconds() {
    let masker = Masker::new(["correct horse battery staple", "hunter22", "s3cr3t!\"'$x"]);
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(100);
    // The thread's own time: the machine may be busy with something else.
    let spent = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let before = spent();
    for _ in 0..200 {
        assert!(matches!(masker.text(&text), Cow::Borrowed(_)));
    }
    let took = spent() - before;
    // Even without optimisation; a message has at most 4 KiB.
    assert!(took.tv_sec == 0 && took.tv_nsec < 200_000_000, "{took:?}");
}
