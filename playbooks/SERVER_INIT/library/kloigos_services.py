#!/usr/bin/python3
"""Makes the daemons of a server read what SERVER_INIT has written."""

from __future__ import annotations

import glob
import os
import socket

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import NET_TOOL, Host, in_force, read, stamp, wait_for

DOCUMENTATION = r"""
module: kloigos_services
short_description: Loads sysctl settings, units, nftables rules, AppArmor rules and sshd's configuration
description:
  - Each effect is compared with the kernel or the daemon, not with a file, so that a
    run that died half-way is finished by the next one.
options:
  group: {description: System group of the tenants., type: str, required: true}
  sysctl_file: {description: Settings to load., type: str, required: true}
  sshd_file: {description: Our part of sshd's configuration., type: str, required: true}
  abstraction: {description: AppArmor rules that the tenants' profiles include., type: str, required: true}
  dbus_file: {description: Our part of the system bus's configuration., type: str, required: true}
  unit_files: {description: Unit files and drop-ins that systemd must know., type: list, elements: str, required: true}
  enable: {description: Units that are enabled and started., type: list, elements: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The daemons use it
  kloigos_services:
    group: kloigos
    sysctl_file: /etc/sysctl.d/99-zz-kloigos.conf
    sshd_file: /etc/ssh/sshd_config.d/00-kloigos.conf
    abstraction: /etc/apparmor.d/abstractions/kloigos-tenant
    dbus_file: /etc/dbus-1/system.d/zz-kloigos.conf
    unit_files: [/etc/systemd/system/kloigos-nftables.service]
    enable: [kloigos-nftables.service]
"""
RETURN = r""" # """


def load_sysctl(host, path):
    for line in read(path).splitlines():
        key, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        key, value = key.strip(), value.strip()
        now = read("/proc/sys/" + key.replace(".", "/"))
        if now.split() != value.split():
            host.change("set %s to %s" % (key, value), ["sysctl", "-q", "-w", "%s=%s" % (key, value)])


def load_units(host, paths, enable):
    if not in_force("units", paths):
        host.change("systemd read our units", ["systemctl", "daemon-reload"], lambda: stamp("units", paths))
    enabled = set(host.run(["systemctl", "list-unit-files", "--state=enabled", "--no-legend", "--plain"],
                           ok=None).split())
    # All at once: with each call systemd reads all units anew.
    new = [unit for unit in enable if unit not in enabled]
    if new:
        host.change("enabled " + ", ".join(new), ["systemctl", "enable", "-q"] + new)
    states = host.run(["systemctl", "is-active"] + enable, ok=None).split()
    stopped = [unit for unit, state in zip(enable, states) if state != "active"]
    if stopped:
        host.change("started " + ", ".join(stopped), ["systemctl", "start"] + stopped)


def load_rules(host):
    if host.check:
        return
    for line in host.run([NET_TOOL, "rules"]).splitlines():
        host.change(line)


def reload_profiles(host, abstraction):
    """Tenants that are already here get the rules of this version too."""
    if in_force("abstraction", [abstraction]):
        return
    profiles = sorted(glob.glob("/etc/apparmor.d/kloigos-*"))
    if profiles:
        host.change("tenants' AppArmor profiles have the new rules", ["apparmor_parser", "-r", "-W"] + profiles)
    if not host.check:
        stamp("abstraction", [abstraction])


def reload_bus(host, path, group_is_new):
    """The bus looks the group up when it reads its files, so they must be read after it is there."""
    if not group_is_new and in_force("dbus", [path]):
        return
    host.change("the system's bus read its configuration",
                ["busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig"],
                lambda: stamp("dbus", [path]))


def answers(port):
    try:
        with socket.create_connection(("localhost", port), 2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def reload_sshd(host, path):
    if not host.has("sshd") or not os.path.exists(path):
        return
    if in_force("sshd", [path]):
        return

    def reload():
        host.run(["sshd", "-t"])
        if host.succeeds(["systemctl", "is-active", "-q", "ssh.service"]):
            host.run(["systemctl", "reload", "ssh.service"])
            # It refuses connections for a moment.
            ports = [int(line.split()[1]) for line in host.run(["sshd", "-T"]).splitlines()
                     if line.startswith("port ")]
            wait_for(lambda: answers(ports[0]), 20)
        stamp("sshd", [path])
    host.change("sshd read its configuration", reload)


def main():
    module = AnsibleModule(
        argument_spec={"group": {"type": "str", "required": True},
                       "sysctl_file": {"type": "str", "required": True},
                       "sshd_file": {"type": "str", "required": True},
                       "abstraction": {"type": "str", "required": True},
                       "dbus_file": {"type": "str", "required": True},
                       "unit_files": {"type": "list", "elements": "str", "required": True},
                       "enable": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    arguments = module.params
    load_sysctl(host, arguments["sysctl_file"])
    group_is_new = not host.succeeds(["getent", "group", arguments["group"]])
    if group_is_new:
        host.change("made the group " + arguments["group"], ["groupadd", "--system", arguments["group"]])
    # The rules' file must exist before the unit that loads it starts.
    load_rules(host)
    load_units(host, arguments["unit_files"], arguments["enable"])
    reload_profiles(host, arguments["abstraction"])
    reload_bus(host, arguments["dbus_file"], group_is_new)
    reload_sshd(host, arguments["sshd_file"])
    host.done()


if __name__ == "__main__":
    main()
