#!/usr/bin/python3
"""Puts a tenant's profile, volume, user manager and limits in force."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import Host, cpu_numbers, in_force, read, stamp, wait_for

DOCUMENTATION = r"""
module: kloigos_session
short_description: Loads the profile, mounts the volume, starts the user manager, applies the limits
description:
  - Effects are compared with the kernel, so that running sessions get new limits too
    and a run that died half-way is finished.
options:
  login_user: {description: User of the tenant., type: str, required: true}
  login_uid: {description: UID of the tenant., type: int, required: true}
  profile_files: {description: The profile and what it includes; the profile first., type: list, elements: str, required: true}
  unit_files: {description: Unit files and drop-ins of the tenant., type: list, elements: str, required: true}
  mount_unit: {description: Mount unit of the tenant's volume., type: str, required: true}
  cpu_set: {description: CPUs as a kernel list., type: str, required: true}
  numa_node: {description: NUMA node that memory comes from; any without., type: int}
  memory_max_mb: {description: Memory limit in MiB., type: int, required: true}
  memory_high_mb: {description: Memory pressure limit in MiB., type: int, required: true}
  swap_max_mb: {description: Limit of swap space in MiB., type: int, required: true}
  tasks_max: {description: Limit of processes and threads., type: int, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: Sessions are confined and limited
  kloigos_session:
    login_user: alice
    login_uid: 20001
    profile_files: [/etc/apparmor.d/kloigos-alice]
    unit_files: []
    mount_unit: mnt-alice.mount
    cpu_set: "0,2"
    memory_max_mb: 1024
    memory_high_mb: 921
    swap_max_mb: 0
    tasks_max: 4096
"""
RETURN = r""" # """

PROFILES = "/sys/kernel/security/apparmor/profiles"
MIB = 1024 * 1024


def load_profile(host, name, files):
    loaded = name + " (enforce)" in read(PROFILES).splitlines()
    if not loaded or not in_force("profile-" + name, files):
        host.change("loaded the AppArmor profile " + name,
                    ["apparmor_parser", "-r", "-W", files[0]], lambda: stamp("profile-" + name, files))


def load_units(host, user, files, mount_unit):
    if not in_force("units-" + user, files):
        host.change("systemd read the units of " + user, ["systemctl", "daemon-reload"],
                    lambda: stamp("units-" + user, files))
    if not os.path.lexists("/etc/systemd/system/local-fs.target.wants/" + mount_unit):
        host.change("mounts the volume of %s at boot" % user, ["systemctl", "enable", "-q", mount_unit])
    if not os.path.ismount("/mnt/" + user):
        host.change("mounted /mnt/" + user, ["systemctl", "start", mount_unit])


def manager_profile(host, uid):
    pid = host.run(["systemctl", "show", "user@%d.service" % uid, "-p", "MainPID", "--value"], ok=None).strip()
    return read("/proc/%s/attr/current" % pid) if pid and pid != "0" else ""


def start_manager(host, user, uid, profile):
    if not os.path.exists("/var/lib/systemd/linger/" + user):
        host.change("%s has a user manager from boot on" % user, ["loginctl", "enable-linger", user])
    if manager_profile(host, uid) == profile + " (enforce)":
        return

    def start():
        # One that ran before its confinement was written must not go on as it is.
        host.run(["systemctl", "restart", "user@%d.service" % uid])
        wait_for(lambda: os.path.exists("/run/user/%d/systemd/private" % uid), 20)
    if host.check or not wait_for(lambda: manager_profile(host, uid) == profile + " (enforce)", 3):
        host.change("the user manager of %s runs confined" % user, start)


def apply_limits(host, params):
    unit = "user-%d.slice" % params["login_uid"]
    cgroup = "/sys/fs/cgroup/user.slice/" + unit
    most, high = params["memory_max_mb"] * MIB, params["memory_high_mb"] * MIB
    node = params["numa_node"]
    swap = params["swap_max_mb"] * MIB
    right = (read(cgroup + "/memory.max") == str(most) and read(cgroup + "/memory.high") == str(high)
             # A kernel that does not account for swap has no such file.
             and read(cgroup + "/memory.swap.max", str(swap)) == str(swap)
             and read(cgroup + "/pids.max") == str(params["tasks_max"])
             and cpu_numbers(read(cgroup + "/cpuset.cpus")) == cpu_numbers(params["cpu_set"])
             and (node is None or cpu_numbers(read(cgroup + "/cpuset.mems")) == {node}))
    if not right:
        # On Debian 13 a running slice keeps its old limits over daemon-reload, and shows the new ones.
        argv = ["systemctl", "set-property", "--runtime", unit, "AllowedCPUs=" + params["cpu_set"],
                "MemoryMax=%d" % most, "MemoryHigh=%d" % high, "MemorySwapMax=%d" % swap,
                "TasksMax=%d" % params["tasks_max"]]
        if node is not None:
            argv.append("AllowedMemoryNodes=%d" % node)
        host.change("limits of %s are in force" % unit, argv)


def main():
    module = AnsibleModule(
        argument_spec={"login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "profile_files": {"type": "list", "elements": "str", "required": True},
                       "unit_files": {"type": "list", "elements": "str", "required": True},
                       "mount_unit": {"type": "str", "required": True},
                       "cpu_set": {"type": "str", "required": True},
                       "numa_node": {"type": "int"},
                       "memory_max_mb": {"type": "int", "required": True},
                       "memory_high_mb": {"type": "int", "required": True},
                       "swap_max_mb": {"type": "int", "required": True},
                       "tasks_max": {"type": "int", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    params = module.params
    profile = os.path.basename(params["profile_files"][0])
    load_profile(host, profile, params["profile_files"])
    load_units(host, params["login_user"], params["unit_files"], params["mount_unit"])
    start_manager(host, params["login_user"], params["login_uid"], profile)
    apply_limits(host, params)
    host.done()


if __name__ == "__main__":
    main()
