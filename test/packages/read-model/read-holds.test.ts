import { describe, expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { readHolds } from '../../../packages/read-model/read-holds.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import { census } from '../../fixtures/census.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../fixtures/pods.ts';
import { MINUTE } from '../../fixtures/time.ts';
import { certified, FLEET, newKey, rootsOf } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { logOf } from '../audit/support/archives.ts';
import { begun, type ClusterHistory } from '../audit/support/cluster-history.ts';

const RECORD = clusterPolicyRecord({
  collectors: ['pod-garbage-collector-controller'],
  limits: { cascade: 5, cascadeOfKind: 5, removalsPerHour: 100 },
});

const held = async (log: ClusterHistory): Promise<readonly number[]> => {
  const policies = policySet('cluster', [RECORD], []);
  const reading = { cluster: null, fromMs: 0, policies, roots: null, nowMs: 0 };
  const clusters = await readHolds(logOf(log.records), reading, new AbortController().signal);
  return clusters.flatMap(({ holds }) => holds.map(({ objects }) => objects));
};

test('[cluster S1] pods that are told no more, as their node is back, are listed for a quarter of an hour after', async () => {
  const log = begun(RECORD);
  const node = { state: 'missing', name: 'n', missingForMs: 60_000 } as const;
  const fact = pods({ candidates: [podCandidate({ node })], totals: { onMissingNodes: 6 } });
  log.decide(fact, policySet('cluster', [RECORD], []));
  log.add(clusterOutput('clusterCensus', census()), 14 * MINUTE);
  expect(await held(log)).toEqual([1]);
  log.add(clusterOutput('clusterCensus', census()), 2 * MINUTE);
  expect(await held(log)).toEqual([]);
});

test('[cluster S17] what an owner left that went with its definition is told with the executors that cannot remove it', async () => {
  const record = clusterPolicyRecord({});
  const log = begun(record);
  log.add(
    clusterOutput(
      'clusterOwnership',
      ownership({
        candidates: [
          candidate({
            references: [owner('o', { state: 'gone', gone: { how: 'kind-going', orphaned: false } })],
            cascades: [
              { ownerUid: 'o', ownerKind: 'example.com/Cache', objects: 1, ofKind: 1, within: null },
            ],
          }),
        ],
      }),
    ),
  );
  const reading = {
    cluster: null,
    fromMs: 0,
    policies: policySet('cluster', [record], []),
    roots: null,
    nowMs: 0,
  };
  const [cluster] = await readHolds(logOf(log.records), reading, new AbortController().signal);
  expect(cluster?.holds).toMatchObject([
    { rule: 'S3', what: { kind: 'owner' }, why: expect.stringContaining('"fleetgc cluster executor" keeps') },
  ]);
});

describe('with the roots of the fleet', () => {
  const HOLDING = clusterPolicyRecord({ limits: { cascade: 5, cascadeOfKind: 5, removalsPerHour: 100 } });
  const policies = policySet('cluster', [HOLDING], []);
  const [root, cluster, other] = [newKey(), newKey(), newKey()];
  const wide = (id: string, name: string): Ownership =>
    ownership({
      id,
      candidates: [
        candidate({
          object: { uid: name, name },
          references: [owner(name, { state: 'gone', gone: { how: 'watched', orphaned: false } })],
          cascades: [{ ownerUid: name, ownerKind: 'ConfigMap', objects: 9, ofKind: 9, within: null }],
        }),
      ],
    });

  function logWith(signed: readonly Ownership[], unsigned: readonly Ownership[]): ClusterHistory {
    const log = begun(HOLDING);
    const times = { issuedAtMs: log.nowMs - MINUTE, notAfterMs: log.nowMs + 600 * MINUTE };
    log.records.push(certified(root, cluster, { role: 'cluster', clusters: ['c1'], ...times }));
    log.records.push(certified(root, other, { role: 'cluster', clusters: ['c2'], ...times }));
    const sign = (fact: Ownership, key: typeof cluster): void => {
      const output = clusterOutput('clusterOwnership', fact);
      const placed = log.add(output);
      log.records.pop();
      log.records.push({
        ...placed,
        ...signRecord(outgoing(output), { fleet: FLEET, key, generation: null }),
      });
    };
    for (const fact of signed) sign(fact, cluster);
    for (const fact of unsigned) log.add(clusterOutput('clusterOwnership', fact));
    // A key of another cluster does not speak for this one.
    sign(wide('of-another', 'of-another'), other);
    return log;
  }
  const told = async (log: ClusterHistory, isRooted = true) => {
    const roots = isRooted ? rootsOf(root) : null;
    const reading = { cluster: 'c1', fromMs: 0, policies, roots, nowMs: 0 };
    const [found] = await readHolds(logOf(log.records), reading, new AbortController().signal);
    const names = found?.holds.map(({ what }) => (what?.kind === 'owner' ? what.name : null)).toSorted();
    return [found?.proof, names];
  };

  test('[cluster S7] what no key of the cluster signed is not shown beside what one did', async () => {
    const log = logWith([wide('1', 'true')], [wide('2', 'forged')]);
    expect(await told(log)).toEqual(['signed', ['name-true']]);
    expect(await told(log, false)).toEqual(['not-checked', ['name-forged', 'name-of-another', 'name-true']]);
  });

  test('[cluster S7] where no key signs facts, all is shown, and that it is not proved', async () => {
    expect(await told(logWith([], [wide('2', 'any')]))).toEqual([
      'unsigned',
      ['name-any', 'name-of-another'],
    ]);
  });

  describe('a fact that somebody put back, with the signature that it had', () => {
    const before = { ...wide('1', 'before'), seq: 0 };
    const SETTLED = { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'now', uid: 'now' };
    const later = { session: '66666666-6666-4666-8666-666666666666', takenAt: laterBy(60 * MINUTE) };

    test('[cluster S7] shows nothing again that its agent told to be over', async () => {
      const over = ownership({ id: '2', seq: 1, settled: [{ ...SETTLED, uid: 'before', how: 'gone' }] });
      expect(await told(logWith([before, over, before], []))).toEqual(['signed', []]);
    });

    test('[cluster S7] hides nothing that is held now', async () => {
      const over = ownership({ id: '1', seq: 0, settled: [{ ...SETTLED, how: 'no-candidate' }] });
      const now = { ...wide('2', 'now'), seq: 1 };
      expect(await told(logWith([over, now, over], []))).toEqual(['signed', ['name-now']]);
    });

    test('[cluster S7] of a cluster that was made anew under its name does not take the place of the one that is there', async () => {
      const instance = '3f1c1a52-9d0f-4b5b-9b43-6a55a9c8b1aa';
      const now = { ...wide('2', 'now'), ...later, clusterInstance: instance };
      expect(await told(logWith([before, now, before], []))).toEqual(['signed', ['name-now']]);
    });

    test('[cluster S7] a new agent counts, also of an API server whose clock is a little behind', async () => {
      const behind = { ...later, takenAt: laterBy(-30_000) };
      const now = { ...wide('2', 'now'), ...behind };
      expect(await told(logWith([before, now], []))).toEqual(['signed', ['name-before', 'name-now']]);
    });
  });
});

function laterBy(ms: number): Ownership['takenAt'] {
  const { takenAt } = ownership();
  return { ...takenAt, serverMs: takenAt.serverMs + ms };
}
