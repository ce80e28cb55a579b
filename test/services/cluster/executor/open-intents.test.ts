import { describe, expect, test } from 'vitest';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { signerOf } from '../../../../packages/records/trust/signer.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../../../../packages/records/trust/trust.ts';
import { UNDER_WAY_MS } from '../../../../services/cluster/executor/intents.ts';
import type { ResultEvent } from '../../../../services/cluster/executor/ports.ts';
import { readOpenIntents, readRecentResults } from '../../../../services/cluster/executor/run.ts';
import {
  CLUSTER,
  clusterCommandIntent,
  clusterCommandResult,
  clusterObject,
  clusterObjectResults,
} from '../../../fixtures/cluster.ts';
import { certified, FLEET, newKey, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';

const signal = new AbortController().signal;
const DAY_MS = 86_400_000;

const written = (event: ResultEvent): OutgoingRecord => outgoing(clusterOutput('clusterResults', event));

const NAMES = ['a', 'b'];
const objects = NAMES.map((name) => clusterObject({ name, uid: name }));
const intent = (over: Partial<Parameters<typeof clusterCommandIntent>[0]> = {}) =>
  clusterCommandIntent({
    objects: objects.map((object) => ({ object, rule: 'D14', action: 'delete' })),
    ...over,
  });
/** What an executor told of the first objects. */
function results(over: NonNullable<Parameters<typeof clusterObjectResults>[0]>, names = NAMES) {
  const [told] = clusterObjectResults().objects;
  if (told === undefined) throw new Error('one was made');
  return clusterObjectResults({
    objects: names.map((name) => ({ ...told, object: clusterObject({ name, uid: name }) })),
    executor: 'executor-1',
    ...over,
  });
}

interface Written {
  readonly records: readonly OutgoingRecord[];
  readonly trust?: Trust;
}

/** As `command: uids`, after the records came a day apart. */
async function openAfter({ records, trust = TRUST_OFF }: Written): Promise<readonly string[]> {
  const { log, publishAt } = await timedLog();
  for (const [day, record] of records.entries()) await publishAt(SIGNED_AT_MS + day * DAY_MS, record);
  const open = await readOpenIntents({ identity: CLUSTER, log, trust }, signal);
  return open.map((each) => `${each.commandId}: ${[...each.objects.keys()].join()}`);
}

const BOTH = ['cluster-command-1: a,b'];

describe('an intent of any time', () => {
  test('is open as long as no result tells of its objects', async () => {
    expect(await openAfter({ records: [written(intent())] })).toEqual(BOTH);
    expect(await openAfter({ records: [intent(), results({}, ['a'])].map(written) })).toEqual([
      'cluster-command-1: b',
    ]);
    expect(await openAfter({ records: [intent(), results({})].map(written) })).toEqual([]);
  });

  test('is answered or closed by the end of its command', async () => {
    const { log, publishAt } = await timedLog();
    await publishAt(1_000, written(intent()), written(clusterCommandResult({ executor: 'executor-2' })));
    const read = () => readOpenIntents({ identity: CLUSTER, log, trust: TRUST_OFF }, signal);
    expect(await read()).toMatchObject([{ commandId: 'cluster-command-1', isAnswered: true }]);
    await publishAt(1_000 + DAY_MS, written(clusterCommandResult({ executor: 'executor-1' })));
    expect(await read()).toEqual([]);
  });

  test('stays open where another executor found nothing done before the command was over, and not after', async () => {
    const found = (serverMs: number) => {
      const { objects: told, ...event } = results({ executor: 'executor-2', at: { serverMs, spreadMs: 0 } });
      const result = { outcome: 'refused', reason: 'expired', message: 'x', found: 'unchanged' } as const;
      return written({ ...event, objects: told.map((each) => ({ ...each, result })) });
    };
    const { takenAt, lifetimeMs } = intent();
    const overAt = takenAt.serverMs + lifetimeMs + UNDER_WAY_MS;
    expect(await openAfter({ records: [written(intent()), found(overAt - 1)] })).toEqual(BOTH);
    expect(await openAfter({ records: [written(intent()), found(overAt)] })).toEqual([]);
  });

  test('counts for the installation alone that wrote it', async () => {
    const others = [{ clusterInstance: 'another-installation' }, { cluster: 'another' }].map((over) =>
      written(intent(over)),
    );
    expect(await openAfter({ records: others })).toEqual([]);
    const { key } = written(intent());
    expect(await openAfter({ records: others.map((record) => ({ ...record, key })) })).toEqual([]);
  });
});

describe('where signatures are required', () => {
  const [root, cluster, otherCluster, node, decider, stranger] = Array.from({ length: 6 }, newKey);
  if (!root || !cluster || !otherCluster || !node || !decider || !stranger) throw new Error('six were made');
  const ring = new KeyRing(rootsOf(root));
  for (const statement of [
    certified(root, cluster, { role: 'cluster', clusters: [CLUSTER.cluster] }),
    certified(root, otherCluster, { role: 'cluster', clusters: ['another'] }),
    certified(root, node, { role: 'node', clusters: [CLUSTER.cluster] }),
    certified(root, decider),
  ])
    ring.add(statement);
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const signer = signerOf({ fleet: FLEET, role: 'cluster', key: () => cluster });
  const signed = (event: ResultEvent): OutgoingRecord => signer.sign('clusterResults', written(event));
  const signedWith = (key: typeof root) => (event: ResultEvent) =>
    signRecord(written(event), { fleet: FLEET, key, generation: null });

  const FORGERIES: readonly {
    readonly by: string;
    readonly forged: (event: ResultEvent) => OutgoingRecord;
  }[] = [
    { by: 'nobody', forged: written },
    { by: 'a key that no root knows', forged: signedWith(stranger) },
    { by: 'the key of a decision service', forged: signedWith(decider) },
    { by: 'the key of a node', forged: signedWith(node) },
    { by: 'the key of another cluster', forged: signedWith(otherCluster) },
    { by: 'a root', forged: signedWith(root) },
    {
      by: 'the cluster, over something else,',
      forged: (event) => ({
        ...signed({ ...event, commandId: 'another' }),
        value: written(event).value,
      }),
    },
  ];

  async function read(...records: readonly OutgoingRecord[]) {
    const { log, publishAt } = await timedLog();
    await publishAt(SIGNED_AT_MS, ...records);
    const recent = await readRecentResults({ identity: CLUSTER, log, trust, nowMs: SIGNED_AT_MS }, signal);
    return { earlier: await readOpenIntents({ identity: CLUSTER, log, trust }, signal), recent };
  }

  test('what an executor announces is signed and counts', async () => {
    const { earlier, recent } = await read(signed(intent()));
    for (const open of [earlier, recent.open])
      expect(open.map(({ objects: announced }) => [...announced.keys()])).toEqual([NAMES]);
  });

  test.each(FORGERIES)('an intent that $by signed is settled by nobody', async ({ forged }) => {
    const { earlier, recent } = await read(forged(intent()));
    expect(earlier).toEqual([]);
    expect(recent.open).toEqual([]);
    // Neither does it add to what the cluster announced.
    const [one] = intent().objects;
    if (one === undefined) throw new Error('two were made');
    const beside = await read(signed(intent({ objects: [one] })), forged(intent()));
    for (const open of [beside.earlier, beside.recent.open])
      expect(open.map(({ objects: announced }) => [...announced.keys()])).toEqual([['a']]);
  });

  test.each(FORGERIES)('a result that $by signed leaves what was announced open', async ({ forged }) => {
    const { earlier, recent } = await read(
      signed(intent()),
      forged(results({})),
      forged(clusterCommandResult({ executor: 'executor-1' })),
    );
    for (const open of [earlier, recent.open])
      expect(open).toMatchObject([{ isAnswered: false, objects: new Map(Object.entries({ a: {}, b: {} })) }]);
    expect([...recent.answered]).toEqual([]);
    expect(recent.removals).toEqual([]);
  });
});
