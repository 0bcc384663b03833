-- What the history of runs is asked.

-- The code that the run's own process gave: a run that failed before Ansible
-- has one that its ending does not tell. NULL for runs of older builds.
ALTER TABLE runs ADD COLUMN exit_code INTEGER;

-- Hosts that the run has changed; none for a check. Few runs change a host,
-- and those that did are found without reading the rest.
ALTER TABLE runs ADD COLUMN changed_hosts INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET changed_hosts =
    (SELECT count(*) FROM run_hosts h WHERE h.run_id = runs.id AND h.changed > 0)
    WHERE NOT check_mode;
CREATE INDEX runs_changed ON runs (id) WHERE changed_hosts > 0;
CREATE INDEX run_hosts_host_changed ON run_hosts (host, run_id) WHERE changed > 0;
CREATE INDEX run_hosts_address_changed ON run_hosts (address, run_id) WHERE changed > 0;

CREATE INDEX runs_queued_at ON runs (queued_at);
