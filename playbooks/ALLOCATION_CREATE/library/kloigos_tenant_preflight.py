#!/usr/bin/python3
"""Whether an allocation may come to this host, and what it needs to know about it; changes nothing."""

from __future__ import annotations

import grp
import ipaddress
import os
import pwd
import select
import socket
import struct
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import (
    MARKER_DIR, NET_TOOL, OWNER_FILE, Host, cpu_numbers, markers, owner_problem, read, unit_name)

DOCUMENTATION = r"""
module: kloigos_tenant_preflight
short_description: Refuses what would collide with other people's users, addresses or volumes
options:
  owner_id: {description: UUID of the store., type: str, required: true}
  allocation_id: {description: The allocation., type: str, required: true}
  login_user: {description: Its user., type: str, required: true}
  login_uid: {description: Its UID and GID., type: int, required: true}
  address: {description: Its floating address., type: str, required: true}
  private_address: {description: Main address of the host., type: str, default: ""}
  compute_id: {description: Its compute unit., type: str, required: true}
  storage: {description: Mount path of the unit's volume., type: str, required: true}
  cpu_set: {description: CPUs of the unit., type: str, required: true}
  cpu_count: {description: Number of those CPUs., type: int, required: true}
  memory_max_mb: {description: Memory limit in MiB; reckoned from the CPUs' share without., type: int}
  memory_high_mb: {description: Memory pressure limit in MiB; 90 % of the maximum without., type: int}
author: Kloigos
"""
EXAMPLES = r"""
- name: The allocation may be here
  kloigos_tenant_preflight:
    owner_id: "{{ kloigos_owner_id }}"
    allocation_id: "{{ allocation_id }}"
    login_user: "{{ login_user }}"
    login_uid: "{{ kloigos_login_uid }}"
    address: "{{ allocation_ip_address }}"
    compute_id: "{{ compute_id }}"
    storage: "{{ compute_unit_storage_mount_path }}"
    cpu_set: "{{ cpu_set }}"
    cpu_count: "{{ cpu_count }}"
"""
RETURN = r"""
network: {description: Interface and routes for the address., type: dict, returned: success}
memory_max_mb: {description: Memory limit., type: int, returned: success}
memory_high_mb: {description: Memory pressure limit., type: int, returned: success}
swap_max_mb: {description: Limit of swap space., type: int, returned: success}
tasks_max: {description: Limit of processes and threads., type: int, returned: success}
mount_units: {description: Units of the volume and of the tenant's view of it., type: dict, returned: success}
"""


def memory_limits(params):
    """The rule of Kloigos: 90 % of the host's memory, by the unit's share of the CPUs."""
    most, high = params["memory_max_mb"], params["memory_high_mb"]
    if not most:
        total = next(int(line.split()[1]) // 1024 for line in read("/proc/meminfo").splitlines()
                     if line.startswith("MemTotal:"))
        most = total * 9 * params["cpu_count"] // (10 * len(cpu_numbers(read("/sys/devices/system/cpu/online"))))
    return most, high or most * 9 // 10


def other_limits(params):
    """Swap and tasks by the same rule; what there is none of is nobody's."""
    cpus = len(cpu_numbers(read("/sys/devices/system/cpu/online")))
    swap = next((int(line.split()[1]) // 1024 for line in read("/proc/meminfo").splitlines()
                 if line.startswith("SwapTotal:")), 0)
    tasks = min(int(read("/proc/sys/kernel/" + name)) for name in ("threads-max", "pid_max"))
    return tuple(total * 9 * params["cpu_count"] // (10 * cpus) for total in (swap, tasks))


def links(host):
    return host.read_json(["ip", "-j", "addr", "show"]) or []


def network(host, params, floating, version):
    """Where the address goes: the interface of its own subnet, else the main one."""
    address = ipaddress.ip_address(params["address"])
    by_subnet = by_private = None
    prefixes = {}
    for link in links(host):
        if link["ifname"] == "lo":
            continue
        for entry in link.get("addr_info", []):
            if entry["family"] not in ("inet", "inet6") or entry.get("scope") != "global":
                continue
            if entry["local"] in floating:
                continue
            net = ipaddress.ip_interface("%s/%d" % (entry["local"], entry["prefixlen"])).network
            if net.version == version and net.prefixlen < net.max_prefixlen:
                prefixes.setdefault(link["ifname"], []).append(str(net))
                if address in net:
                    by_subnet = link["ifname"]
            if entry["local"] == params["private_address"]:
                by_private = link["ifname"]
    routes = [route for route in host.read_json(["ip", "-j", "-%d" % version, "route", "show", "default"]) or []
              if route.get("gateway")]
    by_route = routes[0]["dev"] if routes else None
    interface = by_subnet or by_private or by_route
    if not interface:
        host.fail("no network interface of this host can carry %s: none has that subnet, the address %s or a "
                  "default route" % (params["address"], params["private_address"]))
    index = read("/sys/class/net/%s/ifindex" % interface)
    state = dict(line.split("=", 1) for line in read("/run/systemd/netif/links/" + index).splitlines() if "=" in line)
    # The state file outlives a networkd that was stopped.
    managed = (state.get("ADMIN_STATE") in ("configured", "configuring", "degraded") and state.get("NETWORK_FILE")
               and host.succeeds(["systemctl", "is-active", "-q", "systemd-networkd.service"]))
    drop_in = ""
    if managed:
        drop_in = "/etc/systemd/network/%s.d/kloigos-%s.conf" % (
            os.path.basename(state["NETWORK_FILE"]), params["login_user"])
    return {"manager": "networkd" if managed else "unit", "interface": interface, "drop_in": drop_in,
            "links": sorted(set(prefixes.get(interface, []))), "prefix": address.max_prefixlen, "version": version,
            "gateway": next((route["gateway"] for route in routes if route["dev"] == interface), "")}


def refuse_foreign(host, params, mine):
    """Nothing that was here before us may become a tenant's."""
    user, uid = params["login_user"], params["login_uid"]
    here = "this host has no allocation %s (no marker in %s)" % (params["allocation_id"], MARKER_DIR)
    try:
        found = pwd.getpwnam(user)
        if not mine:
            host.fail("the user %s (UID %d) already exists, and %s; nothing was changed" % (user, found.pw_uid, here))
        if found.pw_uid != uid:
            host.fail("the user %s exists with UID %d, not %d; nothing was changed" % (user, found.pw_uid, uid))
    except KeyError:
        pass
    try:
        found = pwd.getpwuid(uid)
        if found.pw_name != user or not mine:
            host.fail("UID %d already belongs to %s; nothing was changed" % (uid, found.pw_name))
    except KeyError:
        pass
    for lookup, what in ((lambda: grp.getgrgid(uid), "GID %d" % uid), (lambda: grp.getgrnam(user), "the group " + user)):
        try:
            found = lookup()
            if not mine or found.gr_name != user or found.gr_gid != uid:
                host.fail("%s already exists (group %s, GID %d); nothing was changed" % (what, found.gr_name, found.gr_gid))
        except KeyError:
            pass
    if mine:
        return
    address = ipaddress.ip_address(params["address"])
    for link in links(host):
        for entry in link.get("addr_info", []):
            if ipaddress.ip_address(entry["local"]) == address:
                host.fail("the address %s is already on %s, and %s; nothing was changed" % (address, link["ifname"], here))
    for path in ("/home/" + user, "/opt/" + user, "/mnt/" + user):
        if os.path.lexists(path):
            host.fail("%s already exists, and %s; nothing was changed" % (path, here))
    if os.path.isdir(params["storage"]) and set(os.listdir(params["storage"])) - {"lost+found"}:
        host.fail("the volume %s is not empty, and %s; nothing was changed" % (params["storage"], here))


def refuse_other_allocations(host, params):
    for other in markers().values():
        if other["allocation_id"] == params["allocation_id"]:
            if other.get("phase") == "deleting":
                host.fail("the allocation %s is half deleted on this host; run `kloigos alloc delete %s` to finish it"
                          % (params["allocation_id"], params["allocation_id"]))
            for key, given in (("login_user", params["login_user"]), ("login_uid", params["login_uid"])):
                if other.get(key) != given:
                    host.fail("the allocation %s is on this host with %s %s, not %s; nothing was changed"
                              % (params["allocation_id"], key, other.get(key), given))
            continue
        if other.get("broken"):
            host.fail("the marker %s in %s cannot be read; nothing was changed" % (other["allocation_id"][1:], MARKER_DIR))
        for key, given in (("login_user", params["login_user"]), ("login_uid", params["login_uid"]),
                           ("address", params["address"]), ("compute_id", params["compute_id"]),
                           ("storage", params["storage"])):
            if str(other.get(key)) == str(given):
                host.fail("the allocation %s already has %s %s on this host; nothing was changed"
                          % (other["allocation_id"], key, given))
        # A host that was taken over under another name shows one volume at two paths.
        if os.path.ismount(str(other.get("storage"))) and (
                os.stat(other["storage"]).st_dev == os.stat(params["storage"]).st_dev):
            host.fail("the allocation %s already has the volume %s, which is %s; nothing was changed"
                      % (other["allocation_id"], params["storage"], other["storage"]))


def ask_v4(interface, address, mac):
    """An ARP probe (RFC 5227): it has no sender address, so that nobody learns one from it. Gives its
    sender and the test of an answer."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
    link.bind((interface, 0x0806))
    frame = (b"\xff" * 6 + mac + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
             + mac + b"\0" * 4 + b"\0" * 6 + address.packed)

    def answer(data):
        return data[22:28] if data[12:14] == b"\x08\x06" and data[28:32] == address.packed else b""
    return link, lambda: link.send(frame), answer


def ask_v6(interface, address, mac):
    """A neighbour solicitation; the answer is an advertisement of that very address."""
    link = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    body = struct.pack("!BBHI", 135, 0, 0, 0) + address.packed + b"\x01\x01" + mac
    group = "ff02::1:ff%02x:%02x%02x" % tuple(address.packed[13:])

    def answer(data):
        return data[26:32] or b"somebody" if data[:1] == b"\x88" and data[8:24] == address.packed else b""
    return link, lambda: link.sendto(body, (group, 0, 0, socket.if_nametoindex(interface))), answer


def who_answers(interface, address):
    """The hardware address of another machine that has this address now, or ""."""
    base = "/sys/class/net/%s/" % interface
    if read(base + "type") != "1":
        return ""  # not Ethernet: there is nobody to ask
    mac = bytes.fromhex(read(base + "address").replace(":", ""))
    link, ask, answer = (ask_v4 if address.version == 4 else ask_v6)(interface, address, mac)
    with link:
        for pause in (0.3, 0.5):
            try:
                ask()
            except OSError:
                return ""  # a link that is down
            end = time.monotonic() + pause
            while select.select([link], [], [], max(0, end - time.monotonic()))[0]:
                found = answer(link.recv(2048))
                if found and found != mac:
                    return ":".join("%02x" % byte for byte in found)
    return ""


def main():
    module = AnsibleModule(
        argument_spec={"owner_id": {"type": "str", "required": True},
                       "allocation_id": {"type": "str", "required": True},
                       "login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "address": {"type": "str", "required": True},
                       "private_address": {"type": "str", "default": ""},
                       "compute_id": {"type": "str", "required": True},
                       "storage": {"type": "str", "required": True},
                       "cpu_set": {"type": "str", "required": True},
                       "cpu_count": {"type": "int", "required": True},
                       "memory_max_mb": {"type": "int"},
                       "memory_high_mb": {"type": "int"}},
        supports_check_mode=True)
    host = Host(module)
    params = module.params
    problem = owner_problem(params["owner_id"])
    if problem:
        host.fail(problem)
    if not os.path.exists(OWNER_FILE) or not os.path.exists(NET_TOOL):
        host.fail("this host is not initialised; run `kloigos server init` first")
    if not os.path.ismount(params["storage"]):
        host.fail("the volume of %s is not mounted at %s; run `kloigos server init` to repair it"
                  % (params["compute_id"], params["storage"]))
    refuse_other_allocations(host, params)
    known = markers()
    refuse_foreign(host, params, params["allocation_id"] in known)
    most, high = memory_limits(params)
    swap, tasks = other_limits(params)
    version = ipaddress.ip_address(params["address"]).version
    floating = {marker.get("address") for marker in known.values()} | {params["address"]}
    place = network(host, params, floating, version)
    if params["allocation_id"] not in known:
        other = who_answers(place["interface"], ipaddress.ip_address(params["address"]))
        if other:
            host.fail("the address %s is in use: %s on the network of %s answers for it; nothing was changed"
                      % (params["address"], other, place["interface"]))
    host.done(network=place, memory_max_mb=most, memory_high_mb=high, swap_max_mb=swap, tasks_max=tasks,
              mount_units={"storage": unit_name(params["storage"]), "tenant": unit_name("/mnt/" + params["login_user"])})


if __name__ == "__main__":
    main()
