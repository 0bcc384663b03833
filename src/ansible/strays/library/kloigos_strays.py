#!/usr/bin/python
"""Finds processes that an earlier Ansible run from the same machine has left."""

import os
import time

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: kloigos_strays
short_description: Processes that an earlier run has left at work
description:
  - A process belongs to it when it began within the run, carries the address of
    the same SSH client in its environment, and has a command as Ansible starts
    them; and so do all processes below it.
author: Kloigos
options:
  started_ago:
    description: Seconds since the run began.
    type: float
    required: true
  ended_ago:
    description: Seconds since it ended.
    type: float
    required: true
"""

# Clocks differ, and a task may have been sent just before the end.
SLACK = 5
SHOWN = 300
MARKS = ("&& sleep 0", "BECOME-SUCCESS-", "AnsiballZ_", "/ansible-tmp-")


def read(pid, name):
    try:
        with open("/proc/%s/%s" % (pid, name), "rb") as handle:
            return handle.read().decode("utf-8", "replace")
    except OSError:
        return ""


def processes():
    """PID: (parent, age in seconds)."""
    ticks = os.sysconf("SC_CLK_TCK")
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    found = {}
    for name in os.listdir("/proc"):
        fields = read(name, "stat").rpartition(")")[2].split() if name.isdigit() else []
        if len(fields) > 19 and fields[0] != "Z":
            found[int(name)] = (int(fields[1]), uptime - int(fields[19]) / ticks)
    return found


def ancestors(everything, pid):
    found = set()
    while pid in everything and pid not in found:
        found.add(pid)
        pid = everything[pid][0]
    return found


def main():
    module = AnsibleModule(
        argument_spec={
            "started_ago": {"type": "float", "required": True},
            "ended_ago": {"type": "float", "required": True},
        },
        supports_check_mode=True,
    )
    client = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    everything = processes()
    mine = ancestors(everything, os.getpid())
    found = set()
    for pid, (_parent, age) in everything.items():
        within = module.params["ended_ago"] - SLACK <= age <= module.params["started_ago"] + SLACK
        if pid in mine or not within or not client:
            continue
        environment = read(pid, "environ").split("\0")
        if not any(one.startswith("SSH_CONNECTION=%s " % client) for one in environment):
            continue
        command = read(pid, "cmdline").replace("\0", " ")
        if any(mark in command for mark in MARKS):
            found.add(pid)
    # sudo does not pass the environment on.
    more = True
    while more:
        below = {pid for pid, (parent, _age) in everything.items() if parent in found and pid not in mine}
        more = not below <= found
        found |= below
    strays = [
        {
            "pid": pid,
            "seconds": int(everything[pid][1]),
            "command": read(pid, "cmdline").replace("\0", " ").strip()[:SHOWN],
        }
        for pid in sorted(found)
    ]
    module.exit_json(changed=False, strays=strays)


if __name__ == "__main__":
    main()
