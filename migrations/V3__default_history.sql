-- Which versions were the default before, so that a rollback knows where to go.

CREATE TABLE playbook_defaults (
    -- Order: the latest is the one that a rollback goes to.
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL REFERENCES playbooks (name) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    -- When it ceased to be the default.
    until   INTEGER NOT NULL
) STRICT;
CREATE INDEX playbook_defaults_name ON playbook_defaults (name, id);

-- What the audit log knows of it: the first version was the default until the
-- first change, and each change until the next.
INSERT INTO playbook_defaults (name, version, until)
SELECT p.name,
       lag(json_extract(e.detail, '$.version'), 1, 1) OVER (PARTITION BY p.name ORDER BY e.id),
       e.at
FROM events e JOIN playbooks p ON e.subject = 'playbook ' || p.name
WHERE e.kind = 'playbook.default'
ORDER BY e.id;

-- A number is never given twice, also when its version was removed.
ALTER TABLE playbooks ADD COLUMN last_version INTEGER NOT NULL DEFAULT 0;
UPDATE playbooks SET last_version =
    (SELECT max(v.version) FROM playbook_versions v WHERE v.name = playbooks.name);
