#!/usr/bin/python3
"""Whether this host may and can become a Kloigos server; if so, stamps it and notes what it was like."""

from __future__ import annotations

import fcntl
import os
import shlex

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_before import proc_path, remember, settings
from ansible.module_utils.kloigos_host import (
    ETC, OWNER_FILE, Host, cpu_numbers, owner_problem, read, wait_for, write)

DOCUMENTATION = r"""
module: kloigos_server_preflight
short_description: Refuses hosts that are unsupported or belong to another store, stamps the others
description:
  - The stamp comes first and goes last, so that a host with anything of Kloigos on it has one.
  - What SERVER_DECOMM is to put back is noted here, before anything is changed.
options:
  owner_id: {description: UUID of the store., type: str, required: true}
  adopt: {description: Take over a host of another store., type: bool, default: false}
  hostname: {description: Name of the server in Kloigos., type: str, required: true}
  compute_units: {description: The planned compute units., type: list, elements: dict, required: true}
  packages: {description: Packages that should be installed., type: list, elements: str, required: true}
  group: {description: System group of the tenants., type: str, required: true}
  paths: {description: Paths that are made where they are not there., type: list, elements: str, required: true}
  sysctl: {description: Kernel settings that are going to be in force, as a sysctl.d file., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The host may be initialised
  kloigos_server_preflight:
    owner_id: "{{ kloigos_owner_id }}"
    hostname: lab1
    compute_units: "{{ compute_units }}"
    packages: [lvm2]
    group: kloigos
    paths: [/etc/at.allow]
    sysctl: "fs.protected_fifos = 2\n"
"""
RETURN = r"""
units: {description: Id, CPUs and mount path of each compute unit., type: list, returned: success}
missing_packages: {description: Packages not installed yet., type: list, returned: success}
installation_was_cut: {description: Whether dpkg was cut in its work., type: bool, returned: success}
cpus: {description: CPUs online., type: int, returned: success}
memory_mb: {description: Memory in MiB., type: int, returned: success}
numa: {description: NUMA node by CPU., type: dict, returned: success}
"""


def numa_by_cpu():
    nodes = {}
    base = "/sys/devices/system/node"
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        if name.startswith("node") and name[4:].isdigit():
            for cpu in cpu_numbers(read(os.path.join(base, name, "cpulist"))):
                nodes[str(cpu)] = int(name[4:])
    return nodes


def memory_mb():
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) // 1024
    return 0


def refuse_unsupported(host):
    release = {}
    for line in read("/etc/os-release").splitlines():
        key, equals, value = line.partition("=")
        if equals:
            release[key] = "".join(shlex.split(value))
    family = {release.get("ID", "")} | set(release.get("ID_LIKE", "").split())
    if not family & {"debian", "ubuntu"}:
        host.fail("%s is not supported yet: Kloigos confines tenants with AppArmor as Debian and Ubuntu "
                  "ship it. Nothing was changed." % release.get("PRETTY_NAME", "this system"))
    if not os.path.isdir("/run/systemd/system"):
        host.fail("systemd does not run this host; Kloigos needs it for limits and mounts")
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        host.fail("this host does not use the unified cgroup hierarchy (cgroup v2); "
                  "boot it with systemd.unified_cgroup_hierarchy=1")
    if read("/sys/module/apparmor/parameters/enabled") != "Y":
        host.fail("AppArmor is off in this kernel, so tenants could not be confined; "
                  "boot it with apparmor=1 security=apparmor")


def complete(units, hostname):
    """Kloigos gives id and path of each unit; the documented ordinal alone suffices."""
    found = []
    for unit in units:
        number = "cu%02d" % int(unit["ordinal"])
        found.append({"compute_id": unit.get("compute_id") or "%s-%s" % (hostname, number),
                      "cpu_set": str(unit["cpu_set"]),
                      "storage_mount_path": unit.get("storage_mount_path")
                      or "/mnt/kloigos/%s/%s" % (hostname, number)})
    return found


def refuse_wrong_cpus(host, units, online):
    for unit in units:
        missing = cpu_numbers(unit["cpu_set"]) - online
        if missing:
            host.fail("compute unit %s asks for CPU %s, but this host has only %s" % (
                unit["compute_id"], ",".join(map(str, sorted(missing))),
                read("/sys/devices/system/cpu/online")))


DPKG = "/var/lib/dpkg"


def dpkg_is_idle():
    """What another process installs (a run that was killed, unattended upgrades) is not there yet."""
    try:
        with open(DPKG + "/lock-frontend", "r+", encoding="ascii") as handle:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def installation_was_cut(host):
    """A power cut leaves dpkg's journal behind, with which apt refuses to work, or packages half done."""
    journal = os.listdir(DPKG + "/updates") if os.path.isdir(DPKG + "/updates") else []
    return any(name.isdigit() for name in journal) or bool(host.run(["dpkg", "--audit"], ok=None).strip())


def known_packages(host):
    """What is installed, and of what only the settings are left."""
    installed, residual = set(), set()
    for line in host.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n"]).splitlines():
        name, _space, state = line.strip().partition(" ")
        if state == "ii":
            installed.add(name)
        elif state == "rc":
            residual.add(name)
    return installed, residual


def stamp_and_remember(host, params, residual):
    if not os.path.isdir(ETC):
        host.change("made " + ETC, lambda: os.mkdir(ETC, 0o700))
    if read(OWNER_FILE) != params["owner_id"]:
        host.change("stamped this host as this store's", lambda: write(OWNER_FILE, params["owner_id"] + "\n", 0o600))
    existed = {path: os.path.lexists(path) for path in params["paths"]}
    existed["group " + params["group"]] = host.succeeds(["getent", "group", params["group"]])
    remember(host, "existed", existed)
    remember(host, "residual", {name: True for name in residual})
    remember(host, "sysctl", {key: " ".join(read(proc_path(key)).split()) for key in settings(params["sysctl"])
                              if os.path.exists(proc_path(key))})


def main():
    module = AnsibleModule(
        argument_spec={"owner_id": {"type": "str", "required": True},
                       "adopt": {"type": "bool", "default": False},
                       "hostname": {"type": "str", "required": True},
                       "compute_units": {"type": "list", "elements": "dict", "required": True},
                       "packages": {"type": "list", "elements": "str", "required": True},
                       "group": {"type": "str", "required": True},
                       "paths": {"type": "list", "elements": "str", "required": True},
                       "sysctl": {"type": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    refuse_unsupported(host)
    problem = owner_problem(module.params["owner_id"], module.params["adopt"])
    if problem:
        host.fail(problem)
    if not wait_for(dpkg_is_idle, 300, 1):
        host.fail("another installation of packages has been going on on this host for five minutes")
    online = cpu_numbers(read("/sys/devices/system/cpu/online", "0"))
    units = complete(module.params["compute_units"], module.params["hostname"])
    refuse_wrong_cpus(host, units, online)
    installed, residual = known_packages(host)
    stamp_and_remember(host, module.params, residual)
    host.done(units=units, missing_packages=[name for name in module.params["packages"] if name not in installed],
              installation_was_cut=installation_was_cut(host),
              cpus=len(online), memory_mb=memory_mb(), numa=numa_by_cpu())


if __name__ == "__main__":
    main()
