import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../../packages/log/port.ts';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { certified, revoked, T0 } from '../../judge/support/a-round.ts';
import type { ClusterFault } from '../faults/fault.ts';
import { judgeCluster } from './judge.ts';
import { clusterLogEvidence } from './log-evidence.ts';
import {
  aClusterRound,
  clusterAct,
  clusterOrder,
  gone,
  is,
  ownedBy,
  owner,
  restored,
  thing,
  told,
} from './support/a-cluster-round.ts';

const END_MS = T0 + 60_000;
const judged = (given: Parameters<typeof aClusterRound>[0]) => judgeCluster(aClusterRound(given), END_MS);
const invariantsIn = (given: Parameters<typeof aClusterRound>[0]): readonly string[] =>
  judged(given).map(({ invariant }) => invariant);

const OWNER = owner('o');
const OTHER = owner('other');
const OWNED = thing('d', ownedBy(OWNER));
/** The owner goes by other hands, and then what it owned by the product. */
const COLLECTED = [is(1, OWNER), is(2, OWNED), gone(9, OWNER, 'life'), gone(10, OWNED)];

describe('who has an owner', () => {
  test('what an owner left behind that is gone goes without a word', () => {
    expect(judged({ truth: COLLECTED })).toEqual([]);
  });

  test('it went while its owner was there, or another owner', () => {
    expect(invariantsIn({ truth: [is(1, OWNER), is(2, OWNED), gone(10, OWNED)] })).toEqual(['owned']);
    const shared = thing('d', ownedBy(OWNER, OTHER));
    const truth = [is(1, OWNER), is(1, OTHER), is(2, shared), gone(9, OWNER, 'life'), gone(10, shared)];
    expect(invariantsIn({ truth })).toEqual(['owned']);
  });

  test('it went before its owner did', () => {
    const truth = [is(1, OWNER), is(2, OWNED), gone(10, OWNED), gone(11, OWNER, 'life')];
    expect(invariantsIn({ truth })).toEqual(['owned']);
  });

  test('it was adopted before it went', () => {
    const adopted = thing('d', ownedBy(OTHER));
    const truth = [is(1, OWNER), is(1, OTHER), is(2, OWNED), gone(8, OWNER, 'life'), is(9, adopted)];
    expect(invariantsIn({ truth: [...truth, gone(10, adopted)] })).toEqual(['owned']);
  });

  test('it went and never had an owner', () => {
    expect(invariantsIn({ truth: [is(1, thing('d')), gone(10, thing('d'))] })).toEqual(['owned']);
  });

  test('a copy went whose owner is there in another namespace', () => {
    const copy = thing('d', { ...ownedBy(OWNER), namespace: 'web' });
    const truth = [is(1, OWNER), is(2, copy), gone(10, copy)];
    expect(invariantsIn({ truth })).toEqual(['owned']);
    const forged: ClusterFault = {
      kind: 'forge',
      forgery: 'false-fact',
      signature: 'none',
      atMs: 0,
      forMs: 0,
    };
    expect(invariantsIn({ truth, faults: [forged] })).toEqual([]);
  });

  test('it went though its owner had left it behind', () => {
    const orphaning = owner('o', { isDeleting: true, finalizers: ['orphan'] });
    const before = [
      is(1, OWNER),
      is(2, OWNED),
      is(3, orphaning),
      gone(9, orphaning, 'life'),
      gone(10, OWNED),
    ];
    expect(invariantsIn({ truth: before })).toEqual([]);
    const first = thing('first', { kind: 'Job', group: 'batch', endsAtMs: T0 });
    const truth = [is(1, first), gone(2, first), ...before];
    expect(invariantsIn({ truth })).toEqual(['owned']);
    const kill = (part: string): ClusterFault => ({ kind: 'kill', part, atMs: 5_000, forMs: 0 });
    expect(invariantsIn({ truth, faults: [kill('cluster-agent')] })).toEqual([]);
    expect(invariantsIn({ truth, faults: [kill('graph-gc-1')] })).toEqual(['owned']);
  });

  test('what its owner waits for goes before it', () => {
    const waiting = owner('o', { isDeleting: true, finalizers: ['foregroundDeletion'] });
    const truth = [is(1, OWNER), is(2, OWNED), is(9, waiting), gone(10, OWNED), gone(11, waiting)];
    expect(judged({ truth })).toEqual([]);
  });

  test('an owner that came back by a restore holds again', () => {
    const truth = [...COLLECTED, restored(20, OWNER, OWNED), gone(30, OWNED)];
    const results = [told('d'), told('d', { commandId: 'command-2' })];
    expect(invariantsIn({ truth, results })).toEqual(['owned']);
  });

  test('it lost its reference to an owner that is there', () => {
    const truth = [is(1, OWNER), is(2, OWNED), is(10, thing('d'), 'product')];
    expect(invariantsIn({ truth, results: [told('d', { outcome: 'patched' })] })).toEqual(['owned']);
  });

  test("somebody's finalizer was taken away", () => {
    const held = thing('d', { isDeleting: true, finalizers: ['example.com/held'] });
    expect(invariantsIn({ truth: [is(1, held), gone(10, held)] })).toEqual(['owned']);
    const both = { ...held, finalizers: ['example.com/held', 'foregroundDeletion'] };
    expect(
      judged({ truth: [is(1, both), is(10, held, 'product')], results: [told('d', { outcome: 'patched' })] }),
    ).toEqual([]);
  });

  test('what has had its time goes without an owner, and not before', () => {
    const job = (endsAtMs: number) => thing('job', { kind: 'Job', group: 'batch', endsAtMs });
    expect(judged({ truth: [is(1, job(T0 + 9_000)), gone(10, job(T0 + 9_000))] })).toEqual([]);
    expect(invariantsIn({ truth: [is(1, job(T0 + 11_000)), gone(10, job(T0 + 11_000))] })).toEqual(['owned']);
  });

  test.each(['Namespace', 'Node', 'PersistentVolume'])('a %s went with its owner', (kind) => {
    const role = thing('role', { kind: 'ClusterRole', namespace: '' });
    const held = thing('held', { kind, namespace: '', ...ownedBy(role) });
    const truth = [is(1, role), is(2, held), gone(9, role, 'life'), gone(10, held)];
    expect(invariantsIn({ truth })).toEqual(['never']);
  });
});

describe('what policy keeps', () => {
  test.each([
    ['before there was one', []],
    ['under dry-run', [clusterAct(0, 'dry-run')]],
    ['in a rehearsal', [clusterAct(0, 'rehearse')]],
    ['in a pause', [clusterAct(0, 'usual'), clusterAct(2, 'usual', ['*'])]],
    ['of a kind that is kept', [clusterAct(0, 'keeps-secrets')]],
  ])('something went %s', (_, acts) => {
    expect(invariantsIn({ truth: COLLECTED, acts })).toEqual(['policy']);
  });

  test('something lost a reference in a pause', () => {
    const shared = thing('d', ownedBy(OWNER, OTHER));
    const truth = [is(1, OTHER), is(2, shared), is(10, thing('d', ownedBy(OTHER)), 'product')];
    const acts = [clusterAct(0, 'usual'), clusterAct(2, 'usual', ['*'])];
    const results = [told('d', { outcome: 'patched' })];
    expect(invariantsIn({ truth, acts, results })).toEqual(['policy']);
    expect(invariantsIn({ truth, results })).toEqual([]);
  });

  test('a pause counts once the executor must have heard of it', () => {
    const acts = [clusterAct(0, 'usual'), clusterAct(5, 'usual', ['*'])];
    expect(invariantsIn({ truth: COLLECTED, acts })).toEqual([]);
    const early = [clusterAct(0, 'usual'), clusterAct(2, 'usual', ['*'])];
    const frozen: ClusterFault = { kind: 'freeze', part: 'cluster-executor', atMs: 1_500, forMs: 8_000 };
    expect(invariantsIn({ truth: COLLECTED, acts: early, faults: [frozen] })).toEqual([]);
    expect(
      invariantsIn({ truth: COLLECTED, acts: early, faults: [{ ...frozen, part: 'cluster-agent' }] }),
    ).toEqual(['policy']);
  });

  test('something went that bears the annotation, or whose namespace does', () => {
    for (const over of [{ isKept: true }, { namespace: 'kept' }]) {
      const kept = thing('d', { ...ownedBy(OWNER), ...over });
      const truth = [is(1, OWNER), is(2, kept), gone(9, OWNER, 'life'), gone(10, kept)];
      expect(invariantsIn({ truth })).toEqual(['policy']);
    }
  });

  test('a pod went that had ended, though no more had than may stay', () => {
    const pods = (count: number) =>
      Array.from({ length: count }, (_, at) => thing(`p-${at}`, { kind: 'Pod', isEnded: true }));
    const truth = (count: number, goneAt: number) => {
      const [first, ...others] = pods(count);
      return first ? [is(1, first), ...others.map((pod) => is(2, pod)), gone(goneAt, first)] : [];
    };
    // Long after the last of them ended they are as many still.
    for (const goneAt of [10, 100]) {
      expect(invariantsIn({ truth: truth(5, goneAt) })).toEqual([]);
      expect(invariantsIn({ truth: truth(4, goneAt) })).toEqual(['policy']);
    }
  });
});

describe('what is told', () => {
  test('an object is told to be removed twice', () => {
    const results = [told('d'), told('d', { commandId: 'command-2' })];
    expect(invariantsIn({ truth: COLLECTED, results })).toEqual(['twice']);
  });

  test('it was removed once more after a restore', () => {
    const truth = [...COLLECTED, restored(20, OWNED), gone(30, OWNED)];
    const results = [told('d'), told('d', { commandId: 'command-2' })];
    expect(judged({ truth, results })).toEqual([]);
  });

  test('a result came again and said something else', () => {
    expect(invariantsIn({ truth: COLLECTED, retold: ['result-1'] })).toEqual(['twice']);
  });

  test('a command without an answer, and a deed of which nobody told', () => {
    expect(invariantsIn({ truth: COLLECTED, answered: [] })).toEqual(['lost']);
    expect(invariantsIn({ truth: COLLECTED, results: [] })).toEqual(['lost']);
    const refused = [told('d', { outcome: 'refused' })];
    expect(invariantsIn({ truth: COLLECTED, results: refused })).toEqual(['lost']);
  });

  test.each(['cluster-executor', 'cluster-agent'])(
    'nothing is forgiven where %s was killed before it could tell',
    (part) => {
      for (const atMs of [9_000, 11_000, 16_000]) {
        const kill: ClusterFault = { kind: 'kill', part, atMs, forMs: 0 };
        expect(invariantsIn({ truth: COLLECTED, results: [], faults: [kill] })).toEqual(['lost']);
      }
    },
  );

  test('what a later executor found gone or changed is told', () => {
    for (const outcome of ['not-found', 'failed'])
      expect(invariantsIn({ truth: COLLECTED, results: [told('d', { outcome })] })).toEqual([]);
  });

  test('a deed whose answer was lost has to be told too', () => {
    const unanswered: ClusterFault = { kind: 'unanswered', part: 1, atMs: 9_000, forMs: 2_000 };
    const patched = [is(1, OWNED), is(10, thing('d'), 'product')];
    expect(invariantsIn({ truth: patched, results: [], faults: [unanswered] })).toEqual(['lost']);
    expect(invariantsIn({ truth: COLLECTED, results: [], faults: [unanswered] })).toEqual(['lost']);
  });

  test('what lay on a topic that was deleted went with it', () => {
    const anew: ClusterFault = {
      kind: 'topic-anew',
      topic: 'gc.cluster.commands',
      atMs: 1_000,
      forMs: 10_000,
    };
    expect(invariantsIn({ truth: COLLECTED, answered: [], results: [], faults: [anew] })).toEqual([]);
  });
});

describe('what is left', () => {
  const left = [is(1, OWNER), is(2, OWNED), gone(9, OWNER, 'life')];
  test('something is there whose owner is gone', () => {
    expect(invariantsIn({ truth: left })).toEqual(['relief']);
  });

  test('it stays by the policy that holds at the end, by its annotation, and after a restore', () => {
    expect(invariantsIn({ truth: left, acts: [clusterAct(0, 'dry-run')] })).toEqual([]);
    expect(invariantsIn({ truth: left, acts: [clusterAct(0, 'keeps-secrets')] })).toEqual([]);
    expect(invariantsIn({ truth: [...left, restored(20, OWNED)] })).toEqual([]);
    const kept = thing('d', { ...ownedBy(OWNER), isKept: true });
    expect(invariantsIn({ truth: [is(1, OWNER), is(2, kept), gone(9, OWNER, 'life')] })).toEqual([]);
  });

  test('a copy of what lay elsewhere stays', () => {
    const copy = thing('d', { ...ownedBy(OWNER), namespace: 'web' });
    expect(invariantsIn({ truth: [is(1, OWNER), is(2, copy), gone(9, OWNER, 'life')] })).toEqual([]);
  });

  test('something names an owner that goes, and lets it go', () => {
    for (const finalizer of ['orphan', 'foregroundDeletion']) {
      const waiting = owner('o', { isDeleting: true, finalizers: [finalizer] });
      expect(invariantsIn({ truth: [is(1, OWNER), is(2, OWNED), is(3, waiting)] })).toEqual(['relief']);
      expect(invariantsIn({ truth: [is(1, waiting)] })).toEqual([]);
    }
  });

  test('a Job is there after its time, and more pods that have ended than may stay', () => {
    const job = thing('job', { kind: 'Job', group: 'batch', endsAtMs: T0 + 5_000 });
    expect(invariantsIn({ truth: [is(1, job)] })).toEqual(['relief']);
    const pods = Array.from({ length: 5 }, (_, at) =>
      is(1, thing(`p-${at}`, { kind: 'Pod', isEnded: true })),
    );
    expect(invariantsIn({ truth: pods })).toEqual(['relief']);
    expect(invariantsIn({ truth: pods.slice(1) })).toEqual([]);
  });
});

describe('who ordered it', () => {
  test.each([
    ['that nobody signed', { signedBy: null }],
    ['that another key signed, for which nobody vouches', { signedBy: 'stranger' }],
    ['that came later', { atMs: T0 + 25_000 }],
    ['that does not name it', { uids: ['other'] }],
  ])('something went by a command %s', (_, over) => {
    const orders = [clusterOrder(['d'], { id: 'other', ...over })];
    expect(invariantsIn({ truth: COLLECTED, orders, answered: ['other'] })).toEqual(['signed']);
  });

  test('a key that was revoked counts until the executor must have heard of it', () => {
    expect(invariantsIn({ truth: COLLECTED, keys: [certified(0), revoked(5)] })).toEqual([]);
    expect(invariantsIn({ truth: COLLECTED, keys: [certified(0), revoked(1)] })).toEqual(['signed']);
  });

  test('a command that nobody signed is never carried out, also where another one names the same', () => {
    const orders = [clusterOrder(['d']), clusterOrder(['d'], { id: 'forged', signedBy: null })];
    const results = [told('d', { commandId: 'forged' })];
    expect(invariantsIn({ truth: COLLECTED, orders, results, answered: ['command-1', 'forged'] })).toEqual([
      'signed',
    ]);
  });
});

test('audit tells of everything that no good key signed, and finds nothing else', () => {
  const place = 'gc.cluster.commands/0@3';
  const deviation = { kind: 'decision-differs', node: null, message: 'it differs', places: [place] };
  const distrust = { ...deviation, kind: 'not-trusted' };
  expect(invariantsIn({ truth: COLLECTED, audit: [deviation] })).toEqual(['audit']);
  expect(invariantsIn({ truth: COLLECTED, audit: [], distrusted: [place] })).toEqual(['audit']);
  expect(invariantsIn({ truth: COLLECTED, audit: [distrust], distrusted: [place] })).toEqual([]);
});

test('a dead letter stands for the nearest commands before it that nothing else answers, as many as it says', () => {
  const record = (topic: TopicName, offset: number, event: object, key = 'chaos'): LogRecord => ({
    topic,
    partition: 0,
    offset: BigInt(offset),
    timestampMs: T0,
    key,
    value: Buffer.from(JSON.stringify(event)),
    headers: {},
  });
  const commands = Array.from({ length: 6 }, (_, offset) =>
    record('gc.cluster.commands', offset, {
      type: 'fleetgc.cluster.command',
      id: `command-${offset}`,
      items: [],
    }),
  );
  const results = [
    record('gc.cluster.results', 0, {
      type: 'fleetgc.cluster.command-result',
      id: 'result-3',
      commandId: 'command-3',
      result: { outcome: 'done' },
    }),
  ];
  const letterOf = (offset: string, suppressedBefore: number) => ({
    type: 'fleetgc.dead-letter',
    topic: 'gc.cluster.commands',
    partition: 0,
    offset,
    key: Buffer.from('chaos').toString('base64'),
    suppressedBefore,
  });
  const givenUp = (suppressedBefore: number) => {
    const letters = [letterOf('0', 0), letterOf('4', suppressedBefore)];
    const deadLetters = letters.map((letter, at) => record('gc.dead-letters', at, letter));
    const records = { lasting: [], commands, results, deadLetters, policies: [], keys: [] };
    return [...clusterLogEvidence(records).givenUp].toSorted();
  };
  expect(givenUp(0)).toEqual(['0@0', '0@4']);
  expect(givenUp(1)).toEqual(['0@0', '0@2', '0@4']);
  expect(givenUp(9)).toEqual(['0@0', '0@1', '0@2', '0@4']);
});
