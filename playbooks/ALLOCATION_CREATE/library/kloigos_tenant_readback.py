#!/usr/bin/python3
"""Asks kernel and daemons whether a tenant really has, and is held to, what it should; changes nothing."""

from __future__ import annotations

import grp
import ipaddress
import os
import pwd
import stat
import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import MARKER_DIR, Host, cpu_numbers, read, wait_for

DOCUMENTATION = r"""
module: kloigos_tenant_readback
short_description: Reads back the effects of ALLOCATION_CREATE
description: Fails with the names of the effects that are not so; in check mode it only lists them.
options:
  allocation_id: {description: The allocation., type: str, required: true}
  login_user: {description: User of the tenant., type: str, required: true}
  login_uid: {description: UID of the tenant., type: int, required: true}
  group: {description: Group of all tenants., type: str, required: true}
  shell: {description: Its login shell., type: str, required: true}
  address: {description: Its floating address., type: str, required: true}
  network: {description: Interface and routes., type: dict, required: true}
  volume: {description: Where its volume is mounted., type: str, required: true}
  cpu_set: {description: CPUs as a kernel list., type: str, required: true}
  memory_max_mb: {description: Memory limit in MiB., type: int, required: true}
  memory_high_mb: {description: Memory pressure limit in MiB., type: int, required: true}
  swap_max_mb: {description: Limit of swap space in MiB., type: int, required: true}
  tasks_max: {description: Limit of processes and threads., type: int, required: true}
  key: {description: Its public key., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The effects are there
  kloigos_tenant_readback:
    allocation_id: web
    login_user: web
    login_uid: 20001
    group: kloigos
    shell: /usr/local/lib/kloigos/shells/web
    address: 10.0.2.50
    network: "{{ host.network }}"
    volume: /mnt/kloigos/lab1/cu00
    cpu_set: "0"
    memory_max_mb: 1024
    memory_high_mb: 921
    swap_max_mb: 0
    tasks_max: 4096
    key: ssh-ed25519 AAAA…
"""
RETURN = r"""
effects: {description: Effects that were read back., type: list, returned: always}
missing: {description: Effects that are not so., type: list, returned: always}
"""

MIB = 1024 * 1024
PROBE = "/var/lib/kloigos/probe"


class Tenant:
    """Each method named check_* gives None, or what is wrong."""

    def __init__(self, host, params):
        self.host = host
        self.__dict__.update(params)
        self.profile = "kloigos-%s (enforce)" % self.login_user
        self.slice = "/sys/fs/cgroup/user.slice/user-%d.slice" % self.login_uid
        self.runtime = "/run/user/%d" % self.login_uid

    def check_account(self):
        try:
            found = pwd.getpwnam(self.login_user)
        except KeyError:
            return "there is no such user"
        if (found.pw_uid, found.pw_gid, found.pw_shell) != (self.login_uid, self.login_uid, self.shell):
            return "it has UID %d, GID %d, shell %s" % (found.pw_uid, found.pw_gid, found.pw_shell)
        if self.login_user not in grp.getgrnam(self.group).gr_mem:
            return "it is not in the group " + self.group
        return None

    def check_directories(self):
        for path in ("/home/" + self.login_user, "/opt/" + self.login_user, "/mnt/" + self.login_user):
            found = os.stat(path)
            if found.st_uid != self.login_uid or stat.S_IMODE(found.st_mode) != 0o700:
                return "%s belongs to UID %d with mode %o" % (path, found.st_uid, stat.S_IMODE(found.st_mode))
        return None

    def check_key(self):
        path = "/home/%s/.ssh/authorized_keys" % self.login_user
        # The tenant may have made it a pipe, or a link to something without an end.
        if not stat.S_ISREG(os.lstat(path).st_mode) or os.path.getsize(path) > 1 << 20:
            return path + " is not a file of a sane size"
        return None if self.key.strip() in [line.strip() for line in read(path).splitlines()] else "it is not in " + path

    def check_volume(self):
        found = self.host.read_json(["findmnt", "-J", "-o", "SOURCE,OPTIONS,MAJ:MIN", "--mountpoint",
                                     "/mnt/" + self.login_user])
        if not found:
            return "nothing is mounted at /mnt/" + self.login_user
        if os.stat("/mnt/" + self.login_user).st_dev != os.stat(self.volume).st_dev:
            return "/mnt/%s is not the volume %s" % (self.login_user, self.volume)
        return None

    def check_profile(self):
        if self.profile not in read("/sys/kernel/security/apparmor/profiles").splitlines():
            return "the kernel does not enforce kloigos-" + self.login_user
        return None

    def check_manager(self):
        if not os.path.exists("/var/lib/systemd/linger/" + self.login_user):
            return "the user does not linger"
        unit = "user@%d.service" % self.login_uid
        if not wait_for(lambda: self.host.succeeds(["systemctl", "is-active", "-q", unit]), 15):
            return unit + " is not active"
        pid = self.host.run(["systemctl", "show", unit, "-p", "MainPID", "--value"]).strip()
        now = read("/proc/%s/attr/current" % pid)
        if now != self.profile:
            return "it runs as " + (now or "nobody knows what")
        offered = set(read("%s/%s/cgroup.controllers" % (self.slice, unit)).split())
        if not {"cpuset", "memory", "pids"} <= offered:
            return "only the controllers %s are delegated to it" % " ".join(sorted(offered))
        return None

    def check_cpus(self):
        now = read(self.slice + "/cpuset.cpus.effective")
        return None if cpu_numbers(now) == cpu_numbers(self.cpu_set) else "the slice has CPUs %s, not %s" % (now, self.cpu_set)

    def check_memory(self):
        now = (read(self.slice + "/memory.max"), read(self.slice + "/memory.high"))
        wanted = (str(self.memory_max_mb * MIB), str(self.memory_high_mb * MIB))
        return None if now == wanted else "the slice has memory.max %s and memory.high %s, not %s and %s" % (now + wanted)

    def check_swap(self):
        wanted = str(self.swap_max_mb * MIB)
        now = read(self.slice + "/memory.swap.max", wanted)
        return None if now == wanted else "the slice has memory.swap.max %s, not %s" % (now, wanted)

    def check_tasks(self):
        now = read(self.slice + "/pids.max")
        return None if now == str(self.tasks_max) else "the slice has pids.max %s, not %d" % (now, self.tasks_max)

    def check_sshd(self):
        shown = dict(line.split(" ", 1) for line in self.host.run(
            ["sshd", "-T", "-C", "user=%s,host=localhost,addr=127.0.0.1" % self.login_user]).splitlines() if " " in line)
        for key, wanted in (("forcecommand", "none"), ("chrootdirectory", "none"), ("permituserrc", "no"),
                            ("allowstreamlocalforwarding", "no"), ("permittunnel", "no"), ("x11forwarding", "no"),
                            ("authenticationmethods", "publickey"), ("permituserenvironment", "no"),
                            ("pubkeyauthentication", "yes"), ("usepam", "yes")):
            if shown.get(key) != wanted:
                return "it would use %s %s, not %s" % (key, shown.get(key), wanted)
        if "internal-sftp" in shown.get("subsystem", ""):
            return "sftp would be served by sshd itself, which no profile confines"
        return None

    def check_address(self):
        links = self.host.read_json(["ip", "-j", "addr", "show", "dev", self.network["interface"]]) or []
        for link in links:
            for entry in link.get("addr_info", []):
                if ipaddress.ip_address(entry["local"]) == ipaddress.ip_address(self.address):
                    return None
        return "%s is not on %s" % (self.address, self.network["interface"])

    def check_route(self):
        family = "-%d" % self.network["version"]
        for target in ([self.network["gateway"]] if self.network["gateway"] else []) + [
                "198.51.100.1" if self.network["version"] == 4 else "2001:db8::1"]:
            if target != self.network["gateway"] and not self.network["gateway"]:
                continue
            found = self.host.read_json(["ip", "-j", family, "route", "get", target, "uid", str(self.login_uid)])
            source = (found or [{}])[0].get("prefsrc", "nowhere")
            if source == "nowhere" or ipaddress.ip_address(source) != ipaddress.ip_address(self.address):
                return "a socket of UID %d to %s leaves from %s, not from %s" % (
                    self.login_uid, target, source, self.address)
        return None

    def check_filter(self):
        listing = self.host.read_json(["nft", "-j", "list", "table", "inet", "kloigos"])
        if not listing:
            return "the table inet kloigos is not loaded"
        sets = {entry["set"]["name"]: entry["set"].get("elem", []) for entry in listing["nftables"] if "set" in entry}
        rules = [entry["rule"]["expr"] for entry in listing["nftables"] if "rule" in entry]
        if self.login_uid not in sets.get("tenants", []):
            return "UID %d is not among the tenants" % self.login_uid
        pairs = [entry["concat"] for entry in sets.get("own%d" % self.network["version"], []) if "concat" in entry]
        mine = [pair[1] for pair in pairs if pair[0] == self.login_uid]
        if [ipaddress.ip_address(one) for one in mine] != [ipaddress.ip_address(self.address)]:
            return "UID %d may send from %s, not from %s" % (self.login_uid, mine or "nowhere", self.address)
        if len(rules) != 8 or "reject" not in rules[-1][-1]:
            return "the rules do not end by rejecting other traffic of tenants"
        return None

    def check_at_and_cron(self):
        for path in ("/etc/at.allow", "/etc/cron.allow"):
            if not os.path.exists(path) or self.login_user in read(path).split():
                return "%s does not keep %s out" % (path, self.login_user)
        return None

    def check_marker(self):
        return None if os.path.exists("%s/%s.json" % (MARKER_DIR, self.allocation_id)) else "it is missing"

    def as_tenant(self, argv):
        environment = {"HOME": "/home/" + self.login_user, "USER": self.login_user, "LC_ALL": "C",
                       "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": self.runtime}
        return subprocess.run(argv, user=self.login_uid, group=self.login_uid, extra_groups=[], cwd="/", env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=60, check=False)

    def probe(self, argv):
        """Whether the tenant can neither be unconfined nor read a world-readable file that is not its own."""
        if not os.stat(PROBE).st_mode & stat.S_IROTH:
            return "%s is not world-readable, so it proves nothing" % PROBE
        text = self.as_tenant(argv).stdout
        if "kloigos-here" not in text:
            return "it does not run: " + text.strip()[-300:]
        if self.profile not in text:
            return "it runs unconfined: " + text.strip()[-300:]
        if "NoNewPrivs:\t1" not in text:
            return "setuid programs and file capabilities would give it rights"
        if "no tenant can read this" in text:
            return "it can read " + PROBE
        return None

    SCRIPT = "echo kloigos-here; cat /proc/self/attr/current; grep NoNewPrivs /proc/self/status; cat %s" % PROBE

    def check_login_confined(self):
        return self.probe([self.shell, "-c", self.SCRIPT])

    def check_services_confined(self):
        return self.probe(["systemd-run", "--user", "--wait", "--pipe", "-q", "--collect", "/bin/sh", "-c", self.SCRIPT])


EFFECTS = [("marker", "check_marker"), ("account", "check_account"), ("directories", "check_directories"),
           ("volume", "check_volume"), ("authorised key", "check_key"), ("AppArmor profile", "check_profile"),
           ("user manager", "check_manager"), ("CPU limit", "check_cpus"), ("memory limit", "check_memory"),
           ("swap limit", "check_swap"), ("limit of tasks", "check_tasks"), ("sshd", "check_sshd"),
           ("floating address", "check_address"), ("source address of sockets", "check_route"),
           ("nftables", "check_filter"), ("at and cron", "check_at_and_cron"),
           ("confinement of logins", "check_login_confined"), ("confinement of services", "check_services_confined")]


def main():
    module = AnsibleModule(
        argument_spec={"allocation_id": {"type": "str", "required": True},
                       "login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "group": {"type": "str", "required": True},
                       "shell": {"type": "str", "required": True},
                       "address": {"type": "str", "required": True},
                       "network": {"type": "dict", "required": True},
                       "volume": {"type": "str", "required": True},
                       "cpu_set": {"type": "str", "required": True},
                       "memory_max_mb": {"type": "int", "required": True},
                       "memory_high_mb": {"type": "int", "required": True},
                       "swap_max_mb": {"type": "int", "required": True},
                       "tasks_max": {"type": "int", "required": True},
                       "key": {"type": "str", "required": True, "no_log": False}},
        supports_check_mode=True)
    host = Host(module)
    tenant = Tenant(host, module.params)
    missing = []
    for name, method in EFFECTS:
        if host.check and name.startswith("confinement"):
            continue  # these two run something as the tenant
        try:
            problem = getattr(tenant, method)()
        except (OSError, KeyError, IndexError, ValueError, subprocess.SubprocessError) as error:
            problem = "it could not be read (%s)" % error
        if problem:
            missing.append("%s: %s" % (name, problem))
    if missing and not host.check:
        host.fail("not in effect: " + "; ".join(missing), missing=missing)
    host.done(effects=[name for name, _method in EFFECTS], missing=missing)


if __name__ == "__main__":
    main()
