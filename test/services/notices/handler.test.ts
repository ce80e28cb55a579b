import { describe, expect, test } from 'vitest';
import { contentHash } from '../../../packages/canonical/ids.ts';
import { clusterOutput, nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { UNCOUNTED } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { consumerMetrics } from '../../../packages/records/consumer-metrics.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../../../packages/records/trust/trust.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { noticesHandler, Replays, ToldOnce } from '../../../services/notices/listen.ts';
import type { Notice } from '../../../services/notices/notices.ts';
import { Watches } from '../../../services/notices/silence.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { decision } from '../../fixtures/outputs.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { pressureUnrelieved, refusedCommand } from '../../fixtures/results.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { NOW_MS, outgoing, recordOf } from '../../support/logs/log-record.ts';
import { SILENT } from '../../support/silent.ts';

const RUNNING = new AbortController().signal;

const POLICIES = policySet('cluster', [clusterPolicyRecord({ heldKinds: ['ConfigMap'] })], []);
const HELD_CANDIDATE = candidate({
  references: [owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } })],
});

const NO_REPLAYS = { has: async () => false };

function handlerWith(
  trust: Trust = TRUST_OFF,
  onOffer: () => void = () => undefined,
  replays: Pick<Replays, 'has'> = NO_REPLAYS,
) {
  const offered: Notice[] = [];
  const metrics = createMetrics();
  const handle = noticesHandler({
    policies: () => POLICIES,
    trust,
    told: new ToldOnce(),
    watches: new Watches(),
    replays,
    counts: consumerMetrics(
      metrics,
      'notify-pager',
      Object.values(TOPICS).map(({ name }) => name),
    ),
    logger: SILENT,
    sources: { now: () => NOW_MS, monotonicNow: () => 0 },
    offer: async (notices) => {
      onOffer();
      offered.push(...notices);
    },
  });
  return {
    handle: (records: readonly LogRecord[], signal = RUNNING) => handle(records, signal, UNCOUNTED),
    offered,
    metrics,
  };
}

const pause = { topic: 'policies', key: '!pause', event: pauseRecord() } as const;
const kindsOf = (notices: readonly Notice[]): readonly string[] => notices.map(({ kind }) => kind);

test('an event becomes what it tells, dated by the log', async () => {
  const { handle, offered } = handlerWith();
  await handle([recordOf(pause, { timestampMs: 77 })]);
  expect(offered).toMatchObject([{ kind: 'paused', atMs: 77 }]);
});

describe('nobody is told', () => {
  const [root, operator, decider, stranger] = [newKey(), newKey(), newKey(), newKey()];
  const ring = new KeyRing(rootsOf(root));
  ring.add(certified(root, operator, { role: 'operator' }));
  ring.add(certified(root, decider));
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const signedBy = (key = operator) =>
    onLog(signRecord(outgoing(pause), { fleet: FLEET, key, generation: SIGNED_AT_MS }));

  test('of what no key signed that may, or that was changed since', async () => {
    const { handle, offered, metrics } = handlerWith(trust);
    const changed = { ...signedBy(), value: Buffer.from(JSON.stringify(pauseRecord({ reason: 'forged' }))) };
    await handle([onLog(outgoing(pause)), signedBy(stranger), signedBy(decider), changed]);
    expect(offered).toEqual([]);
    expect(await metrics.text()).toContain('topic="gc.policies",outcome="unsigned"} 1');
    await handle([signedBy()]);
    expect(kindsOf(offered)).toEqual(['paused']);
  });

  test('of a pause of long ago that somebody put back, whether or not it was seen before', async () => {
    const at = (generation: number) =>
      onLog(signRecord(outgoing(pause), { fleet: FLEET, key: operator, generation }));
    const versions = {
      topic: 'policyVersions',
      key: contentHash(pauseRecord()),
      event: pauseRecord(),
    } as const;
    const before = onLog(signRecord(outgoing(versions), { fleet: FLEET, key: operator, generation: 7 }));
    const log = {
      async *read() {
        yield { kind: 'record', record: before } as const;
      },
    };
    const { handle, offered } = handlerWith(trust, undefined, new Replays(log, trust));
    await handle([at(6)]);
    expect(offered).toEqual([]);
    await handle([at(7), at(9), at(8)]);
    expect(offered).toHaveLength(1);
    await handle([{ ...at(8), timestampMs: SIGNED_AT_MS + 1 }]);
    expect(offered).toHaveLength(1);
  });

  test('before it is known whose signature counts: the slice comes again', async () => {
    const { handle, offered } = handlerWith({
      authenticate: () => {
        throw new FleetGcError('KEYS_UNREADABLE', 'the keys are being read');
      },
      objectionToHeaders: () => null,
      objectionTo: () => null,
    });
    await expect(handle([signedBy()])).rejects.toThrow('the keys are being read');
    expect(offered).toEqual([]);
  });

  test('of what is no event, or could not be read', async () => {
    const { handle, offered, metrics } = handlerWith();
    await handle([
      recordOf(pause, { value: Buffer.from('{') }),
      recordOf(pause, { key: 'other' }),
      recordOf(pause, { unreadable: 'a batch is broken' }),
    ]);
    expect(offered).toEqual([]);
    const text = await metrics.text();
    for (const outcome of ['not-json', 'key-mismatch', 'unreadable-batch'])
      expect(text).toContain(`topic="gc.policies",outcome="${outcome}"} 1`);
  });

  test('of a decision; of what lies beside it on its topic they are', async () => {
    const { handle, offered } = handlerWith();
    await handle([
      recordOf(nodeOutput('decisions', decision())),
      recordOf(nodeOutput('decisions', pressureUnrelieved())),
    ]);
    expect(kindsOf(offered)).toEqual(['unrelieved']);
  });

  test('[P10] of a decision, unless it was too costly: once in a day for each decider', async () => {
    const { handle, offered } = handlerWith();
    const costly = (id: string, name: 'image-gc' | 'container-gc') =>
      recordOf(
        nodeOutput(
          'decisions',
          decision({ id, outcome: 'too-costly', reason: 'many', decider: { name, version: '1' } }),
        ),
        { timestampMs: NOW_MS },
      );
    const named = decision({ id: 'b', notes: [{ rule: 'too-costly', message: '' }] });
    await handle([costly('a', 'image-gc'), recordOf(nodeOutput('decisions', named))]);
    await handle([costly('c', 'image-gc'), costly('d', 'container-gc')]);
    expect(kindsOf(offered)).toEqual(['too-costly', 'too-costly']);
  });
});

describe('what the log tells again and again', () => {
  const holds = (id: string) =>
    recordOf(clusterOutput('clusterOwnership', ownership({ id, candidates: [HELD_CANDIDATE] })), {
      timestampMs: NOW_MS,
    });

  test('is told once in a day', async () => {
    const { handle, offered } = handlerWith();
    await handle([holds('a'), holds('b')]);
    await handle([holds('c')]);
    await handle([{ ...holds('d'), timestampMs: NOW_MS + 86_400_000 }]);
    expect(kindsOf(offered)).toEqual(['held', 'held']);
  });

  test('is told again where it was not delivered', async () => {
    let isStopped = false;
    const stop = new AbortController();
    const { handle, offered } = handlerWith(TRUST_OFF, () => {
      if (!isStopped) stop.abort();
      isStopped = true;
    });
    await handle([holds('a')], stop.signal);
    await handle([holds('a')]);
    expect(kindsOf(offered)).toEqual(['held', 'held']);
  });
});

test('what ended processes again and again is passed over, unread', async () => {
  const { offered, metrics } = handlerWith();
  const handle = noticesHandler({
    policies: null,
    trust: TRUST_OFF,
    told: new ToldOnce(),
    watches: new Watches(),
    replays: NO_REPLAYS,
    counts: consumerMetrics(metrics, 'notify-pager', [TOPICS.results.name]),
    logger: SILENT,
    sources: { now: () => NOW_MS, monotonicNow: () => 0 },
    offer: async (notices) => void offered.push(...notices),
  });
  const refused = refusedCommand({ result: { outcome: 'refused', reason: 'malformed', message: '' } });
  await handle([recordOf(nodeOutput('results', refused))], RUNNING, { ...UNCOUNTED, deaths: 2 });
  expect(offered).toEqual([]);
  expect(await metrics.text()).toContain('topic="gc.node.results",outcome="process-died"} 1');
});

test('a message of which nobody can find out what it tells keeps no other one away: it is counted', async () => {
  const { handle, offered, metrics } = handlerWith();
  const unheardOf = recordOf(pause, { timestampMs: Number.MAX_SAFE_INTEGER });
  await handle([unheardOf, recordOf(pause, { timestampMs: 77 })]);
  expect(offered).toMatchObject([{ kind: 'paused', atMs: 77 }]);
  expect(await metrics.text()).toContain('topic="gc.policies",outcome="handler-failed"} 1');
});
