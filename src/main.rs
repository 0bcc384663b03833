//! Returns an exit code, nothing else.

fn main() -> std::process::ExitCode {
    kloigos::app::main()
}
