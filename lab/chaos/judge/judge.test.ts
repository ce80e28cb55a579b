import { describe, expect, test } from 'vitest';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';
import { logEvidence } from './log-evidence.ts';
import {
  act,
  aRound,
  at,
  command,
  container,
  IMAGE,
  image,
  NODE,
  removal,
  result,
  T0,
} from './support/a-round.ts';

const invariantsIn = (evidence: Evidence): readonly string[] =>
  judge(evidence).map(({ invariant }) => invariant);

describe('what policy keeps', () => {
  test('an image that was old enough, unused and of no list goes without a word', () => {
    expect(judge(aRound({ truth: [image(1), ...removal(10)] }))).toEqual([]);
  });

  test.each([
    ['of the repository that every policy keeps', { names: ['registry.example/always/tool:1'] }],
    ['pinned', { pinned: true }],
  ])('an image that is %s went', (_, over) => {
    expect(invariantsIn(aRound({ truth: [image(1, over), ...removal(10)] }))).toEqual(['policy']);
  });

  test('an image went that was there for a second', () => {
    expect(invariantsIn(aRound({ truth: [image(9), ...removal(10)] }))).toEqual(['policy']);
  });

  test('an image went before any policy was applied, and under dry-run', () => {
    const truth = [image(1), ...removal(10)];
    expect(invariantsIn(aRound({ truth, acts: [] }))).toEqual(['policy']);
    expect(invariantsIn(aRound({ truth, acts: [act(0, { policy: 'dry-run', paused: [] })] }))).toEqual([
      'policy',
    ]);
  });

  test('a pause counts once nodes must have heard of it, on the nodes that it names', () => {
    const paused = (seconds: number, where: string) => [
      act(0, { policy: 'usual', paused: [] }),
      act(seconds, { policy: 'usual', paused: [where] }),
    ];
    const truth = [image(1), ...removal(10)];
    expect(invariantsIn(aRound({ truth, acts: paused(2, '*') }))).toEqual(['policy']);
    expect(invariantsIn(aRound({ truth, acts: paused(2, NODE) }))).toEqual(['policy']);
    expect(invariantsIn(aRound({ truth, acts: paused(2, 'node-b') }))).toEqual([]);
    expect(invariantsIn(aRound({ truth, acts: paused(7, '*') }))).toEqual([]);
  });

  test('a pause that an executor could not hear of does not count', () => {
    const acts = [act(0, { policy: 'usual', paused: [] }), act(2, { policy: 'usual', paused: ['*'] })];
    const frozen = { kind: 'freeze', part: `${NODE}/node-executor`, atMs: 1_500, forMs: 8_000 } as const;
    const agentFrozen = { ...frozen, part: `${NODE}/node-agent` };
    const truth = [image(1), ...removal(10)];
    expect(invariantsIn(aRound({ truth, acts, faults: [frozen] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth, acts, faults: [agentFrozen] }))).toEqual(['policy']);
  });

  test('a keep list that was put in force long ago', () => {
    const truth = [image(1, { names: ['registry.example/team/app:1'] }), ...removal(10)];
    const acts = [act(0, { policy: 'usual', paused: [] }), act(2, { policy: 'keeps-team', paused: [] })];
    expect(invariantsIn(aRound({ truth, acts }))).toEqual(['policy']);
  });

  test('a container of a kept namespace, and the newest dead one of a pod', () => {
    const gone = (id: string) => at(10, { kind: 'container-gone', id, by: 'cri' });
    const told = (id: string) => [result({ object: { kind: 'container', id } })];
    const newest = [container(1, 'old'), container(2, 'new'), gone('new')];
    const older = [container(1, 'old'), container(2, 'new'), gone('old')];
    const kept = [container(1, 'old', 'kept'), container(2, 'new', 'kept'), gone('old')];
    expect(invariantsIn(aRound({ truth: newest, results: told('new') }))).toEqual(['policy']);
    expect(invariantsIn(aRound({ truth: older, results: told('old') }))).toEqual([]);
    expect(invariantsIn(aRound({ truth: kept, results: told('old') }))).toEqual(['policy']);
  });
});

describe('what is used', () => {
  test('an image went whose container was there for longer than a look takes', () => {
    const using = (seconds: number) => aRound({ truth: [image(1), container(seconds, 'c'), ...removal(10)] });
    expect(invariantsIn(using(5))).toEqual(['use']);
    expect(invariantsIn(using(9))).toEqual([]);
  });

  test('an image whose container went before may go', () => {
    const gone = at(8, { kind: 'container-gone', id: 'c', by: 'life' });
    expect(judge(aRound({ truth: [image(1), container(2, 'c'), gone, ...removal(10)] }))).toEqual([]);
  });

  test('a container went that ran, a sandbox that was ready', () => {
    const running = [
      container(1, 'c'),
      container(2, 'newer'),
      at(1, { kind: 'container-state', id: 'c', running: true }),
      at(10, { kind: 'container-gone', id: 'c', by: 'cri' }),
    ];
    const results = [result({ object: { kind: 'container', id: 'c' } })];
    expect(invariantsIn(aRound({ truth: running, results }))).toEqual(['use']);
    const ready = [
      at(1, { kind: 'sandbox', id: 's', namespace: 'shop', ready: true }),
      at(10, { kind: 'sandbox-gone', id: 's', by: 'cri' }),
    ];
    expect(
      invariantsIn(aRound({ truth: ready, results: [result({ object: { kind: 'sandbox', id: 's' } })] })),
    ).toEqual(['use']);
  });
});

test('an image went though the disk was used to less than the policy wants', () => {
  expect(invariantsIn(aRound({ truth: [image(1), ...removal(10, { usedPercentBefore: 59 })] }))).toEqual([
    'needless',
  ]);
});

test('under a policy that lets images go by age only those went from a disk with room that were there for so long', () => {
  const acts = [act(0, { policy: 'tidy', paused: [] })];
  const after = (seconds: number) => [image(1), ...removal(1 + seconds, { usedPercentBefore: 20 })];
  expect(judge(aRound({ truth: after(6), acts }))).toEqual([]);
  expect(invariantsIn(aRound({ truth: after(4), acts }))).toEqual(['needless']);
  expect(invariantsIn(aRound({ truth: after(6) }))).toEqual(['needless']);
});

test('what others freed in the moment of the removal nobody could know of', () => {
  const disk = (seconds: number, usedPercent: number) => at(seconds, { kind: 'disk', usedPercent });
  const gone = removal(10, { usedPercentBefore: 59 });
  expect(judge(aRound({ truth: [image(1), disk(2, 63), disk(9, 59), ...gone] }))).toEqual([]);
  expect(invariantsIn(aRound({ truth: [image(1), disk(2, 63), disk(7, 59), ...gone] }))).toEqual([
    'needless',
  ]);
  const [asked, ...answer] = removal(10, { usedPercentBefore: 59 });
  const slow = answer.map((line) => ({ ...line, atMs: line.atMs + 5_000 }));
  const whileItWaits = [image(1), disk(2, 63), ...(asked ? [asked] : []), disk(12, 59), ...slow];
  expect(judge(aRound({ truth: whileItWaits }))).toEqual([]);
});

describe('nothing twice', () => {
  test('what a command came to was told once more, and otherwise', () => {
    const again = result({ result: { outcome: 'not-found' } });
    const truth = [image(1), ...removal(10)];
    expect(invariantsIn(aRound({ truth, results: [result(), again] }))).toEqual(['twice']);
    expect(invariantsIn(aRound({ truth, results: [result(), result()] }))).toEqual([]);
    const forgetful = { ...again, journal: 'memory' as const };
    expect(invariantsIn(aRound({ truth, results: [result(), forgetful] }))).toEqual([]);
  });

  test('one removal was told twice', () => {
    const results = [result(), result({ id: 'result-2', commandId: 'command-2' })];
    expect(invariantsIn(aRound({ truth: [image(1), ...removal(10)], results }))).toEqual(['twice']);
  });

  test('an image was asked for again after it went, by who was told so', () => {
    const again = at(12, { kind: 'asked', call: 12, what: 'removeImage', id: IMAGE });
    const kill = { kind: 'kill', part: `${NODE}/node-executor`, atMs: 11_000, forMs: 0 } as const;
    const truth = [image(1), ...removal(10), again];
    expect(invariantsIn(aRound({ truth }))).toEqual(['twice']);
    expect(invariantsIn(aRound({ truth, faults: [kill] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth: [image(1), ...removal(10), image(11), again] }))).toEqual([]);
  });

  test('one command removed an image and, once it was back, again', () => {
    const truth = [image(1), ...removal(10), image(11), ...removal(20)];
    const results = [result(), result({ id: 'result-2' })];
    expect(invariantsIn(aRound({ truth, results }))).toEqual(['twice']);
    const another = [result(), result({ id: 'result-2', commandId: 'command-2' })];
    expect(invariantsIn(aRound({ truth, results: another }))).toEqual([]);
  });
});

describe('nothing lost', () => {
  test('a removal that no result tells of, or one result of two removals', () => {
    expect(invariantsIn(aRound({ truth: [image(1), ...removal(10)], results: [] }))).toEqual(['lost']);
    const twice = [image(1), ...removal(10), image(11), ...removal(20)];
    expect(invariantsIn(aRound({ truth: twice, results: [result()] }))).toContain('lost');
  });

  test('an executor that was killed in the moment of a removal cannot know of an image that is back that it was away', () => {
    const truth = [image(1), ...removal(10), image(11)];
    const kill = { kind: 'kill', part: `${NODE}/node-executor`, atMs: 10_100, forMs: 0 } as const;
    expect(invariantsIn(aRound({ truth, results: [], faults: [kill] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth: truth.slice(0, -1), results: [], faults: [kill] }))).toEqual([
      'lost',
    ]);
    expect(invariantsIn(aRound({ truth, results: [], faults: [{ ...kill, atMs: 15_000 }] }))).toEqual([
      'lost',
    ]);
  });

  test('what it cannot know of is no removal that a later one of the same image is asked for, also where the call took seconds', () => {
    const slow = [
      at(10, { kind: 'asked', call: 1, what: 'removeImage', id: IMAGE }),
      at(13, { kind: 'image-gone', id: IMAGE, by: 'cri', usedPercentBefore: 85 }),
    ];
    const truth = [image(1), ...slow, image(15), ...removal(25)];
    const kill = { kind: 'kill', part: `${NODE}/node-executor`, atMs: 11_000, forMs: 0 } as const;
    expect(invariantsIn(aRound({ truth, results: [result()], faults: [kill] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth, results: [], faults: [kill] }))).toEqual(['lost']);
  });

  test('a command that went with its topic is not asked for, and one on the new topic is', () => {
    const anew = { kind: 'topic-anew', topic: 'gc.node.commands', atMs: 5_000, forMs: 1_000 } as const;
    const commands = (seconds: number) => [command({ atMs: T0 + seconds * 1000 })];
    expect(invariantsIn(aRound({ truth: [], commands: commands(4), faults: [anew] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth: [], commands: commands(7), faults: [anew] }))).toEqual(['lost']);
  });

  test('a command without a result and without a dead letter', () => {
    const commands = [command()];
    const answer = result({ type: 'fleetgc.node.command-result', id: 'answer', result: { outcome: 'done' } });
    expect(invariantsIn(aRound({ truth: [], commands, results: [] }))).toEqual(['lost']);
    expect(invariantsIn(aRound({ truth: [], commands, results: [], givenUp: ['0@0'] }))).toEqual([]);
    expect(invariantsIn(aRound({ truth: [], commands, results: [answer] }))).toEqual([]);
  });
});

describe('every disk that can be relieved', () => {
  const full = at(30, { kind: 'disk', usedPercent: 91 });

  test('keeps every version of an image that went while a container still runs on it, and no others', () => {
    const version = (id: string, name: string) => image(1, { id, names: [`registry.example/shop/${name}`] });
    const truth = [image(1), container(2, 'c'), version('sha256:two', 'app@sha256:2'), ...removal(10), full];
    const of = (lines: typeof truth) =>
      invariantsIn(aRound({ truth: lines })).filter((one) => one === 'relief');
    expect(of(truth)).toEqual([]);
    expect(of([...truth, version('sha256:three', 'another:1')])).toEqual(['relief']);
  });

  test('is used to more than the threshold while an image may go', () => {
    expect(invariantsIn(aRound({ truth: [image(1), full] }))).toEqual(['relief']);
  });

  test.each([
    ['is below the threshold', [image(1), at(30, { kind: 'disk', usedPercent: 79 })]],
    ['has only images that are used', [image(1), container(2, 'c'), full]],
    ['has only images that are kept', [image(1, { names: ['registry.example/always/tool:1'] }), full]],
    ['has only images that are gone', [image(1), ...removal(10), full]],
  ])('%s', (_, truth) => {
    expect(judge(aRound({ truth }))).toEqual([]);
  });
});

test('what audit verify finds is a violation', () => {
  const audit = [
    { kind: 'not-decided', node: 'chaos/node-a', message: 'nobody decided it', places: ['a/0@1'] },
  ];
  const violations = [
    { invariant: 'audit', node: 'chaos/node-a', text: 'not-decided: nobody decided it (a/0@1)' },
  ];
  expect(judge(aRound({ truth: [], audit }))).toEqual(violations);
  expect(judge(aRound({ truth: [], audit, tainted: ['a/0@2'] }))).toEqual(violations);
  expect(judge(aRound({ truth: [], audit, tainted: ['a/0@1'] }))).toEqual([]);
});

test('what was forged, what names it and what is no event taints what rests on it, and nothing else does', () => {
  const values = ['{"id":"forged-1"}', '{"id":"r","commandId":"forged-1"}', '{"id":"r"}', '[[]]', null, '{}'];
  const lasting = values.map((value, offset) => ({
    topic: 'gc.node.results' as const,
    partition: 0,
    offset: BigInt(offset),
    timestampMs: T0,
    key: 'chaos/node-a',
    value: value === null ? null : Buffer.from(value),
    headers: {},
  }));
  const { tainted } = logEvidence({
    lasting,
    commands: [],
    results: [],
    deadLetters: [],
    policies: [],
    keys: [],
  });
  expect([...tainted].map((place) => place.slice(-1))).toEqual(['0', '1', '3', '4', '5']);
});

test('a removal is judged by when its call came in, however long it hung', () => {
  const acts = [act(0, { policy: 'usual', paused: [] }), act(3, { policy: 'usual', paused: ['*'] })];
  const truth = [
    image(-10),
    at(2, { kind: 'asked', call: 1, what: 'removeImage', id: IMAGE }),
    at(12, { kind: 'image-gone', id: IMAGE, by: 'cri', usedPercentBefore: 85 }),
  ];
  expect(judge(aRound({ truth, acts }))).toEqual([]);
});

describe('an archive', () => {
  const places = ['gc.node.results/1@0', 'gc.node.results/1@1'];
  const archive = { problems: [], places };

  test('has all that lay on the log, once', () => {
    expect(judge(aRound({ truth: [], places, archive }))).toEqual([]);
  });

  test.each([
    { what: 'misses a record', archive: { problems: [], places: places.slice(1) } },
    { what: 'has a record twice', archive: { problems: [], places: [...places, ...places.slice(1)] } },
    { what: 'is not what was written', archive: { problems: ['exit code 1: altered'], places } },
  ])('that $what', ({ archive }) => {
    expect(judge(aRound({ truth: [], places, archive }))).toMatchObject([{ invariant: 'archive' }]);
  });

  test('has two records of one offset where the log has them, as a broker on a full disk may leave it', () => {
    const twoOfOne = [...places, ...places.slice(1)];
    const round = (archived: readonly string[]) =>
      aRound({ truth: [], places: twoOfOne, archive: { problems: [], places: archived } });
    expect(judge(round(twoOfOne))).toEqual([]);
    expect(judge(round([...twoOfOne, ...places.slice(1)]))).toMatchObject([{ invariant: 'archive' }]);
  });

  test('ends where a topic is made anew', () => {
    const faults = [{ kind: 'topic-anew', topic: 'gc.node.results', atMs: 0, forMs: 0 }] as const;
    expect(judge(aRound({ truth: [], faults, places, archive: { problems: [], places: [] } }))).toEqual([]);
  });
});
