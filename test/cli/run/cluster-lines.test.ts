import { expect, test } from 'vitest';
import { commandLine, decisionLines, resultLines } from '../../../cli/run/cluster.ts';
import type { ClusterDecision, ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { candidate, ownership } from '../../fixtures/ownership.ts';

const named = (name: string, over: Partial<ReturnType<typeof candidate>['object']> = {}) =>
  candidate({ object: { name, uid: name, ...over } });
const CANDIDATES = [
  named('a'),
  named('b'),
  named('c'),
  named('d'),
  named('team', { kind: 'Namespace', namespaced: false, namespace: '' }),
];
const verdict = (position: number, over: Partial<ClusterVerdict> = {}): ClusterVerdict => ({
  position,
  action: 'delete',
  rule: 'D14',
  facts: {},
  ...over,
});
const { cluster, clusterInstance, takenAt } = ownership();
const decision = (over: Partial<ClusterDecision>): ClusterDecision => ({
  type: 'fleetgc.cluster.decision',
  version: 1,
  id: 'decision-1',
  cluster,
  clusterInstance,
  takenAt,
  decider: { name: 'graph-gc', version: '1' },
  input: { topic: 'gc.cluster.ownership', partition: 0, offset: '0', id: 'ownership-1', sha256: '' },
  policy: null,
  policySetHash: '',
  outcome: 'commanded',
  reason: '',
  verdicts: [],
  outputIds: [],
  outputSha256: '',
  ...over,
});

test.each<[string, Partial<ClusterDecision>, string[]]>([
  ['one object', { verdicts: [verdict(0)] }, ['graph-gc wants to delete ConfigMap ns/a']],
  [
    'many of one kind',
    { verdicts: [0, 1, 2, 3].map((position) => verdict(position)) },
    ['graph-gc wants to delete 4 ConfigMap (ns/a, ns/b, ns/c and 1 more)'],
  ],
  [
    'a dry run over several kinds',
    { outcome: 'dry-run', verdicts: [verdict(0), verdict(4)] },
    ['graph-gc would delete 2 objects (ConfigMap ns/a, Namespace team), but this is a dry run'],
  ],
  [
    'all that can be done',
    { verdicts: [verdict(0, { action: 'drop-references' }), verdict(1, { action: 'finish' })] },
    [
      'graph-gc wants to take references to owners from ConfigMap ns/a',
      'graph-gc wants to let go ConfigMap ns/b, which waited for dependents',
    ],
  ],
  [
    'a hold, with what is to be approved',
    {
      outcome: 'nothing-to-do',
      verdicts: [verdict(0, { action: 'hold', rule: 'S1', facts: { objects: 7, limit: 5 } })],
    },
    [
      'graph-gc holds ConfigMap ns/a: it stays until it is approved, and "fleetgc held" says how (S1, objects 7, limit 5)',
    ],
  ],
  [
    'a collector that is not ours',
    { outcome: 'not-ours', verdicts: [verdict(0)] },
    ['graph-gc would delete ConfigMap ns/a, but the policy gives FleetGC no such collector'],
  ],
  ['no policy', { outcome: 'no-policy' }, ['no policy selects this cluster: everything stays']],
  [
    'a pause, which is told when it begins',
    { outcome: 'paused', verdicts: [verdict(0, { action: 'keep' })] },
    [],
  ],
  ['what is kept', { outcome: 'nothing-to-do', verdicts: [verdict(0, { action: 'keep', rule: 'D10' })] }, []],
])('a decision in lines: %s', (_, given, lines) => {
  expect(decisionLines(decision(given), CANDIDATES)).toEqual(lines);
});

test('without its fact a decision tells numbers alone', () => {
  expect(decisionLines(decision({ verdicts: [verdict(0), verdict(1)] }), null)).toEqual([
    'graph-gc wants to delete 2 objects',
  ]);
});

type Result = ClusterObjectResults['objects'][number];
const of = (name: string, result: Result['result'], over: Partial<Result> = {}): Result => ({
  object: ClusterObject.parse(named(name).object),
  rule: 'D14',
  action: 'delete',
  attempts: 1,
  requests: 1,
  owners: [],
  result,
  ...over,
});

test('results in lines, those that are alike together', () => {
  const changed = { outcome: 'refused', reason: 'changed', message: 'it is another one by now' } as const;
  const objects = [
    of('a', { outcome: 'removed' }),
    of('b', { outcome: 'removed' }),
    of('c', { outcome: 'patched' }, { action: 'drop-references', rule: 'D11' }),
    of('d', changed),
    of('e', { outcome: 'failed', reason: 'forbidden', message: 'configmaps is forbidden' }),
    of('f', { outcome: 'accepted' }),
    of('g', { outcome: 'not-found' }),
    of('h', { outcome: 'rehearsed' }),
  ];
  const results: Pick<ClusterObjectResults, 'objects'> = { objects };
  expect(resultLines(results)).toEqual([
    '- 2 ConfigMap (ns/a, ns/b) deleted (D14)',
    '- ConfigMap ns/c: references to owners taken away (D11)',
    '= ConfigMap ns/d stays: it is another one by now (changed)',
    '! ConfigMap ns/e could not be changed: configmaps is forbidden (forbidden)',
    '- ConfigMap ns/f being deleted; finalizers or a grace period may hold it (D14)',
    '- ConfigMap ns/g already gone (D14)',
    '~ ConfigMap ns/h: the API server would do it, and did nothing (delete, D14)',
  ]);
});

test('of whole commands only a refusal is told', () => {
  const done = { outcome: 'done', counts: { removed: 1 } } as const;
  const refused = { outcome: 'refused', reason: 'expired', message: 'it came too late' } as const;
  expect([commandLine({ result: done }), commandLine({ result: refused })]).toEqual([
    null,
    'a command was refused: it came too late (expired)',
  ]);
});

const missing = (ownerUid: string, objects: number) => ({
  ownerUid,
  ownerKind: 'ConfigMap',
  objects,
  ofKind: objects,
  within: null,
});

test('a dry run tells how much would go in all, each missing owner once', () => {
  const candidates = [
    candidate({ object: { name: 'a', uid: 'a' }, cascades: [missing('o', 5)] }),
    candidate({ object: { name: 'b', uid: 'b' }, cascades: [missing('o', 5)] }),
    candidate({ object: { name: 'c', uid: 'c' }, cascades: [missing('p', 2)] }),
  ];
  const verdicts = [verdict(0), verdict(1), verdict(2)];
  expect(decisionLines(decision({ outcome: 'dry-run', verdicts }), candidates)).toEqual([
    'graph-gc would delete 3 ConfigMap (ns/a, ns/b, ns/c), but this is a dry run. With what depends on them at most 7 objects would go',
  ]);
  expect(decisionLines(decision({ outcome: 'commanded', verdicts }), candidates)).toEqual([
    'graph-gc wants to delete 3 ConfigMap (ns/a, ns/b, ns/c)',
  ]);
});

test('a dry run of what nobody counted dependents of says so', () => {
  const expired = { ...decision({ outcome: 'dry-run', verdicts: [verdict(0, { action: 'expire' })] }) };
  const [{ object }] = [named('a')];
  expect(decisionLines(expired, [{ object }])).toEqual([
    'graph-gc would delete ConfigMap ns/a, whose time is over, but this is a dry run. What depends on them would go after them, and is not counted here',
  ]);
});
