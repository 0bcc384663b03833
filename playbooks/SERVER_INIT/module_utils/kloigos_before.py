# This file is the same, byte for byte, in every packaged playbook that has it:
# a bundle must be whole by itself.
"""What a host was like before Kloigos, kept on the host itself for SERVER_DECOMM.

Each thing is noted once, on disk before it is changed, and never again: what a
second attempt finds is already Kloigos' own doing. The file goes with the owner
stamp, last of all.

    existed             path or `group NAME` → whether it was there
    sysctl              key → its value in the kernel
    residual            package → true where only its settings were left of it
    physical_volumes    UUID → the disk on which Kloigos made it
"""

from __future__ import annotations

import json

from ansible.module_utils.kloigos_host import ETC, read, write

BEFORE = ETC + "/before.json"
# One name a line: what dpkg newly installed for SERVER_INIT, as dpkg itself tells it.
PACKAGES = ETC + "/packages"
# On the logical volumes and the volume group that Kloigos made.
TAG = "kloigos"


def server_tag(server):
    """On a logical volume beside TAG: a disk of another server may be in this host to be rescued."""
    return "%s=%s" % (TAG, server)


def recall(kind):
    """What is noted of one kind; empty where nothing is."""
    try:
        return json.loads(read(BEFORE, "{}")).get(kind, {})
    except ValueError:
        return {}


def remember(host, kind, found, told=None):
    """Adds what has no note yet. `told` says of it what its keys would not."""
    known = recall(kind)
    new = {key: value for key, value in found.items() if key not in known}
    if not new:
        return

    def note():
        everything = json.loads(read(BEFORE, "{}"))
        everything.setdefault(kind, {}).update(new)
        write(BEFORE, json.dumps(everything, indent=4, sort_keys=True) + "\n", 0o600)
    host.change("noted what was here before: %s %s" % (kind, told or ", ".join(sorted(new))), note)


def settings(text):
    """Key and value of each line of a sysctl.d file."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            found[key.strip()] = value.strip()
    return found


def proc_path(key):
    return "/proc/sys/" + key.replace(".", "/")
