import { clusterOutput } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { Census, type CensusFindings } from '../../../../schemas/events/census.ts';
import type { ClusterObjectResults } from '../../../../schemas/events/cluster-result.ts';
import type { Ownership, OwnershipCandidate } from '../../../../schemas/events/ownership.ts';
import { census } from '../../../fixtures/census.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { MINUTE } from '../../../fixtures/time.ts';
import {
  begun,
  type ClusterHistory,
  commandIn,
  objectResults,
} from '../../../packages/audit/support/cluster-history.ts';

export const POLICY = clusterPolicyRecord({
  selector: { clusters: ['c1'] },
  limits: { cascade: 5, cascadeOfKind: 50, removalsPerHour: 10 },
});
const SET = policySet('cluster', [POLICY], []);

const kindOf = (kind: string, group = '') => ({ group, kind, resource: `${kind.toLowerCase()}s` });
const GONE = { how: 'watched', orphaned: false } as const;
const served = { version: 'v1', namespaced: true };

/** The Deployment `web` went; its ReplicaSet, and a Secret that it shares with another, are told. */
function ofWeb(): readonly OwnershipCandidate[] {
  const deployment = owner('deploy', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: 'web',
    state: 'gone',
    resolved: { ...served, ...kindOf('Deployment', 'apps') },
    gone: GONE,
  });
  return [
    candidate({
      object: { ...kindOf('ReplicaSet', 'apps'), name: 'web-1', uid: 'rs' },
      references: [deployment],
      dependents: { count: 2, blocking: 2, oneWaits: false },
    }),
    candidate({
      object: { ...kindOf('Secret'), name: 'web-tls', uid: 'tls' },
      references: [deployment, owner('other')],
    }),
  ];
}

const ofReplicaSet = (): readonly OwnershipCandidate[] =>
  ['a', 'b'].map((name) =>
    candidate({
      object: { ...kindOf('Pod'), name: `web-1-${name}`, uid: `pod-${name}` },
      references: [
        owner('rs', {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web-1',
          state: 'gone',
          resolved: { ...served, ...kindOf('ReplicaSet', 'apps') },
          gone: GONE,
        }),
      ],
    }),
  );

/** More than the policy lets go with one owner, named as somebody likes. */
export const ofTenant = (name: string, count: number): readonly OwnershipCandidate[] =>
  Array.from({ length: count }, (_, index) =>
    candidate({
      object: { name: `${name}-${index}`, uid: `held-${index}` },
      references: [owner('tenant', { name, state: 'gone', gone: GONE })],
      cascades: [{ ownerUid: 'tenant', ownerKind: 'ConfigMap', objects: count, ofKind: count, within: null }],
    }),
  );

/** What every part of the report has something in. */
export function findings(name: string): CensusFindings {
  const object = { group: 'shop.example', kind: 'Tenant', namespace: 'shop', name, uid: 'stuck' };
  const deletionTimestamp = '2026-11-27T05:00:00Z';
  return {
    stuckFinalizers: { count: 1, first: [{ object, deletionTimestamp, finalizers: ['shop.example/tidy'] }] },
    waitingOwners: { count: 1, first: [{ object, deletionTimestamp, blocking: 7, blockers: [object] }] },
    badReferences: {
      count: 60,
      first: [
        {
          object,
          owner: { apiVersion: 'v1', kind: 'ConfigMap', name, uid: 'nobody' },
          state: 'unseen',
        },
      ],
    },
    missingOwners: {
      count: 2,
      first: [
        { ownerUid: 'tenant', ownerKind: 'ConfigMap', ownerName: name, objects: 8, ofKind: 8 },
        { ownerUid: 'small', ownerKind: 'ConfigMap', ownerName: 'small', objects: 2, ofKind: 8 },
      ],
    },
    unsyncedKinds: [{ group: '', kind: 'Secret', reason: 'secrets is forbidden' }],
    failedGroups: ['metrics.k8s.io'],
  };
}

const SESSIONS = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** How the cluster stood, so many objects of each kind; a census of an older agent tells none. */
const censusOf = (id: string, session: number, kinds: Readonly<Record<string, number>> | null): Census =>
  Census.parse({
    ...census(),
    id,
    session: SESSIONS[session],
    totals: { kinds: 9, objects: Object.values(kinds ?? { any: 12 }).reduce((sum, count) => sum + count, 0) },
    ...(kinds && {
      kinds: Object.entries(kinds).map(([kind, objects]) => ({ group: '', kind, objects })),
    }),
  });

type Told = ClusterObjectResults['objects'][number];
type Done = 'removed' | 'accepted' | 'patched';

/** What is decided on these, and what came of it. */
function carryOut(
  log: ClusterHistory,
  id: string,
  candidates: readonly OwnershipCandidate[],
  outcomeOf: (object: Told['object'], action: Told['action']) => Done = (_, action) =>
    action === 'delete' ? 'removed' : 'patched',
): void {
  const { command } = log.decide(ownership({ id, candidates: [...candidates] }), SET);
  if (command === null) return;
  const results = objectResults(commandIn(command));
  const objects = results.objects.map((told) => ({
    ...told,
    result: { outcome: outcomeOf(told.object, told.action) },
  }));
  log.carryOut(commandIn(command), { objects: { ...results, objects } });
}

/** A cluster in which a cascade ran and another one is held, an hour up to now. */
export function livedCluster(name = 'acme'): ClusterHistory {
  const log = begun(POLICY);
  const tell = (event: Census, afterMs: number): void =>
    void log.add(clusterOutput('clusterCensus', event), afterMs);
  tell(censusOf('census-1', 0, null), MINUTE);
  carryOut(log, 'fact-web', ofWeb());
  tell(censusOf('census-2', 1, { Pod: 30, Secret: 8, ConfigMap: 20 }), 10 * MINUTE);
  carryOut(log, 'fact-rs', ofReplicaSet(), ({ uid }) => (uid === 'pod-a' ? 'accepted' : 'removed'));
  const settled: Ownership['settled'] = [
    { group: 'apps', kind: 'ReplicaSet', namespace: 'ns', name: 'web-1', uid: 'rs', how: 'gone' },
  ];
  log.add(clusterOutput('clusterOwnership', ownership({ id: 'fact-settled', settled })));
  log.nowMs = Date.now() - 3 * MINUTE;
  carryOut(log, 'fact-tenant', ofTenant(name, 8));
  tell(
    { ...censusOf('census-3', 1, { Pod: 40, ConfigMap: 21, Secret: 8 }), findings: findings(name) },
    MINUTE,
  );
  return log;
}

export const published = (
  log: ClusterHistory,
): readonly (OutgoingRecord & { readonly timestampMs: number })[] =>
  log.records.map(({ topic, key, value, headers, timestampMs }) => ({
    topic,
    key: key ?? '',
    value,
    headers,
    timestampMs,
  }));
