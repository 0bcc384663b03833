#!/usr/bin/python3
"""Decides whether this host has the allocation at all, and whether it may be removed; changes nothing."""

from __future__ import annotations

import os
import pwd

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import MARKER_DIR, SHELL_DIR, Host, markers, owner_problem

DOCUMENTATION = r"""
module: kloigos_departure
short_description: Whether an allocation is here and may go
options:
  owner_id: {description: UUID of the store., type: str, required: true}
  allocation_id: {description: The allocation., type: str, required: true}
  login_user: {description: Its user., type: str, required: true}
  login_uid: {description: Its UID., type: int, required: true}
  address: {description: Its floating address., type: str, required: true}
  storage: {description: Mount path of its volume., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The allocation may go
  kloigos_departure:
    owner_id: "{{ kloigos_owner_id }}"
    allocation_id: web
    login_user: web
    login_uid: 20001
    address: 10.0.2.50
    storage: /mnt/kloigos/lab1/cu00
"""
RETURN = r"""
here: {description: Whether the allocation has a marker on this host., type: bool, returned: success}
marker: {description: What the marker says., type: dict, returned: success}
"""


def traces(user, uid):
    """What only we make, so that a lost marker is not taken for an absent tenant."""
    found = [path for path in (os.path.join(SHELL_DIR, user), "/etc/apparmor.d/kloigos-" + user,
                               "/etc/systemd/system/user@%d.service.d/50-kloigos.conf" % uid,
                               "/etc/systemd/system/user-%d.slice.d/50-kloigos.conf" % uid) if os.path.lexists(path)]
    try:
        if pwd.getpwnam(user).pw_shell.startswith(SHELL_DIR):
            found.append("the user " + user)
    except KeyError:
        pass
    return found


def main():
    module = AnsibleModule(
        argument_spec={"owner_id": {"type": "str", "required": True},
                       "allocation_id": {"type": "str", "required": True},
                       "login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "address": {"type": "str", "required": True},
                       "storage": {"type": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    params = module.params
    problem = owner_problem(params["owner_id"])
    if problem:
        host.fail(problem)
    known = markers()
    mine = known.pop(params["allocation_id"], None)
    for other in known.values():
        for key in ("login_user", "login_uid", "address", "storage"):
            if str(other.get(key)) == str(params[key]):
                host.fail("%s %s belongs to the allocation %s on this host, not to %s; nothing was changed"
                          % (key, params[key], other["allocation_id"], params["allocation_id"]))
    if mine is None:
        # ALLOCATION_CREATE writes the marker before anything else: without one there is nothing of ours.
        left = traces(params["login_user"], params["login_uid"])
        if left:
            host.fail("this host has %s but no marker of the allocation %s in %s, so it is not certain whose they are; "
                      "nothing was changed" % (", ".join(left), params["allocation_id"], MARKER_DIR))
        host.done(here=False, marker={})
    for key in ("login_user", "login_uid", "address", "storage"):
        if str(mine.get(key)) != str(params[key]):
            host.fail("the allocation %s is on this host with %s %s, not %s; nothing was changed"
                      % (params["allocation_id"], key, mine.get(key), params[key]))
    host.done(here=True, marker=mine)


if __name__ == "__main__":
    main()
