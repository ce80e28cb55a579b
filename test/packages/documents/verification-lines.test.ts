import { describe, expect, test } from 'vitest';
import { type Counts, createCollector, type Unanswered } from '../../../packages/audit/verify/findings.ts';
import { verificationLines } from '../../../packages/documents/verification.ts';
import { MINUTE, NOW } from '../../fixtures/time.ts';

const range = { fromMs: null, toMs: null };

function lines(counts: Partial<Counts>, unanswered: readonly Unanswered[] = []): readonly string[] {
  const collector = createCollector();
  Object.assign(collector.counts, { decisions: 5, verified: 5, ...counts });
  for (const one of unanswered) collector.unanswered(one);
  return verificationLines({
    range,
    ...collector.found(),
    signedBy: null,
    unprovedFacts: null,
    beforeSignatures: null,
    heads: null,
  });
}

describe('the answer', () => {
  test('is whole when everything was checked', () => {
    expect(lines({}).slice(0, 2)).toEqual([
      'Every decision came out the same again, and FleetGC removed only what they say.',
      '',
    ]);
  });

  test('says what was not checked', () => {
    expect(lines({ outOfRange: 7 })[1]).toBe(
      'Except for 7 commands, orders, facts or results that could not be checked: what belongs to them was deleted from the event log, or lies before what was read.',
    );
  });
});

test.each([
  { provedLines: 0, isComparedWithLog: true, says: /no head that counts/ },
  {
    provedLines: 4,
    isComparedWithLog: true,
    says: /signed it, and as the heads on the event log say, up to line 4 of 5$/,
  },
  {
    provedLines: 4,
    isComparedWithLog: false,
    says: /as the heads in it say, up to line 4 of 5; .* --heads-of$/,
  },
])('of heads it is said whether a log was asked (%o)', ({ says, ...archive }) => {
  const heads = { archive: { lines: 5, ...archive }, decisionHeads: 0 };
  const { found } = createCollector();
  const told = verificationLines({
    range,
    ...found(),
    signedBy: null,
    unprovedFacts: null,
    beforeSignatures: null,
    heads,
  });
  expect(told).toContainEqual(expect.stringMatching(says));
});

test.each([
  { total: 1_000, says: '  … and 980 more; -o ndjson lists them' },
  { total: 1_001, says: '  … and 981 more; -o ndjson lists the first 1000 of each kind' },
])('of $total deviations it is said what -o ndjson has of them', ({ total, says }) => {
  const collector = createCollector();
  const deviation = { kind: 'undecided', message: '', node: null, places: [] } as const;
  for (let count = 0; count < total; count++) collector.deviation(deviation);

  expect(
    verificationLines({
      range,
      ...collector.found(),
      signedBy: null,
      unprovedFacts: null,
      beforeSignatures: null,
      heads: null,
    }),
  ).toContain(says);
});

test('what the kubelet removed is told as no fault', () => {
  const collector = createCollector();
  const place = { topic: 'gc.node.inventory', partition: 0, offset: '1', timestampMs: NOW };
  for (const id of ['a', 'b'])
    collector.notOurs({ kind: 'image', id, node: 'prod/web-1', places: [place, place] });

  const told = verificationLines({
    range,
    ...collector.found(),
    signedBy: null,
    unprovedFacts: null,
    beforeSignatures: null,
    heads: null,
  }).join('\n');
  expect(told).toContain('Gone by other hands, which is no fault: 2 objects went between two inventories');
  expect(told).not.toContain('NOT OURS');
});

test('commands that nobody answered are told node by node, those that live on first', () => {
  const command = (node: string, minute: number, heardMs: number | null): Unanswered => ({
    kind: heardMs === null ? 'node-silent' : 'node-lives-on',
    id: `command-${node}-${minute}`,
    node,
    place: {
      topic: 'gc.node.commands',
      partition: 1,
      offset: `${minute}`,
      timestampMs: NOW + minute * MINUTE,
    },
    heardMs,
  });
  const told = lines({ expired: 4 }, [
    command('prod/a', 1, null),
    command('prod/a', 2, null),
    command('prod/a', 3, null),
    command('prod/b', 4, NOW + 60 * MINUTE),
  ]);

  expect(told.slice(2, 6)).toEqual([
    'UNANSWERED: commands that expired, and nothing says what became of them (4)',
    '  prod/b: 1, last 2026-01-01T00:04:00Z (gc.node.commands/1@4); the node was heard last at 2026-01-01T01:00:00Z: it lives on, so look at its executor',
    '  prod/a: 3, last 2026-01-01T00:03:00Z (gc.node.commands/1@3); no inventory of the node was read',
    '',
  ]);
});

test('what is from before there were signatures is told apart, with its number and since when there are any', () => {
  const told = verificationLines({
    range,
    ...createCollector().found(),
    signedBy: [],
    unprovedFacts: null,
    beforeSignatures: {
      firstStatementMs: Date.UTC(2026, 0, 31),
      byTopic: [
        { topic: 'gc.node.commands', records: 540 },
        { topic: 'gc.policies', records: 1 },
      ],
    },
    heads: null,
  });
  expect(told.slice(-3)).toEqual([
    'Before signatures: 541 records without a signature are older than the first statement about a key (2026-01-31T00:00:00Z). They are no deviations, and nothing proves who wrote them:',
    '  540 records of gc.node.commands',
    '  1 record of gc.policies',
  ]);
});
