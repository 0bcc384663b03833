#!/usr/bin/python3
"""Asks kernel and daemons whether anything of Kloigos is left on a host; then drops the owner stamp."""

from __future__ import annotations

import os
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import ETC, LOCK_FILE, STAMP_DIR, Host
from ansible.module_utils.kloigos_traces import RECORDS, left

DOCUMENTATION = r"""
module: kloigos_server_absence
short_description: Reads back that Kloigos is gone, then removes its stamp
description:
  - The stamp goes last, and only when everything else is gone, so that a run that failed
    can be repeated.
  - Fails with the names of what is left; in check mode it only lists them.
options:
  server: {description: Name of the server in Kloigos., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: Nothing is left
  kloigos_server_absence: {server: lab1}
"""
RETURN = r"""
left: {description: What is still there., type: list, returned: always}
notes: {description: What the operator should know., type: list, returned: always}
"""


def main():
    module = AnsibleModule(argument_spec={"server": {"type": "str", "required": True}}, supports_check_mode=True)
    host = Host(module)
    found = left(host, module.params["server"])
    if found and not host.check:
        host.fail("still there of Kloigos: " + "; ".join(found[:40]), left=found)
    if os.path.isdir(STAMP_DIR):
        host.change("removed " + STAMP_DIR, lambda: shutil.rmtree(STAMP_DIR))
    for path in RECORDS:
        if os.path.exists(path):
            host.change("removed " + path, lambda p=path: os.unlink(p))
    if os.path.isdir(ETC) and not host.check and not os.listdir(ETC):
        host.change("removed " + ETC, lambda: os.rmdir(ETC))
    stays = os.path.isdir(ETC) and not host.check
    if not host.check:
        # Whoever waits for it finds that it has no name, and makes it anew.
        os.unlink(LOCK_FILE)
    host.done(left=found, notes=["%s stays, since it holds something that Kloigos did not put there" % ETC] if stays else [])


if __name__ == "__main__":
    main()
