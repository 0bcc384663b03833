#!/usr/bin/python3
"""Brings up a tenant's floating address, its rule and route, and the filter for its UID."""

from __future__ import annotations

import ipaddress

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import NET_TOOL, Host, in_force, stamp, wait_for

DOCUMENTATION = r"""
module: kloigos_network
short_description: Address, rule, route and filter of a tenant
options:
  login_uid: {description: UID of the tenant., type: int, required: true}
  address: {description: Its floating address., type: str, required: true}
  network: {description: What kloigos_tenant_preflight found., type: dict, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The address is up
  kloigos_network:
    login_uid: 20001
    address: 10.0.2.50
    network: "{{ host.network }}"
"""
RETURN = r""" # """


def present(host, params):
    """Whether the kernel has address, rule and route."""
    address = ipaddress.ip_address(params["address"])
    interface, family = params["network"]["interface"], "-%d" % address.version
    listed = host.read_json(["ip", "-j", "addr", "show", "dev", interface]) or []
    if not any(ipaddress.ip_address(entry["local"]) == address
               for link in listed for entry in link.get("addr_info", []) if entry.get("local")):
        return False
    rule = "uidrange %d-%d lookup %d" % (params["login_uid"], params["login_uid"], params["login_uid"])
    if rule not in host.run(["ip", family, "rule", "show"], ok=None):
        return False
    routes = host.read_json(["ip", "-j", family, "route", "show", "table", str(params["login_uid"])]) or []
    wanted = set(params["network"]["links"]) | ({"default"} if params["network"]["gateway"] else set())
    return wanted <= {route["dst"] for route in routes
                      if ipaddress.ip_address(route.get("prefsrc", "0.0.0.0")) == address}


def main():
    module = AnsibleModule(
        argument_spec={"login_uid": {"type": "int", "required": True},
                       "address": {"type": "str", "required": True},
                       "network": {"type": "dict", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    params = module.params
    # The filter first: the UID never has a socket that nobody looks at.
    if not host.check:
        for line in host.run([NET_TOOL, "rules"]).splitlines():
            host.change(line)
    network, drop_in = params["network"], params["network"]["drop_in"]
    managed = network["manager"] == "networkd"
    if not present(host, params) or (managed and not in_force("networkd-%d" % params["login_uid"], [drop_in])):
        def up():
            host.run(["networkctl", "reload"] if managed else [NET_TOOL, "addresses"])
            if not wait_for(lambda: present(host, params), 20):
                host.fail("%s did not come up on %s within 20 s after %s" % (
                    params["address"], network["interface"],
                    "`networkctl reload` with " + drop_in if managed else "`kloigos-net addresses`"))
            host.run([NET_TOOL, "announce", network["interface"], params["address"]])
            if managed:
                stamp("networkd-%d" % params["login_uid"], [drop_in])
        host.change("brought up %s on %s" % (params["address"], network["interface"]), up)
    host.done()


if __name__ == "__main__":
    main()
