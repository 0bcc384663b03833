"""Tells kloigos what a run does, and waits where kloigos has to answer first.

One JSON line an event goes to the socket whose descriptor KLOIGOS_EVENTS_FD
names. Before a play whose hosts are new, the line {"event": "claim"} asks for
them; the run goes on when the answer {"go": true} comes, which carries the
lock files of the hosts as descriptors: as long as a process of this run lives,
they stay locked, whatever becomes of kloigos. When the socket closes, kloigos
is gone and the run ends.
"""

import json
import os
import pwd
import queue
import re
import signal
import socket
import sys
import threading
import time

from ansible.plugins.callback import CallbackBase

try:
    from ansible.template import Templar
except ImportError:  # pragma: no cover
    Templar = None

DOCUMENTATION = """
    name: kloigos
    type: aggregate
    short_description: tells kloigos what a run does
    description: Writes one JSON line for each event to an inherited socket.
"""

MESSAGE_LIMIT = 4096
DIFF_LIMIT = 64 * 1024
HIDDEN = "its output is hidden by no_log"
# Before a text is cut: what is left of a key would not be known for one.
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# Tasks that bring hosts or further tasks.
LATER = ("add_host", "group_by", "include_tasks", "include_role")
DEBUG = ("debug", "ansible.builtin.debug", "ansible.legacy.debug")
# Of a debug task's result these are not what it says.
NOT_SAID = {"changed", "failed", "skipped", "skip_reason", "results", "warnings", "deprecations", "exception"}
PAUSE = ("pause", "ansible.builtin.pause", "ansible.legacy.pause")
GRACE_SECONDS = 4


def processes():
    """PID: (parent, start time); the start time tells a PID that is used again."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as handle:
                fields = handle.read().rpartition(")")[2].split()
            if fields[0] != "Z":
                found[int(name)] = (int(fields[1]), fields[19])
        except (OSError, ValueError, IndexError):
            continue
    return found


def descendants(roots):
    """{PID: start time} below the roots; a worker has a session of its own."""
    everything = processes()
    found, todo = {}, list(roots)
    while todo:
        parent = todo.pop()
        for pid, (of, start) in everything.items():
            if of == parent and pid not in found:
                found[pid] = start
                todo.append(pid)
    return found


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def outlive(below):
    """In a process of its own: sees that all of these end, whatever becomes of us."""
    if os.fork():
        return
    try:
        os.setsid()
        deadline = time.monotonic() + GRACE_SECONDS
        while below:
            below.update({p: s for p, s in descendants(below).items() if p != os.getpid()})
            now = processes()
            below = {p: s for p, s in below.items() if now.get(p, (0, None))[1] == s}
            late = time.monotonic() >= deadline
            signal_all(below, signal.SIGKILL if late else signal.SIGTERM)
            time.sleep(0.1)
    finally:
        os._exit(0)


def debugged(data):
    """What a debug task says: its message, or the variables that it names."""
    shown = {key: value for key, value in data.items() if key not in NOT_SAID and not key.startswith("_")}
    if list(shown) == ["msg"]:
        return shorten(shown["msg"])
    if not shown:
        return None
    return "\n".join("%s: %s" % (key, shorten(value)) for key, value in sorted(shown.items()))


def tasks_of(blocks):
    """All tasks of blocks in blocks."""
    for one in blocks:
        if hasattr(one, "block"):
            yield from tasks_of(one.block + one.rescue + one.always)
        else:
            yield one


def is_rescued(task):
    """Whether a failure of the task goes to a rescue section, at whatever depth."""
    below = task
    above = getattr(task, "_parent", None)
    while above is not None:
        if getattr(above, "rescue", None):
            inside = {getattr(one, "_uuid", None) for one in above.block}
            if getattr(below, "_uuid", None) in inside:
                return True
        below, above = above, getattr(above, "_parent", None)
    return False


class Channel:
    """The socket: written by the main thread, read by a thread of its own."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.socket.set_inheritable(False)
        self.answers = queue.Queue()
        self.claims = []
        self.pid = os.getpid()
        threading.Thread(target=self.read, daemon=True, name="kloigos").start()

    def send(self, event):
        line = json.dumps(event, default=str, ensure_ascii=True) + "\n"
        try:
            self.socket.sendall(line.encode("ascii"))
        except OSError:
            self.end()

    def read(self):
        pending = b""
        while True:
            try:
                data, descriptors, _flags, _address = socket.recv_fds(self.socket, 65536, 250)
            except OSError:
                data, descriptors = b"", []
            for descriptor in descriptors:
                # Only processes of Ansible keep them, nothing that a task starts.
                os.set_inheritable(descriptor, False)
                self.claims.append(descriptor)
            if not data:
                self.end()
            pending += data
            while b"\n" in pending:
                line, _newline, pending = pending.partition(b"\n")
                self.answers.put(json.loads(line))

    def ask(self, event):
        self.send(event)
        answer = self.answers.get()
        if not answer.get("go"):
            self.end()

    def end(self):
        """Kloigos is gone or says no: nothing of this run may go on."""
        if os.getpid() != self.pid:
            os._exit(77)
        below = descendants([self.pid])
        signal_all(below, signal.SIGTERM)
        # Before 2.19 Ansible dies of TERM at once, and its workers go on.
        outlive(below)
        os.kill(self.pid, signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
        os._exit(77)


def shorten(text):
    text = text if isinstance(text, str) else json.dumps(text, default=str)
    text = PRIVATE_KEY.sub("********", text).strip()
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " [cut]"


def message(result):
    """Why a task failed, in the words that a person would look for first."""
    parts = []
    for key in ("msg", "message", "reason"):
        if result.get(key):
            parts.append(shorten(result[key]))
            break
    # A module that broke says why only on its error stream.
    for key in ("module_stderr", "stderr", "exception", "module_stdout"):
        text = result.get(key)
        if isinstance(text, str) and text.strip() and text.strip() not in parts:
            if key in ("exception", "module_stdout") and parts and not str(parts[0]).startswith("MODULE FAILURE"):
                continue
            text = PRIVATE_KEY.sub("********", text)
            parts.append(shorten("\n".join(text.strip().splitlines()[-12:])))
            break
    for item in result.get("results") or []:
        if isinstance(item, dict) and item.get("failed") and item.get("msg"):
            parts.append(shorten("item %s: %s" % (item.get("item", item.get("_ansible_item_label", "")), item["msg"])))
            break
    return "\n".join(parts) or None


def own_name():
    """As whom ssh logs in where nothing says it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def keep_silent(name):
    """From 2.19 on, Ansible prints the exception and the warnings of a task whose result no_log hides."""
    original = getattr(CallbackBase, name, None)
    if original is None:
        return

    def handle(self, result, *args, **kwargs):
        if isinstance(result, dict) and "censored" in result:
            for key in ("exception", "warnings", "deprecations"):
                result.pop(key, None)
        return original(self, result, *args, **kwargs)

    setattr(CallbackBase, name, handle)


for method in ("_handle_warnings", "_handle_exception"):
    keep_silent(method)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kloigos"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        descriptor = os.environ.pop("KLOIGOS_EVENTS_FD", None)
        self.channel = Channel(int(descriptor)) if descriptor else None
        self.disabled = self.channel is None
        self.plays = []
        self.play = None
        self.ssh_only = os.environ.get("KLOIGOS_SSH_ONLY") == "1"
        # Only told what would be done.
        self.explains = os.environ.get("KLOIGOS_EXPLAIN") == "1"
        self.asked = None
        self.numbers = {}
        self.started = {}

    def send(self, event, **fields):
        fields["event"] = event
        self.channel.send(fields)

    # Plays and the claims on their hosts.

    def v2_playbook_on_start(self, playbook):
        self.plays = list(playbook.get_plays())
        from ansible.release import __version__ as version
        self.send("start", ansible_version=version)
        for play in self.plays:
            given = play.get_variable_manager().extra_vars
            names = [one["name"] for one in play.vars_prompt or [] if one.get("name") not in given]
            if names:
                self.refuse("the play `%s` asks for %s" % (play.get_name(), ", ".join(names)), names)

    def refuse(self, text, names=(), asks=True):
        """Without a terminal Ansible would take an answer that nobody gave."""
        self.send("refused", text=text, variables=list(names), asks=asks)
        if not self.explains:
            self.channel.end()

    def applies(self, task, variables):
        """Whether `when` lets the task run, as far as it can be told now."""
        try:
            if hasattr(task, "_resolve_conditional"):
                return task._resolve_conditional(task.when, variables)
            # Before 2.19.
            templar = Templar(loader=self.play.get_variable_manager()._loader, variables=variables)
            return task.evaluate_conditional(templar, variables)
        except Exception:  # then nobody can tell, and the careful answer is yes
            return True

    def hosts_with_variables(self, play, task):
        manager = play.get_variable_manager()
        for host in manager._inventory.get_hosts(play.hosts):
            yield host, manager.get_vars(play=play, host=host, task=task)

    def waits_for_a_person(self, play, task):
        """A pause without a time."""
        if task.action not in PAUSE or any(key in task.args for key in ("minutes", "seconds")):
            return False
        return any(self.applies(task, variables) for _host, variables in self.hosts_with_variables(play, task))

    def refuse_pause(self, play, task):
        if self.waits_for_a_person(play, task):
            self.refuse("the task `%s` waits for a person" % task.get_name().strip())

    def delegates(self, play, task):
        """Hosts that the task works on in place of its own, and whether some are not known."""
        loader = play.get_variable_manager()._loader
        names, unknown = set(), False
        for host, variables in self.hosts_with_variables(play, task):
            loop = [None]
            if task.loop and not task.loop_with:
                try:
                    loop = Templar(loader=loader, variables=variables).template(task.loop)
                except Exception:
                    loop = [None]
            loop_var = getattr(task.loop_control, "loop_var", None) or "item"
            for item in loop if isinstance(loop, (list, tuple)) else [None]:
                here = variables if item is None else dict(variables, **{str(loop_var): item})
                if item is None and not task.loop and not task.loop_with and not self.applies(task, here):
                    continue
                try:
                    name = Templar(loader=loader, variables=here).template(task.delegate_to)
                except Exception:
                    unknown = True
                    continue
                if isinstance(name, str) and name and name != host.name:
                    names.add(name)
        return names, unknown

    def delegates_of(self, play):
        """Those that can be told before the play begins; the others are claimed before their task."""
        names = set()
        try:
            for task in tasks_of(play.compile()):
                if task.delegate_to:
                    names |= self.delegates(play, task)[0]
        except Exception:  # a pattern or a variable that only comes later
            pass
        return [self.delegate(play, name) for name in sorted(names)]

    def claim_delegates(self, task):
        """Those that could not be told at the play's start."""
        if not task.delegate_to:
            return
        names, unknown = self.delegates(self.play, task)
        if unknown:
            self.send("warning", text="the task `%s` is delegated to a host that is not known beforehand: "
                      "it is not claimed" % task.get_name().strip())
        new = [self.delegate(self.play, name) for name in sorted(names) if name not in self.asked]
        if new:
            self.asked.update(names)
            self.channel.ask({"event": "claim", "hosts": new})

    def delegate(self, play, name):
        host = play.get_variable_manager()._inventory.get_host(name)
        if host is not None:
            return dict(self.told(play, host), delegate=True)
        return {"name": name, "address": name, "port": None, "delegate": True, "implicit": False,
                "connection": str(play.connection or "ssh"), "user": str(play.remote_user or own_name())}

    def matching(self, play):
        manager = play.get_variable_manager()
        try:
            templar = Templar(loader=manager._loader, variables=manager.get_vars(play=play))
            pattern = templar.template(play.hosts)
        except Exception:  # an undefined variable: Ansible itself says so when the play starts
            return []
        return manager._inventory.get_hosts(pattern, ignore_restrictions=True)

    def hosts_of(self, play):
        return [self.told(play, host) for host in self.matching(play)]

    def told(self, play, host):
        """A host as the connection will see it."""
        manager = play.get_variable_manager()
        variables = manager.get_vars(play=play, host=host)
        templar = Templar(loader=manager._loader, variables=variables)

        def value(name):
            try:
                return templar.template(variables.get(name))
            except Exception:
                return None

        port = value("ansible_port") or value("ansible_ssh_port")
        return {
            "name": host.name,
            "address": str(value("ansible_host") or value("ansible_ssh_host") or host.name),
            "port": int(port) if str(port or "").isdigit() else None,
            "connection": str(value("ansible_connection") or play.connection or "ssh"),
            "user": str(value("ansible_user") or value("ansible_ssh_user") or play.remote_user or own_name()),
            "implicit": bool(getattr(host, "implicit", False)),
        }

    def v2_playbook_on_play_start(self, play):
        self.guarded(self.play_start, play)

    def guarded(self, step, of):
        # An exception here would be swallowed and the run go on unclaimed.
        try:
            step(of)
        except BaseException as error:
            sys.stderr.write("kloigos: the hosts of a play cannot be told: %r\n" % (error,))
            self.channel.end()

    def refuse_connection(self, task):
        """A way in that does not go through ssh has nothing of this run's credentials."""
        given = task.vars.get("ansible_connection") or task.connection
        name = given.rpartition(".")[2] if isinstance(given, str) else ""
        if self.ssh_only and name not in ("", "ssh", "smart", "local"):
            self.refuse("the task `%s` uses the connection %s, which does not log in with the run's own SSH credentials"
                        % (task.get_name().strip(), name), asks=False)

    def task_start(self, task):
        self.refuse_connection(task)
        self.refuse_pause(self.play, task)
        self.claim_delegates(task)

    def explain(self):
        """Plays and hosts as they are known beforehand; nothing is touched."""
        wanted = {}
        for play in self.plays:
            self.play = play
            self.tell_play(play)
            for task in tasks_of(play.compile()):
                self.refuse_connection(task)
                self.refuse_pause(play, task)
                if task.action.rpartition(".")[2] in LATER:
                    self.send("warning", text="what the task `%s` brings, hosts of it too, is only known when it runs"
                              % task.get_name().strip())
            for host in self.hosts_of(play) + self.delegates_of(play):
                wanted.setdefault(host["name"], host)
        self.send("claim", hosts=list(wanted.values()))
        os._exit(0)

    def tell_play(self, play):
        pattern = play.hosts if isinstance(play.hosts, str) else ", ".join(map(str, play.hosts or []))
        self.send("play", name=play.get_name(), pattern=pattern, hosts=[host.name for host in self.matching(play)])

    def play_start(self, play):
        self.play = play
        if self.explains:
            self.explain()
        if self.asked is None:
            self.asked = set()
            todo = self.plays or [play]
        else:
            todo = [play]
        wanted = {}
        for one in todo:
            for host in self.hosts_of(one) + self.delegates_of(one):
                wanted.setdefault(host["name"], host)
        new = {name: host for name, host in wanted.items() if name not in self.asked}
        if new or not self.asked:
            self.asked.update(new)
            self.asked.add("")
            self.channel.ask({"event": "claim", "hosts": list(new.values())})
        self.tell_play(play)

    def v2_playbook_on_no_hosts_matched(self):
        self.send("no_hosts")

    # Tasks and results.

    def number(self, task, handler=False):
        known = self.numbers.get(task._uuid)
        if known is None:
            known = self.numbers[task._uuid] = len(self.numbers) + 1
            self.send("task", task=known, name=task.get_name().strip(), action=str(task.action), handler=handler)
        return known

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.number(task)
        self.guarded(self.task_start, task)

    def v2_playbook_on_handler_task_start(self, task):
        self.number(task, handler=True)
        self.guarded(self.task_start, task)

    def v2_playbook_on_cleanup_task_start(self, task):
        self.number(task)

    def v2_runner_on_start(self, host, task):
        number = self.number(task)
        self.started[(host.name, task._uuid)] = time.monotonic()
        self.send("host", task=number, host=host.name)

    def parts(self, result):
        """Data, host and task; the names with underscores end with 2.23."""
        data = getattr(result, "result", None)
        if not isinstance(data, dict):
            data = result._result
        host = getattr(result, "host", None) or result._host
        task = getattr(result, "task", None) or result._task
        if not hasattr(task, "_uuid"):
            task = result._task
        return data, host, task

    def result(self, result, status, changed=None):
        data, host, task = self.parts(result)
        begun = self.started.pop((host.name, task._uuid), None)
        took = 0 if begun is None else int((time.monotonic() - begun) * 1000)
        said = None
        if status == "failed" and is_rescued(task):
            status = "rescued"
        hidden = "censored" in data or data.get("_ansible_no_log") or task.no_log is True
        if hidden:
            said = HIDDEN if status in ("failed", "rescued", "ignored", "unreachable") else None
        elif status in ("failed", "rescued", "ignored", "unreachable"):
            said = message(data)
        elif task.action in DEBUG:
            # Written for people to read.
            said = debugged(data)
        elif status == "skipped":
            said = shorten(data["skip_reason"]) if data.get("skip_reason") else None
        delegate = None
        if status == "unreachable" and isinstance(task.delegate_to, str) and "{{" not in task.delegate_to:
            delegate = task.delegate_to
        self.send("result", task=self.number(task), host=host.name, status=status, delegate=delegate,
                  changed=bool(data.get("changed")) if changed is None else changed,
                  duration_ms=took, message=said)
        for text in [] if hidden else data.get("warnings") or []:
            self.send("warning", text=shorten(text))

    def v2_runner_on_ok(self, result):
        changed = bool(result._result.get("changed"))
        self.result(result, "changed" if changed else "ok", changed)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.result(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result):
        self.result(result, "unreachable")

    def v2_runner_on_skipped(self, result):
        self.result(result, "skipped", False)

    def v2_on_file_diff(self, result):
        data, host, task = self.parts(result)
        items = data["results"] if task.loop and "results" in data else [data]
        for item in items:
            if not isinstance(item, dict) or not item.get("diff") or not item.get("changed"):
                continue
            text = PRIVATE_KEY.sub("********", self._get_diff(item["diff"]))
            if len(text) > DIFF_LIMIT:
                text = text[:DIFF_LIMIT] + "\n[diff truncated]\n"
            if text.strip():
                self.send("diff", task=self.number(task), host=host.name, text=text)

    # The end.

    def v2_playbook_on_stats(self, stats):
        hosts = []
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            hosts.append({
                "host": host,
                "ok": counts.get("ok", 0),
                "changed": counts.get("changed", 0),
                "failed": counts.get("failures", 0),
                "unreachable": counts.get("unreachable", 0),
                "skipped": counts.get("skipped", 0),
                "rescued": counts.get("rescued", 0),
                "ignored": counts.get("ignored", 0),
            })
        data = {}
        for owner in stats.custom.values():
            if isinstance(owner, dict) and isinstance(owner.get("kloigos"), dict):
                data.update(owner["kloigos"])
        self.send("stats", hosts=hosts, data=data or None)
