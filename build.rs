//! Embedded folders are no inputs that the compiler sees by itself.

fn main() {
    println!("cargo:rerun-if-changed=playbooks");
    println!("cargo:rerun-if-changed=migrations");
}
