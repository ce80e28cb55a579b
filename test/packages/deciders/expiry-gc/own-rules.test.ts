import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  conclude,
  type ExpiryOutcome,
  type ExpirySettings,
} from '../../../../packages/deciders/expiry-gc/rules/conclude.ts';
import { Approvals } from '../../../../packages/decision/approvals.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import { Collector } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { expiryCandidate, HOUR_MS, jobFacts, NOW_MS, podEnd } from '../../../fixtures/expiry.ts';
import { isQuickRun, runs } from '../../../support/property-runs.ts';
import { AnyExpiring } from './support/any-expiring.ts';

const rule = (over: Partial<OwnRule> = {}): OwnRule => ({
  name: 'old',
  kinds: ['apps/Deployment', 'batch/Job', 'Pod'],
  namespaces: [],
  afterMs: HOUR_MS,
  propagation: 'Background',
  removalsPerHour: 100,
  ...over,
});
const ENDED: Partial<OwnRule> = { kinds: ['Pod'], states: ['Succeeded', 'Failed'] };

const SETTINGS: ExpirySettings = {
  profile: 'fleetgc',
  keep: { namespaces: [], kinds: [] },
  heldKinds: [],
  collectors: [],
  approved: new Approvals([]),
};

/** `expire S12 old`, `keep S12`. */
const words = (outcome: ExpiryOutcome): string =>
  outcome.kind === 'act'
    ? `${outcome.act.action} ${outcome.rule} ${outcome.act.ownRule}`
    : `${outcome.kind} ${outcome.rule}`;

const judge = (candidate: ExpiryCandidate, rules: readonly OwnRule[], atMs = NOW_MS): ExpiryOutcome =>
  conclude(
    candidate,
    { ...SETTINGS, rules: [...rules] },
    { nowMs: atMs, shareOf: () => ({ over: 1, objects: 1 }) },
  );
const of = (over: Parameters<typeof expiryCandidate>[0], ...rules: readonly OwnRule[]): string =>
  words(judge(expiryCandidate({ facts: { of: 'object' }, ...over }), rules));

describe('[cluster S12] by a rule with an age', () => {
  test('an object goes from so long after its creation on, and not a millisecond before', () => {
    const named = rule({ namespaces: ['ns'] });
    expect(of({ createdAtMs: NOW_MS - HOUR_MS }, named)).toBe('expire S12 old');
    expect(of({ createdAtMs: NOW_MS - HOUR_MS + 1 }, named)).toBe('keep S12');
    expect(of({ createdAtMs: NOW_MS + HOUR_MS }, named)).toBe('keep S12');
  });

  test('it has to have every label that the rule names, and a label that is not told is not there', () => {
    const labelled = rule({ labels: { app: 'ci', tier: '' } });
    expect(of({ labels: { app: 'ci', tier: '' } }, labelled)).toBe('expire S12 old');
    expect(of({ labels: { app: 'ci', tier: 'x' } }, labelled)).toBe('keep S8');
    expect(of({ labels: { app: 'ci' } }, labelled)).toBe('keep S8');
    expect(of({}, labelled)).toBe('keep S8');
    expect(of({ labels: {} }, rule({ labels: { constructor: 'x' } }))).toBe('keep S8');
  });

  test('labels narrow a rule that goes by annotations too', () => {
    const { afterMs: _, ...byAnnotation } = rule({ labels: { app: 'ci' } });
    const annotations = { 'janitor/ttl': '1h' };
    expect(of({ annotations, labels: { app: 'ci' } }, byAnnotation)).toBe('expire S8 old');
    expect(of({ annotations }, byAnnotation)).toBe('keep S8');
  });

  test.each<[string, OwnRule['states'], string]>([
    ['Succeeded', ['Succeeded'], 'expire S12 old'],
    ['Succeeded', ['Failed'], 'keep S8'],
    ['Failed', ['Failed'], 'expire S12 old'],
    ['Failed', ['Evicted'], 'keep S8'],
    ['Evicted', ['Evicted'], 'expire S12 old'],
    ['Evicted', ['Failed'], 'expire S12 old'],
    ['running', ['Succeeded', 'Failed', 'Evicted'], 'keep S8'],
  ])('a pod that is %s and a rule for %j', (is, states, expected) => {
    const state = is === 'Succeeded' || is === 'Failed' || is === 'Evicted' ? is : null;
    expect(of({ facts: podEnd(state) }, rule({ ...ENDED, states }))).toBe(expected);
  });

  test('a pod counts from its end, and a Job from its finish, where the rule names states', () => {
    const young = NOW_MS - HOUR_MS + 1;
    expect(of({ facts: podEnd('Failed', young), createdAtMs: 0 }, rule(ENDED))).toBe('keep S12');
    const jobs = rule({ kinds: ['batch/Job'], states: ['Complete'] });
    const finished = (atMs: number, type: 'Complete' | 'Failed' = 'Complete') =>
      jobFacts({ ttlSecondsAfterFinished: null, finished: { atMs, type } });
    expect(of({ facts: finished(NOW_MS - HOUR_MS), createdAtMs: 0 }, jobs)).toBe('expire S12 old');
    expect(of({ facts: finished(young), createdAtMs: 0 }, jobs)).toBe('keep S12');
    expect(of({ facts: finished(0, 'Failed'), createdAtMs: 0 }, jobs)).toBe('keep K1');
    expect(of({ facts: jobFacts({ ttlSecondsAfterFinished: null, finished: null }) }, jobs)).toBe('keep K1');
    expect(of({ facts: jobFacts({ ttlSecondsAfterFinished: null, finished: { atMs: 0 } }) }, jobs)).toBe(
      'keep K1',
    );
  });

  test('[cluster S14] a Job that says itself how long it stays is no matter of such a rule', () => {
    for (const states of [undefined, ['Complete' as const]]) {
      const { states: _, ...plain } = rule({ kinds: ['batch/Job'], namespaces: ['ns'] });
      const long = jobFacts({ ttlSecondsAfterFinished: 86_400, finished: { atMs: 0, type: 'Complete' } });
      const named = states === undefined ? plain : { ...plain, states };
      expect(of({ facts: { ...long }, createdAtMs: 0 }, named)).toBe(judgedByTtl(long));
    }
  });

  test('of a Job or pod whose state cannot be read nothing follows', () => {
    for (const object of [
      { group: 'batch', kind: 'Job' },
      { group: '', kind: 'Pod' },
    ])
      expect(of({ object }, rule({ namespaces: ['ns'] }))).toBe('keep S8');
    const lying = { facts: podEnd('Failed'), object: { group: 'apps', kind: 'Deployment' } };
    expect(of(lying, rule(ENDED))).toBe('keep S8');
    expect(of(lying, rule({ states: ['Failed'] }))).toBe('keep S8');
  });

  test('the first rule that is for an object holds, whatever it says of its time', () => {
    const late = rule({ name: 'late', labels: { app: 'ci' }, afterMs: 10 * HOUR_MS });
    const soon = rule({ name: 'soon', namespaces: ['ns'] });
    const { afterMs: _, ...annotated } = rule({ name: 'said' });
    expect(of({ labels: { app: 'ci' } }, late, soon)).toBe('keep S12');
    expect(of({ labels: { app: 'ci' } }, soon, late)).toBe('expire S12 soon');
    expect(of({}, annotated, soon)).toBe('expire S12 soon');
    expect(of({ annotations: { 'janitor/ttl': 'forever' } }, annotated, soon)).toBe('keep S8');
    expect(of({ annotations: { 'janitor/ttl': '3h' } }, annotated, soon)).toBe('keep S8');
  });
});

/** By its own time, which is not over or nobody's work here. */
const judgedByTtl = (facts: ReturnType<typeof jobFacts>): string =>
  words(judge(expiryCandidate({ facts, createdAtMs: 0 }), []));

test('[cluster S13] what does not say when it was made, or when it ended, stays', () => {
  expect(of({ createdAtMs: null }, rule({ namespaces: ['ns'] }))).toBe('keep S13');
  expect(of({ facts: podEnd('Failed', null), createdAtMs: 0 }, rule(ENDED))).toBe('keep S13');
  const unknown = jobFacts({ ttlSecondsAfterFinished: null, finished: { atMs: null, type: 'Failed' } });
  expect(of({ facts: unknown }, rule({ kinds: ['batch/Job'], states: ['Failed'] }))).toBe('keep S13');
});

describe('[cluster S9, S15] what a controller owns stays', () => {
  const owned = { isControlled: true, facts: podEnd('Failed') } as const;

  test('but a pod that has ended goes', () => {
    expect(of(owned, rule(ENDED))).toBe('expire S12 old');
    expect(of({ ...owned, facts: podEnd(null) }, rule({ kinds: ['Pod'], namespaces: ['ns'] }))).toBe(
      'keep S9',
    );
    expect(of({ isControlled: true }, rule({ namespaces: ['ns'] }))).toBe('keep S9');
  });

  test.each([
    ['finished', 'expire S12 old'],
    ['unfinished', 'keep S9'],
    ['unknown', 'keep S9'],
  ] as const)('one of a Job that is %s: %s', (controllingJob, expected) => {
    expect(of({ ...owned, controllingJob }, rule(ENDED))).toBe(expected);
  });
});

const anyRule: fc.Arbitrary<OwnRule> = fc
  .record({
    kinds: fc.subarray(['Pod', 'batch/Job', 'apps/Deployment', 'Secret'], { minLength: 1 }),
    namespaces: fc.constantFrom<string[]>([], ['ns'], ['other']),
    labels: fc.constantFrom(undefined, { app: 'ci' }, { tier: 'x' }),
    states: fc.constantFrom<OwnRule['states'][]>(
      undefined,
      ['Failed'],
      ['Complete'],
      ['Succeeded', 'Evicted'],
    ),
    afterMs: fc.constantFrom(undefined, HOUR_MS, 24 * HOUR_MS),
  })
  .map(({ labels, states, afterMs, ...more }) => ({
    ...rule(more),
    ...(labels !== undefined && { labels }),
    ...(states !== undefined && { states }),
    afterMs,
  }))
  .map(({ afterMs, ...more }) => (afterMs === undefined ? more : { ...more, afterMs }));

const endedOf = ({ facts }: ExpiryCandidate) => (facts.of === 'Pod' ? facts.ended : null);
const finishedOf = ({ facts }: ExpiryCandidate) => (facts.of === 'Job' ? facts.finished : null);
function statesOf(candidate: ExpiryCandidate): readonly unknown[] {
  const state = endedOf(candidate)?.state;
  return state === 'Evicted' ? ['Evicted', 'Failed'] : [state, finishedOf(candidate)?.type];
}

/** Why such a rule may not take a candidate now, told apart from the product's own rules. */
const KEPT_BECAUSE: Readonly<Record<string, (candidate: ExpiryCandidate, by: OwnRule) => boolean>> = {
  kind: ({ object }, { kinds }) =>
    !kinds.includes(object.group === '' ? object.kind : `${object.group}/${object.kind}`),
  namespace: ({ object }, { namespaces }) => namespaces.length > 0 && !namespaces.includes(object.namespace),
  label: ({ labels = {} }, by) =>
    Object.entries(by.labels ?? {}).some(([label, value]) => Reflect.get(labels, label) !== value),
  kept: ({ object }) => object.keptBy !== null || object.deletionTimestamp !== null,
  ttl: ({ object, facts }) =>
    object.kind === 'Job' && facts.of === 'Job' && facts.ttlSecondsAfterFinished !== null,
  controlled: (candidate) => candidate.isControlled === true && endedOf(candidate) === null,
  job: ({ controllingJob }) => controllingJob === 'unfinished' || controllingJob === 'unknown',
  state: (candidate, { states }) =>
    states !== undefined && !states.some((state) => statesOf(candidate).includes(state)),
  age: (candidate, { states, afterMs }) => {
    const ended = endedOf(candidate) ?? finishedOf(candidate);
    const sinceMs = states === undefined ? candidate.createdAtMs : (ended?.atMs ?? null);
    return afterMs === undefined || sinceMs === null || NOW_MS - sinceMs < afterMs;
  },
};
const keptBecause = (candidate: ExpiryCandidate, by: OwnRule): readonly string[] =>
  Object.entries(KEPT_BECAUSE).flatMap(([because, isKept]) => (isKept(candidate, by) ? [because] : []));

test('[cluster S9, S12, S13, S14, S15] no rule by age takes what it is not for, what is kept or controlled, or anything before its time', () => {
  let taken = 0;
  fc.assert(
    fc.property(AnyExpiring, fc.array(anyRule, { minLength: 1, maxLength: 3 }), (candidate, rules) => {
      const named = rules.map((each, index) => ({ ...each, name: `r${index}` }));
      const outcome = judge(candidate, named);
      if (outcome.kind !== 'act' || outcome.rule !== 'S12') return;
      taken++;
      const by = named.find(({ name }) => name === outcome.act.ownRule);
      expect(by && keptBecause(candidate, by)).toEqual([]);
    }),
    runs(2_000),
  );
  if (!isQuickRun()) expect(taken).toBeGreaterThan(0);
});

test('what a collector of the policy deletes is no matter of rules by age', () => {
  const job = expiryCandidate({ facts: jobFacts(), createdAtMs: 0 });
  const settings = { ...SETTINGS, collectors: [...Collector.options], rules: [rule({ namespaces: ['ns'] })] };
  const outcome = conclude(job, settings, { nowMs: NOW_MS, shareOf: () => null });
  expect(words(outcome)).toBe('expire K4 undefined');
});
