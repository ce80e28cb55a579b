import { describe, expect, test } from 'vitest';
import { valueSha256 } from '../../../packages/canonical/ids.ts';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { lastCensuses } from '../../../packages/read-model/censuses.ts';
import { readClusterNames, readReportingClusters } from '../../../packages/read-model/clusters.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { Census } from '../../../schemas/events/census.ts';
import { latestFactKey } from '../../../schemas/events/latest-fact.ts';
import { census } from '../../fixtures/census.ts';
import { latestClusterFact } from '../../fixtures/latest-fact.ts';
import { HOUR, MINUTE } from '../../fixtures/time.ts';
import { certified, FLEET, newKey, rootsOf } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { logOf } from '../audit/support/archives.ts';
import { begun, type ClusterHistory } from '../audit/support/cluster-history.ts';

const NEVER = new AbortController().signal;
const [root, cluster] = [newKey(), newKey()];

/** One with so many objects, so long after the first. */
const counting = (objects: number, afterMs = 0): Census => {
  const told = census();
  const takenAt = { ...told.takenAt, serverMs: told.takenAt.serverMs + afterMs };
  return { ...told, takenAt, totals: { kinds: 1, objects } };
};

interface Told {
  readonly census: Census;
  readonly isSigned: boolean;
}
const signed = (each: Census): Told => ({ census: each, isSigned: true });
const unsigned = (each: Census): Told => ({ census: each, isSigned: false });

function logWith(all: readonly Told[], apartMs = MINUTE): ClusterHistory {
  const log = begun();
  const times = { issuedAtMs: log.nowMs - MINUTE, notAfterMs: log.nowMs + 600 * HOUR };
  log.records.push(certified(root, cluster, { role: 'cluster', clusters: ['c1'], ...times }));
  for (const { census: each, isSigned } of all) {
    const output = clusterOutput('clusterCensus', each);
    const placed = log.add(output, apartMs);
    if (isSigned) {
      log.records.pop();
      log.records.push({
        ...placed,
        ...signRecord(outgoing(output), { fleet: FLEET, key: cluster, generation: null }),
      });
    }
    log.add(
      {
        topic: 'latestFacts',
        key: latestFactKey('clusterCensus', each.cluster),
        event: latestClusterFact({
          cluster: each.cluster,
          partition: placed.partition,
          offset: String(placed.offset),
          loggedAtMs: placed.timestampMs,
          sha256: valueSha256(placed.value ?? Buffer.alloc(0)),
        }),
      },
      0,
    );
  }
  return log;
}

async function shown(log: ClusterHistory, isRooted = true) {
  const roots = isRooted ? rootsOf(root) : null;
  const { nowMs } = log;
  const { censuses } = await lastCensuses({ log: logOf(log.records), cluster: null, roots, nowMs }, NEVER);
  const policies = policySet('cluster', [], []);
  const { clusters, unlocated } = await readReportingClusters(
    logOf(log.records),
    { nowMs, policies, roots },
    NEVER,
  );
  return {
    report: censuses.map(({ census: { totals }, proof }) => [totals.objects, proof]),
    status: clusters.map((each) => each.census?.totals.objects),
    unlocated,
  };
}

describe('of what a cluster tells of itself', () => {
  test('nothing counts that no key of it signed, where one signed some of it', async () => {
    const log = logWith([signed(counting(1)), unsigned(counting(2))]);
    expect(await shown(log)).toMatchObject({ report: [[1, 'signed']], status: [1] });
    expect(await shown(log, false)).toMatchObject({ report: [[2, 'not-checked']], status: [2] });
  });

  test('all is shown, and that it is not proved, where no key signed any', async () => {
    expect(await shown(logWith([unsigned(counting(2))]))).toMatchObject({
      report: [[2, 'unsigned']],
      status: [2],
    });
  });

  test('what somebody put back, with the signature that it had, does not take the place of what is newer', async () => {
    const old = signed(counting(1));
    expect(await shown(logWith([old, signed(counting(2, HOUR)), old]))).toMatchObject({
      report: [[2, 'signed']],
      status: [2],
    });
  });

  test('the newest counts of one that has been silent for hours', async () => {
    const log = logWith([unsigned(counting(1)), unsigned(counting(2))], 9 * HOUR);
    log.nowMs += 3 * HOUR;
    expect(await shown(log, false)).toMatchObject({ status: [2], unlocated: [] });
  });

  test('nothing counts of one whose position names another record, and that is reported', async () => {
    const log = logWith([unsigned(counting(1))], 9 * HOUR);
    const [other] = logWith([unsigned(counting(3))]).records.slice(-2);
    log.records.splice(
      -2,
      1,
      ...log.records.slice(-2, -1).map((at) => ({ ...at, value: other?.value ?? null })),
    );
    log.nowMs += 3 * HOUR;
    expect(await shown(log, false)).toMatchObject({
      status: [],
      unlocated: [{ key: 'c1', kind: 'position-refused', heardMs: null }],
    });
  });

  test('one that is asked for is found in its partition, where its position was deleted', async () => {
    const log = logWith([unsigned(counting(1))]);
    log.records.push(...log.records.slice(-1).map((at) => ({ ...at, offset: at.offset + 1n, value: null })));
    log.records.splice(-2, 1);
    const asked = { log: logOf(log.records), roots: null, nowMs: log.nowMs + 3 * HOUR };
    const told = async (name: string | null) => {
      const { censuses, unlocated } = await lastCensuses({ ...asked, cluster: name }, NEVER);
      return [censuses.map(({ census: { totals } }) => totals.objects), unlocated.map(({ key }) => key)];
    };
    expect(await told('c1')).toEqual([[1], []]);
    expect(await told('c2')).toEqual([[], []]);
    expect(await told(null)).toEqual([[], ['c1']]);
    expect(await readClusterNames(asked.log, asked.nowMs, NEVER)).toEqual(['c1']);
  });
});
