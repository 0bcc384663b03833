#!/usr/bin/python3
"""Takes Kloigos out of systemd, the packet filter, the kernel's settings and sshd, with all of its files."""

from __future__ import annotations

import os
import pwd
import grp
import socket

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_before import proc_path, recall, settings
from ansible.module_utils.kloigos_host import Host, read, wait_for
from ansible.module_utils.kloigos_traces import (
    DBUS, GROUP, SSHD, SYSCTL, SYSTEMD, UNIT_FILES, UNITS, begin, files, finish, group_is_ours, has_table, is_empty,
    known_units, our_directories, pending)

DOCUMENTATION = r"""
module: kloigos_withdraw
short_description: Units, rules, settings, group and files of Kloigos are gone, from the daemons too
description:
  - A run may die between removing a file and making a daemon read that. The stamp of the
    daemon's last reload stays until the daemon has done so, and tells the next run.
author: Kloigos
"""
EXAMPLES = r"""
- name: Nothing of Kloigos is in force
  kloigos_withdraw:
"""
RETURN = r"""
notes: {description: What the operator should know., type: list, returned: always}
"""

SYSTEMD_SYSCTL = ["/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl"]


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def drop_units(host):
    present = [path for path in UNIT_FILES if os.path.lexists(path)]
    if not present and not pending("units") and not known_units(host):
        return

    def away():
        begin("units")
        names = [unit for unit in UNITS if "%s/%s" % (SYSTEMD, unit) in present]
        if names:
            host.run(["systemctl", "stop"] + names)
            host.run(["systemctl", "disable", "-q", "--no-reload"] + names)
        for path in present:
            remove(path)
        host.run(["systemctl", "daemon-reload"])
        host.run(["systemctl", "reset-failed", "kloigos-*"], ok=None)
        finish("units")
    host.change("systemd has no unit of Kloigos", away)


def drop_table(host):
    if has_table(host):
        host.change("deleted the table inet kloigos", ["nft", "delete", "table", "inet", "kloigos"])
        if not host.check and has_table(host):
            host.fail("the table inet kloigos is still there after it was deleted")


def restore_settings(host):
    if not os.path.lexists(SYSCTL) and not pending("sysctl"):
        return
    before = recall("sysctl")
    keys = sorted(set(before) | set(settings(read(SYSCTL))))

    def back():
        begin("sysctl")
        remove(SYSCTL)
        for key, value in before.items():
            try:
                with open(proc_path(key), "w", encoding="ascii") as handle:
                    handle.write(value + "\n")
            except OSError as error:
                host.fail("%s could not be set back to %s: %s" % (key, value, error.strerror))
            if read(proc_path(key)).split() != value.split():
                host.fail("%s is %s after it was set back to %s" % (key, read(proc_path(key)), value))
        # What the host's own files say of these keys counts, also where they were changed meanwhile.
        program = next((path for path in SYSTEMD_SYSCTL if os.path.exists(path)), None)
        if program and keys:
            host.run([program] + ["--prefix=" + key for key in keys])
        finish("sysctl")
    host.change("the kernel's settings are what they were: %s" % ", ".join(keys), back)


def answers(port):
    try:
        with socket.create_connection(("localhost", port), 2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def reload_sshd(host):
    if not os.path.lexists(SSHD) and not pending("sshd"):
        return

    def reload():
        begin("sshd")
        remove(SSHD)
        if host.has("sshd"):
            host.run(["sshd", "-t"])
            if host.succeeds(["systemctl", "is-active", "-q", "ssh.service"]):
                host.run(["systemctl", "reload", "ssh.service"])
                # It refuses connections for a moment.
                ports = [int(line.split()[1]) for line in host.run(["sshd", "-T"]).splitlines()
                         if line.startswith("port ")]
                wait_for(lambda: answers(ports[0]), 20)
        finish("sshd")
    host.change("sshd read its configuration without ours", reload)


def reload_bus(host):
    if not os.path.lexists(DBUS) and not pending("dbus"):
        return

    def reload():
        begin("dbus")
        remove(DBUS)
        host.run(["busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                  "ReloadConfig"])
        finish("dbus")
    host.change("the system's bus read its configuration without ours", reload)


def drop_group(host):
    if not group_is_ours():
        return
    number = grp.getgrnam(GROUP).gr_gid
    users = [user.pw_name for user in pwd.getpwall() if user.pw_gid == number]
    if users:
        host.fail("the group %s is the main group of %s; give them another one, and try again"
                  % (GROUP, ", ".join(users)))
    host.change("removed the group " + GROUP, ["groupdel", GROUP])


def drop_files(host):
    for path in files():
        host.change("removed " + path, lambda p=path: remove(p))
    for path in our_directories():
        # Removing one may empty the one around it.
        if is_empty(path):
            host.change("removed the directory " + path, lambda p=path: os.rmdir(p))


def main():
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    host = Host(module)
    drop_units(host)
    drop_table(host)
    restore_settings(host)
    reload_sshd(host)
    # While the group that its rules name is still there.
    reload_bus(host)
    drop_group(host)
    drop_files(host)
    host.done(notes=["%s stays, since it holds something that Kloigos did not put there" % path
                     for path in ("/usr/local/lib/kloigos", "/var/lib/kloigos")
                     if os.path.isdir(path) and not host.check])


if __name__ == "__main__":
    main()
