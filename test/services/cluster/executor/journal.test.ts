import { describe, expect, test } from 'vitest';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import {
  ClusterCommandResult,
  type ClusterObjectOutcome,
} from '../../../../schemas/events/cluster-result.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { earliestNow, readRecentResults, refuseRejected } from '../../../../services/cluster/executor/run.ts';
import { CLUSTER, clusterCommandResult, clusterObjectResults } from '../../../fixtures/cluster.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { onLog, outgoing } from '../../../support/logs/log-record.ts';

const HOUR_MS = 3_600_000;
const signal = new AbortController().signal;
const objects = (commandId: string, over: Partial<Parameters<typeof clusterObjectResults>[0]> = {}) =>
  outgoing(
    clusterOutput('clusterResults', clusterObjectResults({ commandId, id: `o-${commandId}`, ...over })),
  );
const ended = (commandId: string) =>
  outgoing(clusterOutput('clusterResults', clusterCommandResult({ commandId, id: `e-${commandId}` })));

test('an executor learns from its results of the past hour what was done and told', async () => {
  const { log, publishAt } = await timedLog();
  await publishAt(1_000, objects('old'), ended('old'));
  await publishAt(2_000 + HOUR_MS, objects('whole'), ended('whole'), objects('half'), objects('half'));
  await publishAt(2_001 + HOUR_MS, objects('other', { clusterInstance: 'another-installation' }));
  const recent = await readRecentResults(
    { identity: CLUSTER, log, trust: TRUST_OFF, nowMs: 2_000 + HOUR_MS },
    signal,
  );
  expect([...recent.answered]).toEqual(['whole']);
  expect([...recent.objects.keys()]).toEqual(['half']);
  expect(recent.removals.length).toBe(2);
});

const objectsThat = (result: ClusterObjectOutcome) =>
  clusterObjectResults().objects.map((told) => ({ ...told, result }));

test.each([
  ['found it gone', () => [clusterObjectResults({ objects: objectsThat({ outcome: 'not-found' }) })]],
  ['refused the command', () => [clusterCommandResult()]],
] as const)(
  'what went counts once for the limit of the hour, also where another executor told before that it %s',
  (_, before) => {
    const gone = clusterObjectResults({ objects: objectsThat({ outcome: 'removed' }) });
    expect(recentResults([...before(), gone, gone, clusterCommandResult()]).removals).toHaveLength(1);
  },
);

test.each([
  { what: 'ahead', offMs: HOUR_MS, isFrom: 0 },
  { what: 'behind', offMs: -HOUR_MS, isFrom: -HOUR_MS },
])('the past hour is not missed by an executor whose clock is an hour $what', ({ offMs, isFrom }) => {
  const serverMs = 1_800_000_000_000;
  const clock = new ServerClock();
  const sources = { now: () => serverMs + offMs, monotonicNow: () => 5_000 };
  expect(earliestNow({ clock }, sources)).toBe(serverMs + offMs);
  clock.told({ dateMs: serverMs, sentAtMs: 5_000, receivedAtMs: 5_000 });
  expect(earliestNow({ clock }, sources)).toBe(serverMs + isFrom);
});

describe('a message on the key of the cluster that is no command', () => {
  const refuse = refuseRejected(CLUSTER, () => null);
  const rejection = { cause: 'untrusted-key', message: 'nobody knows it', value: { id: 'c-1' } } as const;
  const record = onLog(objects('x'));

  test('is refused, and repeated it gives the same refusal', () => {
    const [[output] = []] = refuse('clusterCommands', rejection, record);
    const event = ClusterCommandResult.parse(output?.event);
    expect(event).toMatchObject({
      commandId: 'c-1',
      decisionId: null,
      result: { outcome: 'refused', reason: 'not-trusted' },
    });
    expect(refuse('clusterCommands', rejection, record)).toEqual([[output]]);
    const other = refuse('clusterCommands', { ...rejection, cause: 'unsigned' }, record);
    expect(other[0]?.[0]?.event.id).not.toBe(event.id);
  });

  test('has a name of its own where it names none', () => {
    const nameless = refuse('clusterCommands', { ...rejection, cause: 'not-json', value: null }, record);
    expect(nameless[0]?.[0]?.event).toMatchObject({
      commandId: expect.stringMatching(/^unreadable-/),
      result: { reason: 'malformed' },
    });
  });

  test('of other topics and clusters nothing is told', () => {
    expect(refuse('clusterResults', rejection, record)).toEqual([]);
    expect(refuse('clusterCommands', rejection, { ...record, key: 'another' })).toEqual([]);
  });
});
