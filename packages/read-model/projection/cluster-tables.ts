/** What is kept of clusters. */
export const CLUSTER_TABLES = `
  CREATE TABLE censuses (
    cluster TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    session TEXT NOT NULL, found TEXT NOT NULL, census BLOB NOT NULL
  ) STRICT;
  CREATE TABLE census_points (
    cluster TEXT NOT NULL, step_ms INTEGER NOT NULL, slot INTEGER NOT NULL,
    at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, session TEXT NOT NULL, objects INTEGER NOT NULL, kinds TEXT,
    PRIMARY KEY (cluster, step_ms, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE cluster_outcomes (
    cluster TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    action TEXT NOT NULL, rule TEXT NOT NULL, own_rule TEXT, outcome TEXT NOT NULL, reason TEXT, objects INTEGER NOT NULL,
    PRIMARY KEY (cluster, id, position)
  ) STRICT;
  CREATE INDEX cluster_outcomes_by_cluster ON cluster_outcomes (cluster, at_ms);
  CREATE TABLE cluster_objects (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, deleting INTEGER NOT NULL, finalizers TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_objects_by_age ON cluster_objects (at_ms);
  CREATE INDEX cluster_objects_by_cluster ON cluster_objects (cluster, at_ms);
  CREATE TABLE cluster_settled (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL, how TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_settled_by_age ON cluster_settled (at_ms);
  CREATE TABLE cluster_owners (
    cluster TEXT NOT NULL, owner_uid TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (cluster, owner_uid, uid)
  ) STRICT;
  CREATE INDEX cluster_owners_by_age ON cluster_owners (at_ms);
  CREATE INDEX cluster_owners_by_dependent ON cluster_owners (cluster, uid);
  CREATE INDEX cluster_owners_by_owner ON cluster_owners (cluster, owner_uid, at_ms, offset);
  CREATE TABLE cluster_deeds (
    cluster TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, offset INTEGER NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    action TEXT NOT NULL, rule TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (cluster, uid)
  ) STRICT;
  CREATE INDEX cluster_deeds_by_age ON cluster_deeds (at_ms);
`;
