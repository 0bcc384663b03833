#!/usr/bin/python3
"""Takes a tenant's address, rule, routes and place in the filter away."""

from __future__ import annotations

import ipaddress
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import NET_TOOL, STAMP_DIR, Host, wait_for

DOCUMENTATION = r"""
module: kloigos_disconnect
short_description: The floating address is free again
options:
  login_uid: {description: UID of the tenant., type: int, required: true}
  address: {description: Its floating address., type: str, required: true}
  network: {description: What its marker says about the network., type: dict, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The address is gone
  kloigos_disconnect: {login_uid: 20001, address: 10.0.2.50, network: {interface: eth0}}
"""
RETURN = r""" # """


def carriers(host, address):
    """Interfaces that have the address, with the form in which they have it."""
    return [(link["ifname"], "%s/%d" % (entry["local"], entry["prefixlen"]))
            for link in host.read_json(["ip", "-j", "addr", "show"]) or []
            for entry in link.get("addr_info", [])
            if entry.get("local") and ipaddress.ip_address(entry["local"]) == address]


def has_rule(host, family, uid):
    return "uidrange %d-%d " % (uid, uid) in host.run(["ip", family, "rule", "show"], ok=None)


def routes(host, family, uid):
    return host.read_json(["ip", "-j", family, "route", "show", "table", str(uid)]) or []


def main():
    module = AnsibleModule(
        argument_spec={"login_uid": {"type": "int", "required": True},
                       "address": {"type": "str", "required": True},
                       "network": {"type": "dict", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    uid, network = module.params["login_uid"], module.params["network"]
    address = ipaddress.ip_address(module.params["address"])
    family = "-%d" % address.version

    drop_in = network.get("drop_in")
    if drop_in and os.path.exists(drop_in):
        def remove():
            os.unlink(drop_in)
            if not os.listdir(os.path.dirname(drop_in)):
                os.rmdir(os.path.dirname(drop_in))
            host.run(["networkctl", "reload"], ok=None)
            wait_for(lambda: not carriers(host, address) and not has_rule(host, family, uid)
                     and not routes(host, family, uid), 10)
        host.change("networkd forgot the address", remove)
    # What networkd left, or what was never networkd's.
    for interface, text in carriers(host, address):
        host.change("removed %s from %s" % (text, interface), ["ip", "addr", "del", text, "dev", interface])
    while has_rule(host, family, uid):
        host.change("removed the rule of UID %d" % uid,
                    ["ip", family, "rule", "del", "uidrange", "%d-%d" % (uid, uid), "lookup", str(uid)])
        if host.check:
            break
    if routes(host, family, uid):
        host.change("removed the routes of UID %d" % uid, ["ip", family, "route", "flush", "table", str(uid)])
    stamp = os.path.join(STAMP_DIR, "networkd-%d" % uid)
    if os.path.exists(stamp) and not host.check:
        os.unlink(stamp)
    # The filter last: while the address was here, nobody else's packets carried it.
    if not host.check:
        for line in host.run([NET_TOOL, "rules"]).splitlines():
            host.change(line)
    host.done()


if __name__ == "__main__":
    main()
