#!/usr/bin/python3
"""Empties a compute unit's volume for the next tenant."""

from __future__ import annotations

import os
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import Host, read, unit_name

DOCUMENTATION = r"""
module: kloigos_empty_volume
short_description: A new file system on the volume, mounted and root's
description:
  - A new file system is quicker than removing files one by one, and leaves no name,
    attribute, quota or reserved inode behind. Where the volume cannot be unmounted,
    every file is removed instead.
options:
  login_user: {description: User of the tenant., type: str, required: true}
  storage: {description: Mount path of the volume., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The volume is empty
  kloigos_empty_volume: {login_user: web, storage: /mnt/kloigos/lab1/cu00}
"""
RETURN = r""" # """

SYSTEMD = "/etc/systemd/system/"


def drop_view(host, user):
    """The tenant's own mount of the volume."""
    view, unit = "/mnt/" + user, unit_name("/mnt/" + user)
    if os.path.lexists(SYSTEMD + "local-fs.target.wants/" + unit):
        host.change("%s is not mounted at boot" % view, lambda: os.unlink(SYSTEMD + "local-fs.target.wants/" + unit))
    if os.path.ismount(view):
        host.change("unmounted " + view, lambda: unmount(host, view))
    if os.path.exists(SYSTEMD + unit):
        host.change("removed " + unit, lambda: os.unlink(SYSTEMD + unit), ["systemctl", "daemon-reload"])
    if os.path.isdir(view):
        host.change("removed " + view, lambda: os.path.ismount(view) or os.rmdir(view))


def unmount(host, path):
    if not host.succeeds(["umount", path]):
        # Something else (an administrator's shell) stands in it; the view goes all the same.
        host.run(["umount", "--lazy", path])


def device_of(path):
    for line in read(SYSTEMD + unit_name(path)).splitlines():
        if line.startswith("What=/dev/"):
            return line[5:]
    return ""


def is_clean(path):
    found = os.stat(path)
    return (os.path.ismount(path) and not os.listdir(path)
            and (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 0, 0o755))


def wipe(host, path, device):
    unit = unit_name(path)
    if not os.path.ismount(path) or host.succeeds(["umount", path]):
        host.run(["wipefs", "--all", "--quiet", device])
        host.run(["mkfs.ext4", "-q", "-F", "-m", "0", device])
        host.run(["systemctl", "start", unit])
        if not os.path.ismount(path):
            host.run(["systemctl", "restart", unit])
    else:
        remove_files(host, path)
    lost = path + "/lost+found"
    if os.path.isdir(lost) and not os.listdir(lost):
        os.rmdir(lost)
    os.chown(path, 0, 0)
    os.chmod(path, 0o755)


def remove_files(host, path):
    # Immutable files would be left behind.
    host.run(["chattr", "-R", "-i", "-a", path], ok=None)
    host.run(["find", path, "-xdev", "-mindepth", "1", "-delete"], timeout=3000)


def main():
    module = AnsibleModule(
        argument_spec={"login_user": {"type": "str", "required": True},
                       "storage": {"type": "str", "required": True}},
        supports_check_mode=True)
    host = Host(module)
    path = module.params["storage"]
    drop_view(host, module.params["login_user"])
    if not os.path.isdir(path) or not is_clean(path):
        device = device_of(path)
        if not device and not os.path.ismount(path):
            host.fail("%s is no volume of Kloigos (no mount unit, nothing mounted); it was left as it is" % path)
        host.change("emptied the volume " + path,
                    lambda: wipe(host, path, device) if device else remove_files(host, path))
        if not host.check and not is_clean(path):
            host.fail("the volume %s is not empty and root's after it was wiped" % path)
    host.done()


if __name__ == "__main__":
    main()
