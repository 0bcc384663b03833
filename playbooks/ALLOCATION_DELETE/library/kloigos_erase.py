#!/usr/bin/python3
"""Removes a tenant's account, files, profile and settings from a host."""

from __future__ import annotations

import glob
import os
import pwd
import grp
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import MARKER_DIR, SHELL_DIR, STAMP_DIR, Host, read

DOCUMENTATION = r"""
module: kloigos_erase
short_description: Nothing of the tenant is left on this host
options:
  login_user: {description: Its user., type: str, required: true}
  login_uid: {description: Its UID., type: int, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The account is gone
  kloigos_erase: {login_user: web, login_uid: 20001}
"""
RETURN = r""" # """

# Where any user can leave files, and where daemons keep them for users.
SHARED = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/var/mail", "/var/spool", "/var/crash", "/var/lib"]


def remove_tree(path):
    """Never follows a link, never crosses into another file system."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    if os.path.ismount(path):
        raise OSError("%s is a mount point" % path)
    shutil.rmtree(path)


def owned_files(host, uid):
    """What the UID owns in shared places, the deepest first."""
    found = []
    for place in SHARED:
        if os.path.isdir(place):
            found += [path for path in host.run(
                ["find", place, "-xdev", "-depth", "(", "-uid", str(uid), "-o", "-gid", str(uid), ")", "-print0"],
                ok=None).split("\0") if path]
    return found


def remove_files(paths):
    for path in paths:
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        except FileNotFoundError:
            pass


def drop_runtime_directory(host, uid):
    """logind may not be done with it yet when the user's processes are gone."""
    path = "/run/user/%d" % uid
    if os.path.lexists(path):
        host.change("removed " + path, lambda: remove_runtime(host, uid, path))


def remove_runtime(host, uid, path):
    host.run(["systemctl", "stop", "user-runtime-dir@%d.service" % uid], ok=None)
    if os.path.ismount(path):
        host.run(["umount", "--lazy", path])
    # What it was mounted on is root's, so that nobody would look for it later.
    if os.path.isdir(path):
        shutil.rmtree(path)


def drop_ipc(host, uid):
    """System V objects outlive their processes."""
    for kind, flag, column in (("shm", "-m", "shmid"), ("sem", "-s", "semid"), ("msg", "-q", "msqid")):
        lines = read("/proc/sysvipc/" + kind).splitlines()
        if not lines:
            continue
        head = lines[0].split()
        for line in lines[1:]:
            row = dict(zip(head, line.split()))
            if str(uid) in (row.get("uid"), row.get("cuid")):
                host.change("removed %s %s" % (kind, row[column]), ["ipcrm", flag, row[column]])


def drop_profile(host, user):
    name, path = "kloigos-" + user, "/etc/apparmor.d/kloigos-" + user
    if any(line.split(" (")[0] == name for line in
           read("/sys/kernel/security/apparmor/profiles").splitlines()):
        def unload():
            with open("/sys/kernel/security/apparmor/.remove", "w", encoding="ascii") as handle:
                handle.write(name)
        host.change("unloaded the profile " + name, unload)
    for old in [path] + glob.glob("/var/cache/apparmor/*/" + name):
        if os.path.lexists(old):
            host.change("removed " + old, lambda p=old: os.unlink(p))


def drop_settings(host, user, uid):
    reload = False
    for directory in ("/etc/systemd/system/user-%d.slice.d" % uid, "/etc/systemd/system/user@%d.service.d" % uid,
                      "/run/systemd/system.control/user-%d.slice.d" % uid,
                      "/etc/systemd/system.control/user-%d.slice.d" % uid):
        if os.path.isdir(directory):
            host.change("removed " + directory, lambda d=directory: shutil.rmtree(d))
            reload = True
    if reload and not host.check:
        host.run(["systemctl", "daemon-reload"])
        host.run(["systemctl", "reset-failed", "user@%d.service" % uid, "user-runtime-dir@%d.service" % uid,
                  "user-%d.slice" % uid], ok=None)
    for path in [os.path.join(SHELL_DIR, user)] + [os.path.join(STAMP_DIR, name) for name in (
            "profile-kloigos-" + user, "units-" + user)]:
        if os.path.lexists(path):
            host.change("removed " + path, lambda p=path: os.unlink(p))


def drop_half_written(host):
    """What a power cut left of a write. Under this host's lock nobody else is writing."""
    networks = glob.glob("/etc/systemd/network/*.network.d")
    for directory in [MARKER_DIR, SHELL_DIR, "/etc/apparmor.d", "/etc/systemd/system"] + networks:
        for path in glob.glob(directory + "/.kloigos-*"):
            host.change("removed the half-written " + path, lambda p=path: os.unlink(p))
            if directory in networks and not host.check and not os.listdir(directory):
                os.rmdir(directory)


def drop_account(host, user, uid):
    try:
        if pwd.getpwnam(user).pw_uid == uid:
            host.change("removed the user " + user, ["userdel", user])
    except KeyError:
        pass
    try:
        # userdel takes the group along where it is the user's own.
        if grp.getgrnam(user).gr_gid == uid and not (host.check and host.changes):
            if os.path.exists("/etc/group") and host.succeeds(["getent", "group", user]):
                host.change("removed the group " + user, ["groupdel", user])
    except KeyError:
        pass


def main():
    module = AnsibleModule(
        argument_spec={"login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    user, uid = module.params["login_user"], module.params["login_uid"]
    drop_account(host, user, uid)
    for path in ("/home/" + user, "/opt/" + user, "/var/spool/cron/crontabs/" + user, "/var/mail/" + user):
        if os.path.lexists(path):
            host.change("removed " + path, lambda p=path: clear_flags(host, p), lambda p=path: remove_tree(p))
    drop_runtime_directory(host, uid)
    left = owned_files(host, uid)
    if left:
        host.change("removed %d files of UID %d from shared places" % (len(left), uid), lambda: remove_files(left))
    drop_ipc(host, uid)
    drop_settings(host, user, uid)
    drop_half_written(host)
    drop_profile(host, user)
    host.done()


def clear_flags(host, path):
    """Files that an administrator made immutable would stop the removal."""
    if os.path.isdir(path):
        host.run(["chattr", "-R", "-f", "-i", "-a", path], ok=None)


if __name__ == "__main__":
    main()
