import { describe, expect, test } from 'vitest';
import { explainCluster } from '../../../../packages/audit/explain/cluster.ts';
import { ruleWords } from '../../../../packages/deciders/rule-words.ts';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import type { ClusterObjectOutcome } from '../../../../schemas/events/cluster-result.ts';
import type { Ownership } from '../../../../schemas/events/ownership.ts';
import { ClusterExplanation } from '../../../../schemas/reports/cluster-explanation.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { MINUTE } from '../../../fixtures/time.ts';
import { logOf } from '../support/archives.ts';
import {
  begun,
  type ClusterHistory,
  commandIn,
  commandResult,
  objectResults,
} from '../support/cluster-history.ts';

const BEGAN_MS = 1_800_000_000_000;
const at = (minute: number) => ({ serverMs: BEGAN_MS + minute * MINUTE, spreadMs: 0 });
const WENT = owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } });
const told = (id: string, uid: string, minute: number, over: Partial<Ownership> = {}): Ownership =>
  ownership({
    id,
    takenAt: at(minute),
    candidates: [
      candidate({ object: { uid: 'other', name: 'other' } }),
      candidate({ object: { uid }, references: [WENT] }),
    ],
    ...over,
  });
const settled = (uid: string, how: 'gone' | 'no-candidate') => ({
  candidates: [],
  settled: [{ group: '', kind: 'ConfigMap', namespace: 'ns', name: 'x', uid, how }],
});

function answer(
  log: ClusterHistory,
  command: LogRecord | null,
  result: ClusterObjectOutcome,
  minute: number,
): void {
  const order = commandIn(command);
  const objects = objectResults(order).objects.map((one) => ({
    ...one,
    owners: [{ uid: 'o', found: 'absent' as const }],
    result,
  }));
  log.carryOut(order, {
    objects: { at: at(minute), objects },
    whole: { at: at(minute) },
  });
}

const REMOVED = { outcome: 'removed' } as const;

async function explained(
  log: Pick<ClusterHistory, 'records'>,
  name: string,
  over: { readonly toMs?: number; readonly thereOnly?: boolean } = {},
) {
  const { toMs = null, thereOnly = false } = over;
  const request = { name, cluster: null, range: { fromMs: null, toMs }, thereOnly };
  const needs = { log: logOf(log.records), words: ruleWords, onProgress: () => undefined };
  return ClusterExplanation.parse(
    await explainCluster(request, { ...needs, signal: new AbortController().signal }),
  );
}

const livesOf = (explanation: ClusterExplanation) =>
  explanation.status === 'explained'
    ? explanation.lives.map(({ uid, state, timeline }) => ({ uid, state, timeline: timeline.map(wordOf) }))
    : explanation.status;

type Entry = Extract<ClusterExplanation, { status: 'explained' }>['lives'][number]['timeline'][number];
function wordOf(entry: Entry): string {
  switch (entry.what) {
    case 'candidate':
      return `${entry.how} candidate`;
    case 'owner':
      return `owner of ${entry.dependents} ${entry.state} ${entry.times}`;
    case 'verdict':
      return `${entry.action} ${entry.rule} ${entry.outcome} ${entry.times}`;
    case 'command':
      return `command ${entry.rule} ${entry.answered}`;
    case 'result':
      return entry.outcome;
    case 'settled':
      return entry.how === 'gone' ? `gone ${entry.byFleetGc}` : 'settled';
  }
}

test('an object’s life is told in order: how its owner went, the rule, the command, its result, and that it is gone', async () => {
  const log = begun();
  const { command } = log.decide(told('f1', 'x', 0));
  answer(log, command, REMOVED, 1);
  log.decide(told('f2', 'x', 2, settled('x', 'gone')));
  const explanation = await explained(log, 'ConfigMap/ns/x');
  expect(livesOf(explanation)).toEqual([
    {
      uid: 'x',
      state: 'removed',
      timeline: ['first candidate', 'delete D14 commanded 1', 'command D14 true', 'removed', 'gone true'],
    },
  ]);
  expect(explanation).toMatchObject({
    subject: { cluster: 'c1', group: '', kind: 'ConfigMap', namespace: 'ns', name: 'x' },
    lives: [
      {
        timeline: [
          { owners: [{ kind: 'ConfigMap', uid: 'o', state: 'gone', gone: { how: 'watched' } }] },
          { because: 'nobody owns it any more', policy: { name: 'default' } },
          { propagation: 'Background' },
          { owners: [{ uid: 'o', found: 'absent' }] },
          {},
        ],
      },
    ],
  });
});

test('an agent that sees it go before the executor tells of it blames nobody else', async () => {
  const log = begun();
  const { command } = log.decide(told('f1', 'x', 0));
  log.decide(told('f2', 'x', 2, settled('x', 'gone')));
  answer(log, command, REMOVED, 1);
  expect(livesOf(await explained(log, 'x'))).toMatchObject([
    { state: 'removed', timeline: [{}, {}, {}, 'gone true', 'removed'] },
  ]);
});

test.each([
  [
    'gone',
    undefined,
    'gone',
    ['first candidate', 'delete D14 commanded 1', 'command D14 false', 'gone false'],
  ],
  ['gone', 'not-found', 'gone', expect.arrayContaining(['not-found', 'gone false'])],
  ['gone', 'accepted', 'removed', expect.arrayContaining(['accepted', 'gone true'])],
  ['no-candidate', undefined, 'settled', expect.arrayContaining(['settled'])],
] as const)('%s after %s: it is %s', async (how, outcome, state, timeline) => {
  const log = begun();
  const { command } = log.decide(told('f1', 'x', 0));
  if (outcome !== undefined) answer(log, command, { outcome }, 1);
  log.decide(told('f2', 'x', 2, settled('x', how)));
  expect(livesOf(await explained(log, 'ConfigMap/x'))).toEqual([{ uid: 'x', state, timeline }]);
});

test('what comes back under its uid is told again, and what was in flight before it went is not', async () => {
  const log = begun();
  const { command } = log.decide(told('f1', 'x', 0));
  answer(log, command, REMOVED, 2);
  log.decide(told('f2', 'x', 1));
  log.decide(told('f3', 'x', 3, settled('x', 'gone')));
  log.decide(told('f4', 'x', 4));
  log.decide(told('f5', 'x', 5, settled('x', 'gone')));
  const [life] = livesOf(await explained(log, 'x'));
  expect(life).toMatchObject({ state: 'gone' });
  const words = typeof life === 'object' ? life.timeline : [];
  expect(words.filter((word) => /candidate|gone/.test(word))).toEqual([
    'first candidate',
    'gone true',
    'again candidate',
    'gone false',
  ]);
});

test('objects that had one name after the other are told one after the other', async () => {
  const log = begun();
  answer(log, log.decide(told('f1', 'uid-1', 0)).command, REMOVED, 1);
  log.decide(told('f2', 'uid-2', 5));
  expect(livesOf(await explained(log, 'ConfigMap/ns/x'))).toMatchObject([
    { uid: 'uid-1', state: 'removed' },
    { uid: 'uid-2', state: 'there' },
  ]);
  expect(livesOf(await explained(log, 'object/uid-2'))).toMatchObject([{ uid: 'uid-2' }]);
});

test('equal decisions are one entry, and a hold is told with its facts', async () => {
  const log = begun();
  const cascades = [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 2_000, ofKind: 2_000, within: null }];
  for (const [minute, id] of ['f1', 'f2', 'f3'].entries())
    log.decide(
      told(id, 'x', minute, {
        candidates: [candidate({ object: { uid: 'x' }, references: [WENT], cascades })],
      }),
    );
  const explanation = await explained(log, 'x');
  expect(livesOf(explanation)).toEqual([
    { uid: 'x', state: 'there', timeline: ['first candidate', 'hold S1 nothing-to-do 3'] },
  ]);
  expect(explanation).toMatchObject({
    lives: [{ timeline: [{}, { facts: { objects: 2_000, limit: 1_000 } }] }],
  });
});

test('an owner is told by what its dependents say of it', async () => {
  const log = begun();
  const candidates = ['x', 'y'].map((uid) => candidate({ object: { uid, name: uid }, references: [WENT] }));
  log.decide(told('f1', '', 0, { candidates }));
  log.decide(told('f2', '', 1, { candidates }));
  expect(livesOf(await explained(log, 'ConfigMap/ns/name-o'))).toEqual([
    { uid: 'o', state: 'gone', timeline: ['owner of 2 gone 2'] },
  ]);
});

test('a reference that describes another object than its uid has says nothing of that one', async () => {
  const log = begun();
  const copied = candidate({ references: [owner('o', { state: 'elsewhere' })] });
  log.decide(told('f1', '', 0, { candidates: [copied] }));
  expect(livesOf(await explained(log, 'ConfigMap/name-o'))).toBe('not-found');
});

test('a refused command is told of each object that it named', async () => {
  const log = begun();
  const order = commandIn(log.decide(told('f1', 'x', 0)).command);
  const result = { outcome: 'refused', reason: 'expired', message: 'too late' } as const;
  log.add(clusterOutput('clusterResults', { ...commandResult(order), result }));
  expect(await explained(log, 'x')).toMatchObject({
    lives: [
      { state: 'there', timeline: [{}, {}, { answered: true }, { wholeCommand: true, reason: 'expired' }] },
    ],
  });
});

describe('what a name means', () => {
  const several = begun();
  const named = [
    candidate({ object: { uid: 'aaaaaa-1', name: 'web', namespace: 'shop' }, references: [WENT] }),
    candidate({ object: { uid: 'bbbbbb-2', name: 'web', namespace: 'test' }, references: [WENT] }),
    candidate({
      object: { uid: 'cccccc-3', name: 'web', namespace: 'shop', group: 'apps', kind: 'Deployment' },
      references: [WENT],
    }),
  ];
  several.decide(told('f1', '', 0, { candidates: named }));

  test.each([
    ['web', ['aaaaaa-1', 'bbbbbb-2', 'cccccc-3']],
    ['ConfigMap/web', ['aaaaaa-1', 'bbbbbb-2']],
    ['shop/web', ['aaaaaa-1', 'cccccc-3']],
    ['ConfigMap/shop/web', ['aaaaaa-1']],
    ['Deployment/web', ['cccccc-3']],
    ['apps/Deployment/shop/web', ['cccccc-3']],
    ['extensions/Deployment/shop/web', []],
    ['object/bbbbbb', ['bbbbbb-2']],
    ['bbbb', []],
  ])('%s', async (name, uids) => {
    const explanation = await explained(several, name);
    const found = {
      explained: (each: ClusterExplanation) => (each.status === 'explained' ? each.lives : []),
      ambiguous: (each: ClusterExplanation) => (each.status === 'ambiguous' ? each.candidates : []),
      'not-found': () => [],
    }[explanation.status](explanation);
    expect(found.map(({ uid }) => uid).toSorted()).toEqual(uids);
  });

  test('a name that nothing has gets those that are near', async () => {
    expect(await explained(several, 'wed')).toMatchObject({ status: 'not-found', nearNames: ['web'] });
  });

  test.each(['', 'object/', 'A/b/c/d/e', 'ConfigMap/'])('%j names nothing', async (name) => {
    await expect(explained(several, name)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

test('as it stood at a time, nothing later is read', async () => {
  const log = begun();
  const { command } = log.decide(told('f1', 'x', 0));
  const toMs = log.nowMs + 1;
  answer(log, command, REMOVED, 1);
  expect(livesOf(await explained(log, 'x', { toMs, thereOnly: true }))).toMatchObject([{ state: 'there' }]);
});
