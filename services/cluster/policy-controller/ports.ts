import type { Logger } from 'pino';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import type { PolicyWriter } from '../../../packages/policy/write-policies.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';

/** The policies of the log, as this process sees and changes them. */
export interface PolicyLog {
  /** As it follows them. Throws `POLICIES_UNREADABLE`. */
  readonly followed: () => PolicySet;
  /** What lies there right now, read anew. */
  readonly read: (signal: AbortSignal) => Promise<StoredPolicies>;
  /** Throws `KEY_UNUSABLE` where nobody would believe the key of this process. */
  readonly openWriter: (signal: AbortSignal) => Promise<PolicyWriter>;
}

export interface ControllerParts {
  readonly identity: ClusterIdentity;
  readonly connection: ApiConnection;
  readonly policies: PolicyLog;
  readonly log: Pick<EventLog, 'read'>;
  readonly countNodesEveryMs: number;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'random' | 'wait'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}
