#!/usr/bin/python3
"""Asks kernel and daemons whether SERVER_INIT is in effect; changes nothing."""

from __future__ import annotations

import grp
import os
import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import OWNER_FILE, Host, cpu_numbers, read

DOCUMENTATION = r"""
module: kloigos_server_readback
short_description: Reads back the effects of SERVER_INIT
description: Fails with the names of the effects that are not so; in check mode it only lists them.
options:
  owner_id: {description: UUID of the store., type: str, required: true}
  group: {description: System group of the tenants., type: str, required: true}
  sysctl_file: {description: Kernel settings that must be in force., type: str, required: true}
  volumes: {description: Volumes with path and device., type: list, elements: dict, required: true}
  units: {description: Units that must be enabled and active., type: list, elements: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The effects are there
  kloigos_server_readback:
    owner_id: "{{ kloigos_owner_id }}"
    group: kloigos
    sysctl_file: /etc/sysctl.d/99-zz-kloigos.conf
    volumes: []
    units: [kloigos-nftables.service]
"""
RETURN = r"""
effects: {description: Effects that were read back., type: list, returned: always}
missing: {description: Effects that are not so., type: list, returned: always}
"""


def mount_problem(host, volume):
    found = host.read_json(["findmnt", "-J", "-o", "SOURCE,FSTYPE,OPTIONS", "--mountpoint", volume["path"]])
    if not found:
        return "nothing is mounted there"
    mount = found["filesystems"][0]
    if os.path.realpath(mount["source"]) != os.path.realpath(volume["device"]):
        return "it is mounted from %s, not from %s" % (mount["source"], volume["device"])
    if mount["fstype"] != "ext4" or "nosuid" not in mount["options"].split(","):
        return "it is mounted as %s with %s" % (mount["fstype"], mount["options"])
    return None


def nft_problem(host):
    listing = host.read_json(["nft", "-j", "list", "table", "inet", "kloigos"])
    if not listing:
        return "the table inet kloigos is not loaded"
    rules = [entry["rule"] for entry in listing["nftables"] if "rule" in entry]
    if len(rules) != 8 or "reject" not in rules[-1]["expr"][-1]:
        return "the table inet kloigos does not end by rejecting the tenants' other traffic"
    return None


def sshd_problem(host):
    if not os.path.exists("/etc/ssh/sshd_config.d/00-kloigos.conf"):
        return "our part is missing"
    text = read("/etc/ssh/sshd_config").lower()
    if not any(line.split()[:1] == ["include"] and "sshd_config.d" in line for line in text.splitlines()):
        return ("/etc/ssh/sshd_config does not include sshd_config.d; add the line "
                "`Include /etc/ssh/sshd_config.d/*.conf` at its top")
    settings = dict(line.split(" ", 1) for line in host.run(["sshd", "-T"], ok=None).splitlines() if " " in line)
    if settings.get("usepam") != "yes":
        return "UsePAM is off, so sessions would not be put under their limits"
    subsystem = next((line for line in host.run(["sshd", "-T"], ok=None).splitlines()
                      if line.startswith("subsystem sftp ")), "")
    if "internal-sftp" in subsystem:
        return ("sftp is served by sshd itself (internal-sftp), which no profile confines; set "
                "`Subsystem sftp /usr/lib/openssh/sftp-server`")
    return None


def unit_problem(host, unit):
    shown = dict(line.split("=", 1) for line in host.run(
        ["systemctl", "show", unit, "-p", "ActiveState", "-p", "UnitFileState"], ok=None).splitlines() if "=" in line)
    if shown.get("ActiveState") != "active" or shown.get("UnitFileState") != "enabled":
        return "it is %s and %s" % (shown.get("ActiveState"), shown.get("UnitFileState") or "not installed")
    return None


def closed(path):
    if not os.path.exists(path):
        return "%s does not exist, so every user may use it" % path
    return None


def sysctl_problem(path):
    for line in read(path).splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            now = read("/proc/sys/" + key.strip().replace(".", "/"))
            if now.split() != value.split():
                return "%s is %s, not %s" % (key.strip(), " ".join(now.split()), value.strip())
    return None if os.path.exists(path) else "%s is missing" % path


def delegation_problem(host):
    shown = host.run(["systemctl", "show", "user@0.service", "-p", "DelegateControllers"], ok=None)
    if not {"cpuset", "memory", "cpu", "io", "pids"} <= set(shown.strip().partition("=")[2].split()):
        return "systemd says %s" % shown.strip()
    return None


def bus_problem(group):
    """Asks the system's bus as a user of the group would, and as one that is not in it."""
    argv = ["busctl", "--timeout=20", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
            "org.freedesktop.DBus.Peer", "Ping"]

    def asked(groups):
        return subprocess.run(argv, user="nobody", group="nogroup", extra_groups=groups, cwd="/", check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=60)
    other = asked([])
    if other.returncode:
        return "it answers nobody: " + other.stdout.strip()
    if not asked([grp.getgrnam(group).gr_gid]).returncode:
        return "it answers tenants too"
    return None


def main():
    module = AnsibleModule(
        argument_spec={"owner_id": {"type": "str", "required": True},
                       "group": {"type": "str", "required": True},
                       "sysctl_file": {"type": "str", "required": True},
                       "volumes": {"type": "list", "elements": "dict", "required": True},
                       "units": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    effects = [
        ("owner stamp", None if read(OWNER_FILE) == module.params["owner_id"] else "it is not this store's"),
        ("tenants' group", None if host.succeeds(["getent", "group", module.params["group"]]) else "it is missing"),
        ("nftables", nft_problem(host)),
        ("sshd", sshd_problem(host)),
        ("delegation to user managers", delegation_problem(host)),
        ("system bus closed to tenants", bus_problem(module.params["group"])
         if host.succeeds(["getent", "group", module.params["group"]]) else "there is no such group"),
        ("at closed to tenants", closed("/etc/at.allow")),
        ("cron closed to tenants", closed("/etc/cron.allow")),
        ("kernel settings", sysctl_problem(module.params["sysctl_file"])),
        ("AppArmor", None if read("/sys/module/apparmor/parameters/enabled") == "Y" and host.has("apparmor_parser")
         and os.path.exists("/etc/apparmor.d/abstractions/kloigos-tenant") else "it is not ready"),
        ("cpuset controller", None if "cpuset" in read("/sys/fs/cgroup/cgroup.controllers").split()
         and cpu_numbers(read("/sys/fs/cgroup/cpuset.cpus.effective", "")) else "the kernel does not offer it"),
    ]
    effects += [("volume " + volume["path"], mount_problem(host, volume)) for volume in module.params["volumes"]]
    effects += [("unit " + unit, unit_problem(host, unit)) for unit in module.params["units"]]
    missing = ["%s: %s" % (name, problem) for name, problem in effects if problem]
    if missing and not host.check:
        host.fail("not in effect: " + "; ".join(missing), missing=missing, effects=[name for name, _p in effects])
    host.done(effects=[name for name, _problem in effects], missing=missing)


if __name__ == "__main__":
    main()
