#!/usr/bin/python3
"""Asks kernel, daemons and file systems whether anything of a tenant is left; then drops the marker."""

from __future__ import annotations

import grp
import ipaddress
import os
import pwd

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import MARKER_DIR, SHELL_DIR, Host, read, unit_name

DOCUMENTATION = r"""
module: kloigos_absence
short_description: Reads back that a tenant is gone, then removes its marker
description:
  - The marker goes last, and only when everything else is gone, so that a run that
    failed here can be repeated.
  - Fails with the names of what is left; in check mode it only lists them.
options:
  allocation_id: {description: The allocation., type: str, required: true}
  login_user: {description: Its user., type: str, required: true}
  login_uid: {description: Its UID., type: int, required: true}
  address: {description: Its floating address., type: str, required: true}
  storage: {description: Mount path of its volume., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: Nothing is left
  kloigos_absence:
    allocation_id: web
    login_user: web
    login_uid: 20001
    address: 10.0.2.50
    storage: /mnt/kloigos/lab1/cu00
"""
RETURN = r"""
left: {description: What is still there., type: list, returned: always}
"""

KERNEL_ONLY = {"proc", "sysfs", "cgroup2", "cgroup", "devpts", "securityfs", "debugfs", "tracefs", "bpf", "configfs",
               "fusectl", "pstore", "efivarfs", "binfmt_misc", "autofs", "rpc_pipefs", "nsfs", "selinuxfs"}
REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "fuse.glusterfs", "afs", "ocfs2", "gfs2"}


def local_mounts(storage):
    """Local file systems, each once, without the volumes of other compute units."""
    seen, found = set(), []
    for line in read("/proc/self/mountinfo").splitlines():
        before, after = line.split(" - ")
        device, root, point = before.split()[2:5]
        kind = after.split()[0]
        other_unit = point.startswith(os.path.dirname(storage) + "/") and point != storage
        if kind in KERNEL_ONLY or kind in REMOTE or device in seen or root != "/" or other_unit:
            continue
        seen.add(device)
        found.append(point.replace("\\040", " "))
    return found


def owned_files(host, params):
    left = []
    for point in local_mounts(params["storage"]):
        left += [path for path in host.run(
            ["find", point, "-xdev", "(", "-uid", str(params["login_uid"]), "-o", "-gid", str(params["login_uid"]), ")",
             "-print0"], ok=None, timeout=3000).split("\0") if path]
    return left


def processes(uid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            line = next((one for one in read("/proc/%s/status" % name).splitlines() if one.startswith("Uid:")), "")
            if str(uid) in line.split()[1:]:
                found.append("%s (%s)" % (name, read("/proc/%s/comm" % name)))
    return found


def account(params):
    found = []
    for lookup, what in ((lambda: pwd.getpwnam(params["login_user"]), "user " + params["login_user"]),
                         (lambda: pwd.getpwuid(params["login_uid"]), "UID %d" % params["login_uid"]),
                         (lambda: grp.getgrnam(params["login_user"]), "group " + params["login_user"]),
                         (lambda: grp.getgrgid(params["login_uid"]), "GID %d" % params["login_uid"])):
        try:
            lookup()
            found.append(what)
        except KeyError:
            pass
    return found


def network(host, params):
    found, uid = [], params["login_uid"]
    address = ipaddress.ip_address(params["address"])
    for link in host.read_json(["ip", "-j", "addr", "show"]) or []:
        for entry in link.get("addr_info", []):
            if entry.get("local") and ipaddress.ip_address(entry["local"]) == address:
                found.append("address %s on %s" % (address, link["ifname"]))
    for family in ("-4", "-6"):
        if "uidrange %d-%d " % (uid, uid) in host.run(["ip", family, "rule", "show"], ok=None):
            found.append("rule of UID %d" % uid)
        if host.run(["ip", family, "route", "show", "table", str(uid)], ok=None).strip():
            found.append("routes in table %d" % uid)
    for entry in (host.read_json(["nft", "-j", "list", "table", "inet", "kloigos"]) or {"nftables": []})["nftables"]:
        members = entry.get("set", {}).get("elem", [])
        flat = [str(part) for one in members for part in (one["concat"] if isinstance(one, dict) else [one])]
        if str(uid) in flat or str(address) in flat:
            found.append("nftables set " + entry["set"]["name"])
    return found


def settings(params):
    user, uid = params["login_user"], params["login_uid"]
    paths = [SHELL_DIR + "/" + user, "/etc/apparmor.d/kloigos-" + user, "/home/" + user, "/opt/" + user, "/mnt/" + user,
             "/etc/systemd/system/user-%d.slice.d" % uid, "/etc/systemd/system/user@%d.service.d" % uid,
             "/run/systemd/system.control/user-%d.slice.d" % uid, "/run/user/%d" % uid,
             "/var/lib/systemd/linger/" + user, "/var/spool/cron/crontabs/" + user, "/var/mail/" + user,
             "/etc/systemd/system/" + unit_name("/mnt/" + user),
             "/etc/systemd/system/local-fs.target.wants/" + unit_name("/mnt/" + user),
             "/sys/fs/cgroup/user.slice/user-%d.slice" % uid]
    found = [path for path in paths if os.path.lexists(path)]
    for directory, _names, files in os.walk("/etc/systemd/network"):
        found += [os.path.join(directory, name) for name in files if name == "kloigos-%s.conf" % user]
    if any(line.split(" (")[0].split("//")[0] == "kloigos-" + user
           for line in read("/sys/kernel/security/apparmor/profiles").splitlines()):
        found.append("loaded profile kloigos-" + user)
    for path in ("/etc/subuid", "/etc/subgid"):
        if any(line.startswith(user + ":") for line in read(path).splitlines()):
            found.append("entry in " + path)
    return found


def volume(params):
    path = params["storage"]
    if not os.path.ismount(path):
        return ["volume %s is not mounted" % path]
    if os.listdir(path) or os.stat(path).st_uid != 0:
        return ["volume %s is not empty and root's" % path]
    return []


def main():
    module = AnsibleModule(
        argument_spec={"allocation_id": {"type": "str", "required": True},
                       "login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "address": {"type": "str", "required": True},
                       "storage": {"type": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    params = module.params
    left = (["process " + one for one in processes(params["login_uid"])] + account(params) + settings(params)
            + network(host, params) + volume(params))
    if not host.check:
        left += ["file " + path for path in owned_files(host, params)]
        if left:
            host.fail("still there of the allocation %s: %s" % (params["allocation_id"], "; ".join(left[:40])), left=left)
    marker = "%s/%s.json" % (MARKER_DIR, params["allocation_id"])
    if os.path.exists(marker):
        host.change("removed the marker", lambda: os.unlink(marker))
    host.done(left=left)


if __name__ == "__main__":
    main()
