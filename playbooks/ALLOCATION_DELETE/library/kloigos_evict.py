#!/usr/bin/python3
"""Closes a tenant's account and ends everything that runs with its UID."""

from __future__ import annotations

import json
import os
import pwd
import signal
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import MARKER_DIR, Host, read, write

DOCUMENTATION = r"""
module: kloigos_evict
short_description: No process of the tenant lives, and none can start
options:
  allocation_id: {description: The allocation., type: str, required: true}
  login_user: {description: Its user., type: str, required: true}
  login_uid: {description: Its UID., type: int, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: Nothing of the tenant runs
  kloigos_evict: {allocation_id: web, login_user: web, login_uid: 20001}
"""
RETURN = r""" # """


def processes(uid):
    """PIDs with this UID in any of its four roles."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            for line in read("/proc/%s/status" % name).splitlines():
                if line.startswith("Uid:"):
                    if str(uid) in line.split()[1:]:
                        found.append(int(name))
                    break
    return found


def say_deleting(host, path):
    """From here on the filter gives the tenant nothing, and a create refuses to go on."""
    marker = json.loads(read(path))
    if marker.get("phase") != "deleting":
        marker["phase"] = "deleting"
        host.change("the marker says deleting",
                    lambda: write(path, json.dumps(marker, indent=4, sort_keys=True) + "\n", 0o600))


def end_all(host, uid):
    cgroup = "/sys/fs/cgroup/user.slice/user-%d.slice" % uid
    units = ["user@%d.service" % uid, "user-%d.slice" % uid]
    # Stopping first keeps systemd from restarting what dies; not waiting, because a process
    # that ignores TERM would hold it up for a minute and a half.
    host.run(["systemctl", "stop", "--no-block"] + units, ok=None)
    end = time.monotonic() + 30
    while True:
        kill_group(cgroup)
        left = processes(uid)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            break
        if time.monotonic() > end:
            host.fail("processes of UID %d do not end: %s" % (uid, ", ".join(map(str, left))))
        time.sleep(0.2)
    host.run(["systemctl", "stop"] + units, ok=None)


def kill_group(cgroup):
    """The whole group dies in one step of the kernel, so that nothing can fork its way out."""
    try:
        with open(cgroup + "/cgroup.kill", "w", encoding="ascii") as handle:
            handle.write("1")
    except OSError:
        pass  # the group is gone already


def main():
    module = AnsibleModule(
        argument_spec={"allocation_id": {"type": "str", "required": True},
                       "login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    user, uid = module.params["login_user"], module.params["login_uid"]
    say_deleting(host, "%s/%s.json" % (MARKER_DIR, module.params["allocation_id"]))
    try:
        exists = pwd.getpwnam(user).pw_uid == uid
    except KeyError:
        exists = False
    # An expired account lets nobody in by any key while its processes are being ended.
    if exists and read("/etc/shadow") and not any(
            line.split(":")[0] == user and line.split(":")[7] == "1" for line in read("/etc/shadow").splitlines()):
        host.change("closed the account " + user, ["usermod", "--lock", "--expiredate", "1", user])
    if os.path.exists("/var/lib/systemd/linger/" + user):
        host.change("no user manager at boot", lambda: os.unlink("/var/lib/systemd/linger/" + user))
    running = host.run(["systemctl", "is-active", "user@%d.service" % uid, "user-%d.slice" % uid], ok=None).split()
    if processes(uid) or "active" in running:
        host.change("ended every process of UID %d" % uid, lambda: end_all(host, uid))
    host.done()


if __name__ == "__main__":
    main()
