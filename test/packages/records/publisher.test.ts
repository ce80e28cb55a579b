import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../packages/canonical/ids.ts';
import { nodeOutput, type Output } from '../../../packages/decision/handler.ts';
import { policySet, policySetRecord } from '../../../packages/decision/policy-set.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { newTrace, nextHop, parseTraceparent } from '../../../packages/process/trace.ts';
import { parseHead } from '../../../packages/records/parse/parse-head.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { nodeSource, serviceSource, toRecord } from '../../../packages/records/publisher.ts';
import { certificate } from '../../../packages/records/trust/statement.ts';
import { EnvelopeHeaders } from '../../../schemas/events/envelope.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { anyText } from '../../fixtures/any-text.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { census } from '../../fixtures/census.ts';
import {
  clusterCommand,
  clusterCommandResult,
  clusterDecision,
  clusterObjectResults,
  clusterPolicyRecord,
  clusterRemoved,
} from '../../fixtures/cluster.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { expiry } from '../../fixtures/expiry.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { latestClusterFact, latestNodeFact } from '../../fixtures/latest-fact.ts';
import { observe } from '../../fixtures/observe.ts';
import { command, decision } from '../../fixtures/outputs.ts';
import { ownership } from '../../fixtures/ownership.ts';
import { pods } from '../../fixtures/pods.ts';
import { deletionRecord, pauseRecord } from '../../fixtures/policy.ts';
import { objectResult, pressureUnrelieved, reclaimGoesOn, refusedCommand } from '../../fixtures/results.ts';
import { newKey } from '../../fixtures/trust.ts';
import { countedIds, NOW_MS, recordOf, TRACEPARENT } from '../../support/logs/log-record.ts';
import { runs } from '../../support/property-runs.ts';

test('an event becomes a CloudEvent in binary mode', () => {
  const record = toRecord(nodeOutput('decisions', decision()), {
    source: serviceSource('image-gc'),
    nowMs: NOW_MS,
    trace: { traceparent: TRACEPARENT, tracestate: 'vendor=1' },
  });
  expect(record).toEqual({
    topic: 'gc.node.decisions',
    key: 'prod/web-1',
    value: Buffer.from(canonicalJson(decision())),
    headers: {
      ce_specversion: '1.0',
      ce_id: 'decision-1',
      ce_type: 'fleetgc.node.decision.v1',
      ce_source: '/fleetgc/image-gc',
      ce_subject: 'prod/web-1',
      ce_time: '2026-01-01T00:00:00.000Z',
      'content-type': 'application/json',
      traceparent: TRACEPARENT,
      tracestate: 'vendor=1',
    },
  });
  expect(EnvelopeHeaders.parse(record.headers)).toEqual(record.headers);
});

test.each(['', 'a\nb', '\ud800', '\ufdd0', 'x'.repeat(1025)])(
  'the key %j is no text for a subject',
  (key) => {
    const publication = { source: '/fleetgc/cli', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };
    const record = toRecord({ ...nodeOutput('decisions', decision()), key }, publication);
    expect(record.headers).not.toHaveProperty('ce_subject');
  },
);

test('a node names itself as the source', () => {
  expect(nodeSource({ cluster: 'prod', node: 'web-1' })).toBe('/fleetgc/prod/web-1');
});

test('the trace of the input goes on with a new span', () => {
  expect(nextHop({ traceparent: TRACEPARENT, tracestate: 'vendor=1' }, countedIds())).toEqual({
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-0000000000000001-01',
    tracestate: 'vendor=1',
  });
});

test('whether a trace is sampled is for its beginner to say', () => {
  const unsampled = TRACEPARENT.replace(/01$/, '00');
  expect(nextHop({ traceparent: unsampled }, countedIds()).traceparent).toMatch(/-00$/);
});

test.each<[name: string, traceparent: string | undefined]>([
  ['none', undefined],
  ['nonsense', 'nonsense'],
  ['an id of zeros', '00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  ['a span of zeros', '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  ['the version that is none', TRACEPARENT.replace(/^00/, 'ff')],
  ['more than version 00 has', `${TRACEPARENT}-extra`],
  ['capital letters', TRACEPARENT.toUpperCase()],
])('a new trace begins where the input has %s', (_name, traceparent) => {
  expect(
    nextHop({ ...(traceparent !== undefined && { traceparent }), tracestate: 'vendor=1' }, countedIds()),
  ).toEqual({
    traceparent: `00-${'1'.padStart(32, '0')}-${'2'.padStart(16, '0')}-01`,
  });
});

test('a later version of the trace context is understood as far as it is known', () => {
  expect(parseTraceparent(`${TRACEPARENT.replace(/^00/, '01')}-more`)?.traceId).toBe(
    '0af7651916cd43dd8448eb211c80319c',
  );
});

test('random ids make a valid trace', () => {
  expect(parseTraceparent(newTrace(randomTraceIds).traceparent)).toBeDefined();
});

describe('the text of an event on the log', () => {
  const letter: EventOf<'deadLetters'> = {
    type: 'fleetgc.dead-letter',
    version: 1,
    id: 'dead-letter-1',
    cause: 'not-json',
    message: 'the value is not JSON',
    group: 'fleetgc-image-gc',
    topic: 'gc.node.inventory',
    partition: 0,
    offset: '7',
    timestampMs: NOW_MS,
    key: null,
    value: null,
    omittedBytes: 0,
    headers: { b: '1', a: '2' },
    suppressedBefore: 0,
  };
  const { publicKey } = newKey();
  const said = { role: 'decider', clusters: ['b', 'a'], name: 'deciders' } as const;
  const statement = certificate({ publicKey, issuedAtMs: NOW_MS, notAfterMs: NOW_MS + 1, ...said });
  const policies = policySet('node', [appliedPolicy()], []);
  const archiveHead: EventOf<'heads'> = {
    type: 'fleetgc.archive-head',
    version: 1,
    id: 'head-2',
    archive: 'b'.repeat(64),
    signedAtMs: NOW_MS,
    lines: 2,
    hash: 'c'.repeat(64),
    fromLine: 0,
    sums: ['00000000', '11111111'],
  };
  const decisionHead: EventOf<'heads'> = {
    type: 'fleetgc.decision-head',
    version: 1,
    id: 'head-1',
    chain: 'a',
    decider: 'pressure',
    statements: { b: 1, a: 2 },
    ranges: [{ partition: 0, first: 0, records: 1, sha256: 'a'.repeat(64), firstAtMs: 1, lastAtMs: 1 }],
  };

  /** Of every topic, all types of it that differ in form. */
  const CANONICAL: { readonly [Id in Exclude<TopicId, 'inventory' | 'diskStats'>]: readonly EventOf<Id>[] } =
    {
      observe: [observe()],
      commands: [command()],
      results: [objectResult(), refusedCommand(), reclaimGoesOn(), pressureUnrelieved()],
      decisions: [decision(), pressureUnrelieved()],
      clusterOwnership: [ownership()],
      clusterPods: [pods()],
      clusterExpiry: [expiry()],
      clusterCommands: [clusterCommand()],
      clusterRemoved: [clusterRemoved()],
      clusterResults: [clusterObjectResults(), clusterCommandResult()],
      clusterDecisions: [clusterDecision()],
      clusterCensus: [census()],
      policies: [appliedPolicy(), clusterPolicyRecord(), pauseRecord(), deletionRecord('web')],
      policyVersions: [appliedPolicy(), policySetRecord(policies)],
      keys: [statement],
      heads: [decisionHead, archiveHead],
      latestFacts: [latestNodeFact(), latestClusterFact()],
      deadLetters: [letter],
    };
  const outputs = Object.entries(CANONICAL).flatMap(([topic, events]) =>
    events.map((event) => ({ topic, key: 'key', event }) as Output),
  );
  const publication = { source: '/fleetgc/test', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };
  const textOf = (output: Output): string => String(toRecord(output, publication).value);

  test.each(outputs)('is canonical, however it was put together: $event.type on $topic', (output) => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), anyText, (order, reason) => {
        const event = Object.assign(shuffled(output.event, order), 'reason' in output.event && { reason });
        expect(textOf({ ...output, event } as Output)).toBe(canonicalJson(event));
      }),
      runs(100),
    );
  });

  test.each([
    [
      'inventory',
      nodeOutput('inventory', inventory({ images: Array.from({ length: 500 }, (_, n) => image(`${n}`)) })),
    ],
    ['diskStats', nodeOutput('diskStats', diskStats())],
  ] as const)('begins with what it is, where messages are passed over: %s', (topic, output) => {
    expect(parseHead(topic, recordOf(output))).toMatchObject({ id: output.event.id });
  });

  test('that has no canonical form is written, and refused by whoever reads it', () => {
    const record = recordOf(nodeOutput('results', refusedCommand({ id: 'half \ud800' })));
    expect(parseRecord('results', record)).toMatchObject({ ok: false, rejection: { cause: 'not-json' } });
  });
});

function shuffled<Value>(value: Value, order: fc.Stream<number>): Value {
  if (Array.isArray(value)) return value.map((one) => shuffled(one, order)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => ({ at: order.next().value, name, member }));
  const sorted = members.toSorted((a, b) => a.at - b.at);
  return Object.fromEntries(sorted.map(({ name, member }) => [name, shuffled(member, order)])) as Value;
}
