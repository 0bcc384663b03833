# This file is the same, byte for byte, in every packaged playbook that has it:
# a bundle must be whole by itself.
"""A host as the modules of a packaged playbook see it.

Everything that alters the host goes through `change`, so that check mode and
the reported `changed` can never disagree with what is done.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time

ETC = "/etc/kloigos"
OWNER_FILE = ETC + "/owner"
MARKER_DIR = ETC + "/allocations"
LIB = "/usr/local/lib/kloigos"
SHELL_DIR = LIB + "/shells"
NET_TOOL = LIB + "/kloigos-net"
STAMP_DIR = "/run/kloigos"
LOCK_FILE = "/run/kloigos.lock"


class Host:
    """Runs commands, counts changes, respects check mode."""

    def __init__(self, module):
        self.module = module
        self.check = module.check_mode
        self.changes = []
        self.lock = open(LOCK_FILE, "a", encoding="ascii")  # pylint: disable=consider-using-with
        if not wait_for(self.locked, 120):
            self.fail("another playbook of Kloigos is still at work on this host")

    def locked(self):
        """A module whose run was killed works on to its end on this host: the next one waits for it."""
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # SERVER_DECOMM removes the file: one that has no name any more excludes nobody.
        if os.path.exists(LOCK_FILE) and os.path.samestat(os.fstat(self.lock.fileno()), os.stat(LOCK_FILE)):
            return True
        self.lock = open(LOCK_FILE, "a", encoding="ascii")  # pylint: disable=consider-using-with
        return False

    def fail(self, message, **data):
        self.module.fail_json(msg=message, changes=self.changes, changed=bool(self.changes), **data)

    def done(self, **data):
        self.module.exit_json(changed=bool(self.changes), changes=self.changes, **data)

    def run(self, argv, ok=(0,), data=None, timeout=180, quiet=False):
        """Runs argv, gives stdout; `ok` None accepts any exit code."""
        environment = dict(os.environ, LC_ALL="C", PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        try:
            done = subprocess.run(
                argv, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=timeout, env=environment, check=False, text=True, errors="replace",
                stdin=None if data is not None else subprocess.DEVNULL)
        except FileNotFoundError:
            if ok is None:
                return ""
            self.fail("the program %s is not on this host" % argv[0])
        except subprocess.TimeoutExpired:
            self.fail("%s gave no answer within %d s" % (" ".join(argv), timeout))
        if ok is not None and done.returncode not in ok:
            self.fail("%s failed (exit %d): %s" % (
                " ".join(argv), done.returncode, (done.stderr or done.stdout).strip()))
        return done.stdout if not quiet else ""

    def succeeds(self, argv, timeout=180):
        """Whether argv exits with 0; a missing program does not."""
        try:
            return subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=timeout, env=dict(os.environ, LC_ALL="C"), check=False).returncode == 0
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return False

    def has(self, program):
        return shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is not None

    def change(self, what, *actions):
        """Records a change; does it (commands or callables) outside check mode."""
        self.changes.append(what)
        if self.check:
            return
        for action in actions:
            if callable(action):
                action()
            else:
                self.run(action)

    def read_json(self, argv):
        """The JSON that argv prints; None where it fails or prints nothing."""
        text = self.run(argv, ok=None)
        try:
            return json.loads(text)
        except ValueError:
            return None


def read(path, default=""):
    """A small text file without its last line end; `default` where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read().rstrip("\n")
    except OSError:
        return default


def write(path, text, mode=0o644):
    """Replaces a root-owned file in one step, on disk before it is visible."""
    directory = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(prefix=".kloigos-", dir=directory)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def unit_name(path, suffix="mount"):
    """The systemd unit of a path, as `systemd-escape --path` gives it."""
    escaped = []
    for index, char in enumerate(path.strip("/")):
        if char == "/":
            escaped.append("-")
        elif (char.isascii() and char.isalnum()) or char in ":_" or (char == "." and index):
            escaped.append(char)
        else:
            escaped.append("".join("\\x%02x" % byte for byte in char.encode()))
    return "%s.%s" % ("".join(escaped), suffix)


def cpu_numbers(text):
    """The CPUs of a kernel list such as 0-3,8."""
    numbers = set()
    for part in text.replace(" ", ",").split(","):
        if part:
            first, dash, last = part.partition("-")
            numbers.update(range(int(first), int(last if dash else first) + 1))
    return numbers


def markers():
    """The allocations of this host, by allocation id."""
    found = {}
    try:
        names = sorted(os.listdir(MARKER_DIR))
    except OSError:
        return found
    for name in names:
        if name.endswith(".json") and not name.startswith("."):
            try:
                marker = json.loads(read(os.path.join(MARKER_DIR, name)))
                found[marker["allocation_id"]] = marker
            except (ValueError, KeyError, TypeError):
                found["?" + name] = {"allocation_id": "?" + name, "broken": True}
    return found


def owner_problem(owner_id, adopt=False):
    """Why this store may not touch this host, or None."""
    stamp = read(OWNER_FILE).strip()
    if stamp and stamp != owner_id and not adopt:
        return ("this host belongs to another Kloigos store (%s has %s, this store is %s); "
                "nothing was changed. `kloigos server add … --adopt` takes it over knowingly"
                % (OWNER_FILE, stamp, owner_id))
    return None


def boot_time():
    for line in read("/proc/stat").splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def digest(paths):
    """One digest over the contents of some files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.encode() + b"\0" + read(path).encode() + b"\0")
    return total.hexdigest()


def in_force(name, paths):
    """Whether a daemon has these files as they are now.

    A run may die between writing a file and making the daemon read it, so the
    file alone proves nothing. True when the stamp of the last reload matches,
    or when nothing changed since boot, which read them all.
    """
    stamp = read(os.path.join(STAMP_DIR, name))
    if stamp:
        return stamp == digest(paths)
    return all(os.stat(path).st_ctime < boot_time() for path in paths if os.path.exists(path))


def stamp(name, paths):
    """Remembers until the next boot that a daemon has read these files."""
    os.makedirs(STAMP_DIR, mode=0o700, exist_ok=True)
    write(os.path.join(STAMP_DIR, name), digest(paths) + "\n", 0o600)


def wait_for(condition, seconds=20.0, pause=0.2):
    """Waits until condition() is true; gives its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)
