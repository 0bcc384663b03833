#!/usr/bin/python3
"""Whether Kloigos is on this host at all, and may be taken off it; changes nothing."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import (
    ETC, LOCK_FILE, MARKER_DIR, OWNER_FILE, STAMP_DIR, Host, markers, owner_problem, read)
from ansible.module_utils.kloigos_traces import Volumes, left, mount_units, tenants

DOCUMENTATION = r"""
module: kloigos_server_departure
short_description: Refuses hosts with tenants, of other stores, or whose volumes are in use
description:
  - Everything that could stop the work half-way is looked at before anything is changed.
options:
  owner_id: {description: UUID of the store., type: str, required: true}
  server: {description: Name of the server in Kloigos., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The server may go
  kloigos_server_departure: {owner_id: "{{ kloigos_owner_id }}", server: lab1}
"""
RETURN = r"""
here: {description: Whether anything of Kloigos is on this host., type: bool, returned: success}
"""


def refuse_tenants(host):
    known = sorted(markers())
    if known:
        host.fail("allocations live on this host: %s; nothing was changed. "
                  "`kloigos alloc delete` takes each away" % ", ".join(name.lstrip("?") for name in known))
    traces = tenants()
    if traces:
        host.fail("this host has %s of a tenant without a marker in %s, so it is not certain whose they are; "
                  "nothing was changed" % (", ".join(traces), MARKER_DIR))


def holders(paths):
    """Processes that stand in one of these directories, or have a file there open."""
    found = []
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        base = "/proc/" + pid
        try:
            links = [base + "/cwd", base + "/root"] + [base + "/fd/" + name for name in os.listdir(base + "/fd")]
        except OSError:
            continue
        for link in links:
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if any(target == path or target.startswith(path + "/") for path in paths):
                found.append("process %s (%s) in %s" % (pid, read(base + "/comm"), target))
                break
    return found


def other_mounts(units):
    """Mount points that somebody made of our volumes elsewhere."""
    ours = {path: os.path.realpath(device) for _unit, device, path in units}
    found = []
    for line in read("/proc/self/mountinfo").splitlines():
        before, after = line.split(" - ")
        point, source = before.split()[4], os.path.realpath(after.split()[1])
        if point not in ours and source in ours.values() and os.path.exists(source):
            found.append("%s mounted at %s" % (source, point))
    return found


def refuse_use(host, server):
    units = mount_units()
    used = holders([path for _unit, _device, path in units if os.path.ismount(path)]) + other_mounts(units)
    volumes = Volumes(host, server)
    names = {row["lv_name"]: row["vg_name"] for row in volumes.ours()}
    used += ["the snapshot %s/%s of %s" % (row["vg_name"], row["lv_name"], row["origin"]) for row in volumes.lvs
             if names.get(row["origin"].strip("[]")) == row["vg_name"] and not volumes.is_ours(row["lv_tags"])]
    if used:
        host.fail("the volumes of the compute units are in use: %s; nothing was changed" % "; ".join(used[:20]))


def main():
    module = AnsibleModule(
        argument_spec={"owner_id": {"type": "str", "required": True},
                       "server": {"type": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    server = module.params["server"]
    problem = owner_problem(module.params["owner_id"])
    if problem:
        host.fail(problem)
    refuse_tenants(host)
    # SERVER_INIT stamps the host before it does anything else, and SERVER_DECOMM drops the stamp last.
    if not os.path.exists(OWNER_FILE):
        traces = left(host, server)
        if traces:
            host.fail("this host has %s but no owner stamp in %s, so it is not certain whose they are; nothing was "
                      "changed. `kloigos server init %s` stamps the host" % (", ".join(traces[:20]), OWNER_FILE, server))
    here = any(os.path.isdir(path) for path in (ETC, STAMP_DIR))
    if here:
        refuse_use(host, server)
    else:
        os.unlink(LOCK_FILE)
    host.done(here=here)


if __name__ == "__main__":
    main()
