#!/usr/bin/python3
"""Unmounts the volumes of the compute units, wipes them, and gives their space back."""

from __future__ import annotations

import errno
import glob
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_before import TAG, server_tag
from ansible.module_utils.kloigos_host import Host
from ansible.module_utils.kloigos_traces import SYSTEMD, Volumes, begin, mount_directories, mount_units

DOCUMENTATION = r"""
module: kloigos_storage_removal
short_description: No volume of Kloigos is left, and none of the tenants' data on the disks
description:
  - Logical volumes go by their tag. A volume group goes only where Kloigos made it and nobody
    else has a volume in it, and a physical volume only where Kloigos made it.
  - Volumes are overwritten with zeroes; where the disk cannot do that by itself, this takes as
    long as writing the volumes takes.
options:
  server: {description: Name of the server in Kloigos., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The volumes are gone
  kloigos_storage_removal: {server: lab1}
"""
RETURN = r"""
notes: {description: What the operator should know., type: list, returned: always}
"""

MIB = 1024 * 1024
A_DAY = 24 * 3600


def unmount(host):
    units = mount_units()
    if not units:
        return
    names = [unit for unit, _device, _path in units]

    def away():
        # systemd reads that they are gone together with all other units.
        begin("units")
        host.run(["systemctl", "stop"] + names)
        for _unit, _device, path in units:
            if os.path.ismount(path):
                host.run(["umount", path])
        host.run(["systemctl", "disable", "-q", "--no-reload"] + names)
        for name in names:
            os.unlink("%s/%s" % (SYSTEMD, name))
    host.change("unmounted %s, for good" % ", ".join(path for _unit, _device, path in units), away)


def wipe(host, device):
    try:
        # The kernel grants this only where no mount, swap or device mapper has the volume.
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        host.fail("%s cannot be wiped: %s" % (device, "it is in use" if error.errno == errno.EBUSY else error.strerror))
    host.run(["wipefs", "--all", "--quiet", device])
    host.run(["blkdiscard", "--zeroout", "--step", str(1024 * MIB), device], timeout=7 * A_DAY)


def remove_volumes(host, volumes):
    for row in volumes.ours():
        name = "%s/%s" % (row["vg_name"], row["lv_name"])
        steps = [["lvremove", "-q", "-y", name]]
        if row["lv_active"] != "active":
            steps.insert(0, ["lvchange", "-q", "-ay", name])
        steps.insert(len(steps) - 1, lambda device="/dev/" + name: wipe(host, device))
        host.change("wiped and removed the volume " + name, *steps)


def remove_groups(host, volumes, notes):
    for group in volumes.groups():
        others = volumes.foreign_in(group)
        if not others:
            host.change("removed the volume group " + group, ["vgremove", "-q", "-y", group])
            continue
        notes.append("the volume group %s stays, since it carries %s, which Kloigos did not make"
                     % (group, ", ".join(sorted(others))))
        host.change("the volume group %s is no more Kloigos'" % group,
                    ["vgchange", "-q", "--deltag", TAG, "--deltag", server_tag(volumes.server), group])


def remove_history(host, group):
    """LVM keeps what a volume group was like; of a group that is gone it would tell forever."""
    old = glob.glob("/etc/lvm/archive/%s_*.vg" % group) + glob.glob("/etc/lvm/backup/" + group)
    if old:
        host.change("removed LVM's history of " + group, lambda: [os.unlink(path) for path in old])


def remove_physical(host, volumes):
    for device in volumes.made():
        # The text of the metadata with our names stands in the first MiB.
        host.change("%s is an unused disk again" % device, ["pvremove", "-q", "-y", device],
                    ["blkdiscard", "--zeroout", "--length", str(MIB), device])


def main():
    module = AnsibleModule(argument_spec={"server": {"type": "str", "required": True}}, supports_check_mode=True)
    host = Host(module)
    server, notes = module.params["server"], []
    unmount(host)
    volumes = Volumes(host, server)
    made = volumes.groups()
    remove_volumes(host, volumes)
    if not host.check:
        volumes.refresh()
    remove_groups(host, volumes, notes)
    if not host.check:
        volumes.refresh()
    remove_physical(host, volumes)
    # Of an attempt that was cut here, too.
    for group in set(made) | {"kloigos-vg"}:
        if group not in [row["vg_name"] for row in volumes.vgs]:
            remove_history(host, group)
    for path in mount_directories(server):
        if not host.check and os.listdir(path):
            notes.append("%s stays, since it is not empty" % path)
            continue
        host.change("removed " + path, lambda p=path: os.rmdir(p))
    if host.changes and not host.check:
        host.run(["udevadm", "settle"], ok=None)
    host.done(notes=notes)


if __name__ == "__main__":
    main()
