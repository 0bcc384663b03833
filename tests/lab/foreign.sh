# What an administrator has on a host before Kloigos comes: one thing of each kind that it also
# makes. Run as root on the host; the last disk is his.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -q -y install --no-install-recommends "$@" >/dev/null

disk=/dev/vdc
pvcreate -q "$disk" >/dev/null
vgcreate -q data "$disk" >/dev/null
lvcreate -q -y -n archive -L 64m data >/dev/null
mkfs.ext4 -q /dev/data/archive
mkdir -p /srv/archive
echo '/dev/data/archive /srv/archive ext4 defaults 0 2' >>/etc/fstab
systemctl daemon-reload
mount /srv/archive
echo precious >/srv/archive/file

nft add table inet theirs
nft 'add chain inet theirs input { type filter hook input priority 0; policy accept; }'
nft add rule inet theirs input tcp dport 4242 counter drop

useradd --create-home --shell /bin/bash --groups sudo worker
echo note >/home/worker/note
chown worker:worker /home/worker/note
# The list of those who may use cron is his; one for at he never made.
echo worker >/etc/cron.allow

cat >/etc/systemd/system/theirs.service <<'END'
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
END
mkdir -p /etc/systemd/system/user@.service.d
printf '[Service]\nTasksMax=5000\n' >/etc/systemd/system/user@.service.d/20-theirs.conf
systemctl daemon-reload
systemctl enable --now -q theirs.service

printf 'Match User worker\n    X11DisplayOffset 20\n' >/etc/ssh/sshd_config.d/20-theirs.conf
systemctl reload ssh.service
# In the kernel only, where no file tells it.
sysctl -q -w 'net.ipv4.ping_group_range=100 200'
ip address add 192.0.2.7/32 dev lo
mkdir -p /usr/local/lib/theirs /var/lib/theirs
echo tool >/usr/local/lib/theirs/tool
cat >/etc/apparmor.d/theirs <<'END'
profile theirs /usr/local/lib/theirs/tool {
}
END
apparmor_parser -r /etc/apparmor.d/theirs
