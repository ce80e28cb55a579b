import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { EventLog, OutgoingRecord } from '../../../packages/log/port.ts';
import { makeReport } from '../../../packages/read-model/report.ts';
import type { Decision, Verdict } from '../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { decision } from '../../fixtures/outputs.ts';
import { objectResult, pressureUnrelieved, refusedCommand, removed } from '../../fixtures/results.ts';
import { HOUR, instant, MINUTE, SECOND } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { timedLog } from '../audit/support/timed-log.ts';

const T = Date.UTC(2026, 0, 5, 12);
const later = (ms: number) => instant({ sinceBootMs: 24 * HOUR + ms });

const result = (overrides: Partial<ObjectResult>): OutgoingRecord =>
  outgoing(nodeOutput('results', objectResult(overrides)));
const listed = (overrides: Partial<CompleteInventory>): OutgoingRecord =>
  outgoing(nodeOutput('inventory', inventory(overrides)));

const reportOf = (log: EventLog, fromMs: number | null = null, toMs: number | null = null) =>
  makeReport(
    { log, range: { fromMs, toMs }, nowMs: T, onProgress: () => undefined },
    new AbortController().signal,
  );

test('what went is summed up by rule and by span, as measured, and once for a message that lies there twice', async () => {
  const { log, publishAt } = await timedLog();
  const twice = result({ id: 'r2', object: { kind: 'image', id: 'b' }, result: removed(300) });
  await publishAt(T, result({ id: 'r1', object: { kind: 'image', id: 'a' }, result: removed(100) }), twice);
  await publishAt(T + SECOND, twice);
  await publishAt(
    T + MINUTE,
    result({
      id: 'r3',
      node: 'web-2',
      object: { kind: 'container', id: 'c' },
      rule: 'G7',
      result: removed(-5),
    }),
    result({ id: 'r5', object: { kind: 'image', id: 'e' }, rule: 'E3', result: removed(-7, 200) }),
    result({ id: 'r4', object: { kind: 'image', id: 'd' }, rule: 'E3', result: removed(null) }),
  );

  const report = await reportOf(log);

  expect(AuditReport.parse(report)).toEqual(report);
  expect(report.read).toEqual({ nodes: 2, records: 6, unreadable: 0, firstMs: T, lastMs: T + MINUTE });
  expect(report.removed).toEqual({
    objects: 5,
    freedBytes: '400',
    unmeasured: 3,
    estimatedBytes: '200',
    byRule: [
      { kind: 'image', rule: 'D11', objects: 2, freedBytes: '400', unmeasured: 0, estimatedBytes: '0' },
      { kind: 'image', rule: 'E3', objects: 2, freedBytes: '0', unmeasured: 2, estimatedBytes: '200' },
      { kind: 'container', rule: 'G7', objects: 1, freedBytes: '0', unmeasured: 1, estimatedBytes: '0' },
    ],
    bySpan: {
      spanMs: MINUTE,
      spans: [
        { startMs: T, objects: 2, freedBytes: '400', unmeasured: 0, estimatedBytes: '0' },
        { startMs: T + MINUTE, objects: 3, freedBytes: '0', unmeasured: 3, estimatedBytes: '200' },
      ],
    },
  });
});

test('what a policy in dry-run would have removed is told once for each object of each node', async () => {
  const { log, publishAt } = await timedLog();
  const images = [image('kept'), image('a', { repoTags: ['registry.example/a:1'] }), image('b')];
  const containers = [container('c1')];
  const look = (id: string, over: Partial<CompleteInventory> = {}) =>
    listed({ id, images, containers, ...over });
  const removes = (position: number, estimatedBytes: number): Verdict => ({
    kind: 'image',
    position,
    action: 'remove',
    rule: 'D11',
    facts: { estimatedBytes },
  });
  const planned = (id: string, inventoryId: string, over: Partial<Decision> = {}) =>
    outgoing(
      nodeOutput(
        'decisions',
        decision({
          id,
          outcome: 'dry-run',
          input: { ...decision().input, id: inventoryId },
          policy: { name: 'try-out', version: 2, hash: 'h', setHash: 's' },
          verdicts: [{ ...removes(0, 0), action: 'keep', rule: 'C8' }, removes(1, 100), removes(2, 50)],
          ...over,
        }),
      ),
    );
  const dead: Verdict[] = [{ kind: 'container', position: 0, action: 'remove', rule: 'G7', facts: {} }];
  await publishAt(T, look('i1'));
  await publishAt(T + 1, planned('d1', 'i1'), planned('d1', 'i1'));
  await publishAt(T + MINUTE, look('i2', { images: images.toReversed() }));
  await publishAt(
    T + MINUTE + 1,
    planned('d2', 'i2', { verdicts: [removes(0, 60), removes(1, 90)] }),
    planned('d3', 'i2', { decider: { name: 'container-gc', version: '1' }, verdicts: dead }),
    planned('d4', 'long gone'),
    planned('d5', 'i2', { outcome: 'commanded' }),
  );
  await publishAt(T + MINUTE + 2, look('i3', { node: 'web-2' }), planned('d6', 'i3', { node: 'web-2' }));

  const report = await reportOf(log);
  expect(AuditReport.parse(report)).toEqual(report);
  expect(report.dryRun).toEqual({ decisions: 5, unnamed: 1, objects: 5, estimatedBytes: '300' });
  const told = report.wouldGo.map(({ node, kind, name, rule, estimatedBytes, decisions }) =>
    [node, kind, name, rule, estimatedBytes, decisions].join(' '),
  );
  expect(told).toEqual([
    'web-2 image registry.example/a:1 D11 100 1',
    'web-1 image registry.example/a:1 D11 90 2',
    'web-1 image registry.example/b:1 D11 60 2',
    'web-2 image registry.example/b:1 D11 50 1',
    'web-1 container default/web/main#0 G7  1',
  ]);
  expect(report.wouldGo[1]).toMatchObject({ policy: 'try-out', firstMs: T + 1, lastMs: T + MINUTE + 1 });
});

test.each([
  { name: 'minutes of 72 minutes', apartMs: 71 * MINUTE, spanMs: MINUTE },
  { name: 'hours of more', apartMs: 72 * MINUTE, spanMs: HOUR },
  { name: 'days of more than three days', apartMs: 72 * HOUR, spanMs: 24 * HOUR },
])('spans: $name', async ({ apartMs, spanMs }) => {
  const { log, publishAt } = await timedLog();
  await publishAt(T, result({ id: 'r1' }));
  await publishAt(T + apartMs, result({ id: 'r2' }));

  expect((await reportOf(log)).removed.bySpan.spanMs).toBe(spanMs);
});

test('what stayed is counted by reason, the most frequent first', async () => {
  const { log, publishAt } = await timedLog();
  const refused = { outcome: 'refused', reason: 'in-use', message: 'a pod uses it' } as const;
  const failed = {
    outcome: 'failed',
    reason: 'still-listed',
    message: 'it is there',
    backoffUntilMs: 9,
  } as const;
  await publishAt(
    T,
    result({ id: 'r1', result: { ...refused, reason: 'pinned' } }),
    result({ id: 'r2', result: refused }),
    result({ id: 'r3', result: refused }),
    result({ id: 'r4', result: failed }),
    result({ id: 'r5', result: { outcome: 'not-found' } }),
    outgoing(nodeOutput('results', refusedCommand())),
  );

  expect(await reportOf(log)).toMatchObject({
    removed: { objects: 0 },
    refused: [
      { kind: 'image', reason: 'in-use', objects: 2 },
      { kind: 'image', reason: 'pinned', objects: 1 },
    ],
    failed: [{ kind: 'image', reason: 'still-listed', objects: 1 }],
    refusedCommands: [{ reason: 'expired', commands: 1 }],
  });
});

test('a node that could not be relieved is told with what held its space the last time, whoever said so', async () => {
  const { log, publishAt } = await timedLog();
  const last = [{ reason: 'pinned' as const, objects: 1, bytes: 5 }];
  await publishAt(T, outgoing(nodeOutput('decisions', pressureUnrelieved({ id: 'u1' }))));
  await publishAt(T + 1, outgoing(nodeOutput('results', pressureUnrelieved({ id: 'u2', holders: last }))));

  expect((await reportOf(log)).unrelieved).toEqual([
    { cluster: 'prod', node: 'web-1', reclaims: 2, lastAtMs: T + 1, signal: 'imageGC', holders: last },
  ]);
});

const before = listed({ id: 'i1', images: [image('image-1', { sizeBytes: 70 })] });
const gone = result({ at: later(10) });
const listing = (id: string, takenAt: ReturnType<typeof later>, ids: readonly string[]) =>
  listed({ id, takenAt, images: ids.map((each) => image(each)) });

test.each<{ name: string; after: readonly OutgoingRecord[]; back: number }>([
  {
    name: 'listed again',
    after: [listing('i2', later(20), []), listing('i3', later(30), ['image-1'])],
    back: 1,
  },
  {
    name: 'listed in an inventory that was taken before it went',
    after: [listing('i2', later(9), ['image-1'])],
    back: 0,
  },
  {
    name: 'listed at the very moment at which it went',
    after: [listing('i2', later(10), ['image-1'])],
    back: 0,
  },
  { name: 'listed a moment after it went', after: [listing('i2', later(11), ['image-1'])], back: 1 },
  {
    name: 'listed after the node started again',
    after: [listing('i2', { ...later(0), bootId: 'other' }, ['image-1'])],
    back: 1,
  },
  {
    name: 'listed twice',
    after: [listing('i2', later(20), ['image-1']), listing('i3', later(30), ['image-1'])],
    back: 1,
  },
  {
    name: 'of another node',
    after: [listed({ id: 'i2', node: 'web-2', takenAt: later(20), images: [image('image-1')] })],
    back: 0,
  },
  { name: 'another image', after: [listing('i2', later(20), ['image-2'])], back: 0 },
])('an image that was removed and is $name', async ({ after, back }) => {
  const { log, publishAt } = await timedLog();
  await publishAt(T, before);
  await publishAt(T + 1, gone);
  for (const [index, record] of after.entries()) await publishAt(T + 2 + index, record);

  const { pulledAgain } = await reportOf(log);
  expect(pulledAgain).toHaveLength(back);
  for (const found of pulledAgain)
    expect(found).toMatchObject({
      node: 'web-1',
      imageId: 'image-1',
      name: 'registry.example/image-1:1',
      rule: 'D11',
      sizeBytes: 70,
      removedAtMs: T + 1,
    });
});

test('decisions and applied policies are told, dry runs and what was passed over among them', async () => {
  const { log, publishAt } = await timedLog();
  const policy = appliedPolicy({ mode: 'dry-run' });
  await publishAt(T, outgoing({ topic: 'policyVersions', key: policy.hash, event: policy }));
  await publishAt(
    T + 1,
    outgoing(nodeOutput('decisions', decision({ outcome: 'dry-run' }))),
    outgoing(nodeOutput('decisions', decision({ outcome: 'dry-run' }))),
  );

  const by = { ...decision().input, offset: '9' };
  const overtaken = (id: string) => decision({ id, outcome: 'overtaken', overtakenBy: by });
  for (const id of ['overtaken-1', 'overtaken-2', 'overtaken-2'])
    await publishAt(T + 2, outgoing(nodeOutput('decisions', overtaken(id))));

  expect(await reportOf(log)).toMatchObject({
    decisions: [
      { decider: 'image-gc', outcome: 'overtaken', decisions: 2 },
      { decider: 'image-gc', outcome: 'dry-run', decisions: 1 },
    ],
    policyChanges: [{ atMs: T, name: 'default', policyVersion: 1, hash: policy.hash, mode: 'dry-run' }],
  });
});

test('only what lies in the time is told, and what nobody can read is counted', async () => {
  const { log, publishAt } = await timedLog();
  const { topic, key, headers } = gone;
  await publishAt(T, result({ id: 'r1' }));
  await publishAt(T + 10, result({ id: 'r2' }), { topic, key, headers, value: Buffer.from('{') });
  await publishAt(T + 20, result({ id: 'r3' }));

  expect(await reportOf(log, T + 10, T + 20)).toMatchObject({
    range: { fromMs: T + 10, toMs: T + 20 },
    read: { records: 2, unreadable: 1 },
    removed: { objects: 1 },
  });
});

test('there is no report of a log that was not read to its end', async () => {
  const { log } = await timedLog();
  const needs = { log, range: { fromMs: null, toMs: null }, nowMs: T, onProgress: () => undefined };
  await expect(makeReport(needs, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
});
