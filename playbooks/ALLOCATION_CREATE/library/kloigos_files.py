#!/usr/bin/python3
# This file is the same, byte for byte, in every packaged playbook that has it:
# a bundle must be whole by itself.
"""Puts many small root-owned files in place in one round trip."""

from __future__ import annotations

import os
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import Host, write

DOCUMENTATION = r"""
module: kloigos_files
short_description: Directories and text files in one round trip
description:
  - One copy task for each file costs a round trip each; this takes them all.
  - Files are written in the order given, each replaced in one step, with a diff.
options:
  directories:
    description: List of path and mode.
    type: list
    elements: dict
    default: []
  files:
    description: List of path, content, mode (0644), only_if_absent (false).
    type: list
    elements: dict
    default: []
author: Kloigos
"""
EXAMPLES = r"""
- name: The files are there
  kloigos_files:
    files:
      - path: /etc/kloigos/owner
        content: "{{ kloigos_owner_id }}\n"
"""
RETURN = r"""
changed_files:
  description: Paths that were (or would be) written.
  type: list
  returned: always
"""


def wrong_owner_or_mode(path, mode):
    found = os.lstat(path)
    return found.st_uid != 0 or found.st_gid != 0 or stat.S_IMODE(found.st_mode) != mode


def main():
    module = AnsibleModule(
        argument_spec={
            "directories": {
                "type": "list", "elements": "dict", "default": [],
                "options": {"path": {"type": "str", "required": True},
                            "mode": {"type": "str", "default": "0755"}}},
            "files": {
                "type": "list", "elements": "dict", "default": [],
                "options": {"path": {"type": "str", "required": True},
                            "content": {"type": "str", "required": True},
                            "mode": {"type": "str", "default": "0644"},
                            "only_if_absent": {"type": "bool", "default": False}}},
        },
        supports_check_mode=True)
    host = Host(module)
    changed_files, diffs = [], []

    for directory in module.params["directories"]:
        path, mode = directory["path"], int(directory["mode"], 8)
        if not os.path.isdir(path):
            host.change("made " + path, lambda p=path: os.makedirs(p, exist_ok=True), lambda p=path, m=mode: os.chmod(p, m))
        elif wrong_owner_or_mode(path, mode):
            host.change("owner and mode of " + path,
                        lambda p=path: os.chown(p, 0, 0), lambda p=path, m=mode: os.chmod(p, m))

    for wanted in module.params["files"]:
        path, mode = wanted["path"], int(wanted["mode"], 8)
        exists = os.path.lexists(path)
        if exists and wanted["only_if_absent"]:
            continue
        # A link where a file of ours should stand is replaced, never followed.
        plain = exists and stat.S_ISREG(os.lstat(path).st_mode)
        before = read_exact(path) if plain else ""
        if plain and before == wanted["content"]:
            if wrong_owner_or_mode(path, mode):
                host.change("owner and mode of " + path,
                            lambda p=path: os.chown(p, 0, 0), lambda p=path, m=mode: os.chmod(p, m))
            continue
        changed_files.append(path)
        diffs.append({"before_header": path, "after_header": path,
                      "before": before, "after": wanted["content"]})
        host.change("wrote " + path, lambda w=wanted, p=path, m=mode: put(p, w["content"], m))

    host.done(changed_files=changed_files, diff=diffs)


def read_exact(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as handle:
        return handle.read()


def put(path, content, mode):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    write(path, content, mode)


if __name__ == "__main__":
    main()
