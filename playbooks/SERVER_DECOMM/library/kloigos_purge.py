#!/usr/bin/python3
"""Purges the packages that SERVER_INIT itself brought, and that nothing else has come to need."""

from __future__ import annotations

import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_before import PACKAGES, recall
from ansible.module_utils.kloigos_host import Host, read

DOCUMENTATION = r"""
module: kloigos_purge
short_description: Packages that came with SERVER_INIT are gone
description:
  - Only what dpkg newly installed for SERVER_INIT, as dpkg told it then. A package that others
    depend on by now stays, and so does one that the host uses in ways no dependency tells.
author: Kloigos
"""
EXAMPLES = r"""
- name: The packages are gone
  kloigos_purge:
"""
RETURN = r"""
notes: {description: What stays, and why., type: list, returned: always}
"""

APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]


def plain(name):
    """Without the architecture, which only some listings give."""
    return name.split(":")[0]


def installed(host):
    listing = host.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n"])
    return {line.split()[0] for line in listing.splitlines() if line.split()[1:] == ["ii"]}


def field(host, names, which):
    """Package names in a relation field: each alternative, without versions."""
    found = {}
    for name in names:
        text = host.run(["dpkg-query", "-W", "-f", which, name], ok=None)
        found[name] = {plain(part.split()[0]) for part in text.replace("|", ",").split(",") if part.split()}
    return found


def dragged(host, plan):
    """What else apt would take along."""
    text = host.run(APT + ["--simulate", "purge"] + sorted(plan), timeout=600)
    return {plain(line.split()[1]) for line in text.splitlines() if line.startswith(("Purg ", "Remv "))} - plan


def in_use(host, plan):
    """Uses that no dependency tells: package and why it stays."""
    found = {}
    if "lvm2" in plan and host.run(["pvs", "--noheadings", "-o", "pv_name"], ok=None).split():
        found["lvm2"] = "this host has volume groups"
    if "nftables" in plan and (host.run(["nft", "list", "ruleset"], ok=None).strip()
                               or host.succeeds(["systemctl", "is-enabled", "-q", "nftables.service"])):
        found["nftables"] = "this host has rules of its own"
    if "apparmor" in plan:
        profiles = [path for path in glob.glob("/etc/apparmor.d/*") if os.path.isfile(path)]
        if not host.succeeds(["dpkg-query", "-S"] + profiles):
            found["apparmor"] = "this host has profiles of its own"
    return found


def essential(host, plan):
    """What apt never removes unasked: the file system's tools, where the host came without them."""
    listing = host.run(["dpkg-query", "-W", "-f", "${Package} ${Essential} ${Protected} ${Important}\n"])
    return {line.split()[0] for line in listing.splitlines() if "yes" in line.split()[1:]} & plan


def choose(host):
    """What may go, and what stays with the reason."""
    recorded = {plain(line) for line in read(PACKAGES).split()}
    plan = recorded & installed(host)
    stay = in_use(host, plan)
    stay.update({name: "the system cannot do without it" for name in essential(host, plan)})
    # Purging would take the settings that were here before.
    stay.update({name: "its settings were here before" for name in plan if name in recall("residual")})
    plan -= set(stay)
    # What stays keeps what it needs, and that in turn what it needs.
    others = set(stay)
    while plan:
        asked = not others
        others = others or dragged(host, plan)
        if not others:
            break
        wanted = set().union(*field(host, others, "${Depends},${Pre-Depends}").values())
        needed = {name for name, gives in field(host, plan, "${Package},${Provides}").items() if gives & wanted}
        if asked and not needed:
            # Why they would go along, the relations do not tell.
            needed = plan
        stay.update({name: "%s needs it" % ", ".join(sorted(others)[:5]) for name in needed})
        plan = plan - needed
        others = needed
    return plan, stay


def main():
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    host = Host(module)
    plan, stay = choose(host)
    if plan:
        host.change("purged " + " ".join(sorted(plan)), lambda: host.run(APT + ["-y", "purge"] + sorted(plan), timeout=3600))
        left = set() if host.check else plan & installed(host)
        if left:
            host.fail("still installed after they were purged: " + ", ".join(sorted(left)))
    host.done(notes=["the package %s stays: %s" % item for item in sorted(stay.items())])


if __name__ == "__main__":
    main()
