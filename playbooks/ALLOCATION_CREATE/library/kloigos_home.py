#!/usr/bin/python3
"""Gives a tenant its directories and, last of all, the key that lets it in."""

from __future__ import annotations

import os
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_host import Host

DOCUMENTATION = r"""
module: kloigos_home
short_description: Home, /opt directory, volume and authorised key of a tenant
options:
  login_user: {description: User of the tenant., type: str, required: true}
  login_uid: {description: UID and GID of the tenant., type: int, required: true}
  volume: {description: Where its volume is mounted., type: str, required: true}
  key: {description: OpenSSH public key., type: str, required: true}
author: Kloigos
"""
EXAMPLES = r"""
- name: The tenant has its directories and its key
  kloigos_home:
    login_user: alice
    login_uid: 20001
    volume: /mnt/kloigos/lab1/cu00
    key: ssh-ed25519 AAAA…
"""
RETURN = r""" # """


def own_directory(host, path, uid):
    if not os.path.lexists(path):
        def make():
            os.mkdir(path, 0o700)
            os.chown(path, uid, uid)
        host.change("made " + path, make)
        return
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        host.fail("%s is not a directory" % path)
    if (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) != (uid, uid, 0o700):
        host.change("owner and mode of " + path, lambda: os.chown(path, uid, uid), lambda: os.chmod(path, 0o700))


def only_a_file(handle):
    """What the tenant put there may as well be a pipe, which would hold root up for ever."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("authorized_keys is not a file")
    return handle


def key_present(path, key):
    try:
        handle = only_a_file(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
        with os.fdopen(handle, encoding="utf-8", errors="replace") as lines:
            return key in [line.strip() for line in lines.read(1 << 20).splitlines()]
    except OSError:
        return False


def as_tenant(host, user, uid, act):
    """Does act() with the tenant's rights only.

    The home is the tenant's: what root would write there could be led anywhere by a link.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.initgroups(user, uid)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            os._exit(0)
        except BaseException as error:  # the child must never return into the module
            os.write(writer, str(error).encode())
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    if os.waitpid(child, 0)[1] != 0:
        host.fail("the key of %s could not be written: %s" % (user, problem))


def add_key(home, key):
    directory, path = home + "/.ssh", home + "/.ssh/authorized_keys"
    os.umask(0o077)
    if not os.path.isdir(directory):
        os.mkdir(directory)
    os.chmod(directory, 0o700)
    handle = only_a_file(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
    with os.fdopen(handle, "r+b") as out:
        before = out.read()
        out.write((b"" if not before or before.endswith(b"\n") else b"\n") + key.encode() + b"\n")
        out.flush()
        os.fsync(out.fileno())
        os.fchmod(out.fileno(), 0o600)


def main():
    module = AnsibleModule(
        argument_spec={"login_user": {"type": "str", "required": True},
                       "login_uid": {"type": "int", "required": True},
                       "volume": {"type": "str", "required": True},
                       "key": {"type": "str", "required": True, "no_log": False}},
        supports_check_mode=True)
    host = Host(module)
    user, uid, key = module.params["login_user"], module.params["login_uid"], module.params["key"].strip()
    home = "/home/" + user
    for path in (home, "/opt/" + user, module.params["volume"]):
        own_directory(host, path, uid)
    if not key_present(home + "/.ssh/authorized_keys", key):
        host.change("authorised the key", lambda: as_tenant(host, user, uid, lambda: add_key(home, key)))
    host.done()


if __name__ == "__main__":
    main()
