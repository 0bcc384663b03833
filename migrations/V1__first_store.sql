-- The first store. Times are milliseconds since the epoch, UTC. Statuses are
-- spelled as in the domain's state machines; only those write them.

CREATE TABLE store_identity (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    -- The owner stamp that hosts carry.
    id   TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE servers (
    hostname      TEXT PRIMARY KEY,
    private_ip    TEXT NOT NULL,
    public_ip     TEXT,
    port          INTEGER NOT NULL,
    admin_user    TEXT NOT NULL,
    region        TEXT NOT NULL,
    zone          TEXT NOT NULL,
    profile       TEXT NOT NULL,
    status        TEXT NOT NULL,
    health        TEXT NOT NULL,
    vg            TEXT,
    disks         TEXT NOT NULL,        -- JSON list
    disk_size_gb  INTEGER,
    adopt         INTEGER NOT NULL,
    tags          TEXT NOT NULL,        -- JSON object
    cpus          INTEGER,
    memory_mb     INTEGER,
    numa          TEXT NOT NULL,        -- JSON object: CPU number to node
    host_vg       TEXT,
    run_id        INTEGER,
    status_reason TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE allocations (
    key            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL,
    login_user     TEXT NOT NULL,
    uid            INTEGER NOT NULL,
    ip_address     TEXT NOT NULL,
    compute_unit   TEXT NOT NULL,
    server         TEXT NOT NULL,
    ssh_public_key TEXT NOT NULL,
    tags           TEXT NOT NULL,       -- JSON object
    status         TEXT NOT NULL,
    run_id         INTEGER,
    status_reason  TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
-- A DEALLOCATED one stays as history; all that names it may be used again.
CREATE UNIQUE INDEX allocations_live_id ON allocations (id) WHERE status <> 'DEALLOCATED';
CREATE UNIQUE INDEX allocations_live_user ON allocations (login_user) WHERE status <> 'DEALLOCATED';
CREATE UNIQUE INDEX allocations_live_uid ON allocations (uid) WHERE status <> 'DEALLOCATED';
CREATE INDEX allocations_id ON allocations (id, key);
CREATE INDEX allocations_server ON allocations (server);
CREATE INDEX allocations_run ON allocations (run_id);

CREATE TABLE compute_units (
    id             TEXT PRIMARY KEY,
    server         TEXT NOT NULL REFERENCES servers (hostname) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    cpu_range      TEXT NOT NULL,
    cpu_count      INTEGER NOT NULL,
    numa_node      INTEGER,
    status         TEXT NOT NULL,
    allocation_key INTEGER REFERENCES allocations (key),
    updated_at     INTEGER NOT NULL,
    UNIQUE (server, ordinal)
) STRICT;
CREATE UNIQUE INDEX compute_units_allocation ON compute_units (allocation_key) WHERE allocation_key IS NOT NULL;

CREATE TABLE ip_pool (
    address        TEXT PRIMARY KEY,
    -- Big-endian bytes with the family first: the order of addresses.
    sort_key       BLOB NOT NULL,
    status         TEXT NOT NULL,
    allocation_key INTEGER REFERENCES allocations (key),
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX ip_pool_free ON ip_pool (sort_key) WHERE status = 'FREE';
CREATE UNIQUE INDEX ip_pool_allocation ON ip_pool (allocation_key) WHERE allocation_key IS NOT NULL;

CREATE TABLE playbooks (
    name            TEXT PRIMARY KEY,
    default_version INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE playbook_versions (
    name        TEXT NOT NULL REFERENCES playbooks (name) DEFERRABLE INITIALLY DEFERRED,
    version     INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    kind        TEXT NOT NULL,          -- file, bundle
    entry       TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    author      TEXT NOT NULL,
    message     TEXT,
    packaged    INTEGER NOT NULL,
    content     BLOB NOT NULL,          -- zstd of a tar in canonical form
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;

CREATE TABLE runs (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    status         TEXT NOT NULL,
    ending         TEXT,
    playbook       TEXT NOT NULL,
    version        INTEGER NOT NULL,
    digest         TEXT NOT NULL,
    lifecycle      TEXT,
    subject        TEXT,
    requester_user TEXT NOT NULL,
    requester_host TEXT NOT NULL,
    requester_pid  INTEGER NOT NULL,
    check_mode     INTEGER NOT NULL,
    request        TEXT NOT NULL,       -- JSON object, secrets redacted
    queued_at      INTEGER NOT NULL,
    started_at     INTEGER,
    ended_at       INTEGER,
    ansible_exit   INTEGER,
    reason         TEXT,
    data           TEXT                 -- JSON, from set_stats
) STRICT;
CREATE INDEX runs_live ON runs (id) WHERE status IN ('queued', 'running');
CREATE INDEX runs_playbook ON runs (playbook, id);
CREATE INDEX runs_status ON runs (status, id);
CREATE INDEX runs_subject ON runs (subject, id);

CREATE TABLE run_hosts (
    run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    host        TEXT NOT NULL,
    address     TEXT NOT NULL,
    port        INTEGER,
    ok          INTEGER NOT NULL DEFAULT 0,
    changed     INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    unreachable INTEGER NOT NULL DEFAULT 0,
    skipped     INTEGER NOT NULL DEFAULT 0,
    rescued     INTEGER NOT NULL DEFAULT 0,
    ignored     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, host)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_hosts_host ON run_hosts (host, run_id);

CREATE TABLE run_tasks (
    run_id     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    task_no    INTEGER NOT NULL,
    play       TEXT NOT NULL,
    name       TEXT NOT NULL,
    action     TEXT NOT NULL,
    handler    INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, task_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_results (
    run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- Order within the run, from 1.
    seq         INTEGER NOT NULL,
    task_no     INTEGER NOT NULL,
    host        TEXT NOT NULL,
    status      TEXT NOT NULL,
    changed     INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    message     TEXT,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_output (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    stream TEXT NOT NULL,
    text   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- First come, first served: a lower id is served first among tickets that
-- share a host. The kernel's file locks decide who has a host; tickets only
-- order the waiting and say whom one waits for.
CREATE TABLE claim_tickets (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    host_key  TEXT NOT NULL,
    host_name TEXT NOT NULL,
    state     TEXT NOT NULL,            -- waiting, held
    since     INTEGER NOT NULL,
    UNIQUE (run_id, host_key)
) STRICT;
CREATE INDEX claim_tickets_host ON claim_tickets (host_key, id);

CREATE TABLE settings (
    name       TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    run_id  INTEGER,
    detail  TEXT NOT NULL               -- JSON object
) STRICT;
CREATE INDEX events_subject ON events (subject, id);
CREATE INDEX events_run ON events (run_id) WHERE run_id IS NOT NULL;
