import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentHash } from '../../../../packages/canonical/ids.ts';
import {
  type Circumstances,
  conclude,
  type ExpiryOutcome,
  type ExpirySettings,
} from '../../../../packages/deciders/expiry-gc/rules/conclude.ts';
import { isTooMuch, type Share } from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import { Approvals } from '../../../../packages/decision/approvals.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import { Collector } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { approval, approvedObjects, approvedPods, approvedRule } from '../../../fixtures/approval.ts';
import {
  expiryCandidate,
  HOUR_MS,
  jobFacts,
  MINUTE_MS,
  NOW_MS,
  requestFacts,
} from '../../../fixtures/expiry.ts';
import { AnyExpiring } from './support/any-expiring.ts';
import { upstreamDeletes } from './support/by-the-book.ts';

const settings = (over: Partial<ExpirySettings> = {}): ExpirySettings => ({
  profile: 'fleetgc',
  keep: { namespaces: [], kinds: [] },
  heldKinds: [],
  collectors: [...Collector.options],
  approved: new Approvals([]),
  ...over,
});
const UPSTREAM = settings({ profile: 'kubernetes' });

const at = (nowMs: number, share: Share | null = { over: 1, objects: 1 }): Circumstances => ({
  nowMs,
  shareOf: () => share,
});

/** `expire Foreground K4`, `keep K1`. */
function words(outcome: ExpiryOutcome): string {
  return outcome.kind === 'act'
    ? `${outcome.act.action} ${outcome.act.propagation} ${outcome.rule}`
    : `${outcome.kind} ${outcome.rule}`;
}
const of = (candidate: ExpiryCandidate, by: ExpirySettings = settings(), nowMs = NOW_MS): string =>
  words(conclude(candidate, by, at(nowMs)));
const ofJob = (over: Parameters<typeof jobFacts>[0]): string =>
  of(expiryCandidate({ facts: jobFacts(over) }));

describe('a Job', () => {
  test('[cluster K1] goes only if it has a TTL, is finished, and is not being deleted', () => {
    expect(ofJob({ ttlSecondsAfterFinished: null })).toBe('keep K1');
    expect(ofJob({ finished: null })).toBe('keep K1');
    expect(of(expiryCandidate({ object: { deletionTimestamp: '2026-11-01T00:00:00Z' } }))).toBe('keep K1');
    expect(ofJob({ ttlSecondsAfterFinished: 0 })).toBe('expire Foreground K4');
  });

  test('[cluster K2] whose time of finish cannot be read stays', () => {
    expect(ofJob({ finished: { atMs: null } })).toBe('keep K1');
  });

  test('[cluster K4, K6] goes foreground from the end of its TTL on, and not a millisecond before', () => {
    const finished = { atMs: NOW_MS - 60_000 };
    expect(ofJob({ finished, ttlSecondsAfterFinished: 60 })).toBe('expire Foreground K4');
    expect(ofJob({ finished: { atMs: NOW_MS - 59_999 }, ttlSecondsAfterFinished: 60 })).toBe('keep K4');
  });

  test('[cluster K4] whose finish lies in the future only waits', () => {
    expect(ofJob({ finished: { atMs: NOW_MS + 1 }, ttlSecondsAfterFinished: 0 })).toBe('keep K4');
  });
});

const request = (over: Parameters<typeof requestFacts>[0], createdAtMs: number | null = NOW_MS): string =>
  of(expiryCandidate({ facts: requestFacts(over), createdAtMs }));
const answered = (type: string, agoMs: number) => ({ conditions: [{ type, updatedAtMs: NOW_MS - agoMs }] });
const LIVE = { is: 'there', notAfterMs: NOW_MS + HOUR_MS } as const;

describe('a certificate request', () => {
  test('[cluster L1] has to be older than a limit, and a time that is not there is not old', () => {
    expect(request({ ...answered('Denied', HOUR_MS) })).toBe('keep L3');
    expect(request({ ...answered('Denied', HOUR_MS + 1) })).toBe('expire Background L3');
    expect(request({ conditions: [{ type: 'Denied', updatedAtMs: null }] })).toBe('keep L1');
    expect(request({}, null)).toBe('keep L1');
  });

  test('[cluster L2] goes an hour after it was approved, if it has a certificate', () => {
    expect(request({ ...answered('Approved', HOUR_MS + 1), certificate: LIVE })).toBe('expire Background L2');
    expect(request({ ...answered('Approved', HOUR_MS), certificate: LIVE })).toBe('keep L2');
    expect(request({ ...answered('Approved', HOUR_MS + 1) })).toBe('keep L7');
  });

  test.each(['Denied L3', 'Failed L4'])('[cluster L3, L4] goes an hour after it was %s', (row) => {
    const [type = '', rule = ''] = row.split(' ');
    expect(request({ ...answered(type, HOUR_MS + 1) })).toBe(`expire Background ${rule}`);
    expect(request({ ...answered(type, HOUR_MS) })).toBe(`keep ${rule}`);
  });

  test('[cluster L5] goes after a day without any condition', () => {
    expect(request({}, NOW_MS - 24 * HOUR_MS - 1)).toBe('expire Background L5');
    expect(request({}, NOW_MS - 24 * HOUR_MS)).toBe('keep L5');
    expect(request({ conditions: [{ type: 'Else', updatedAtMs: null }] }, 0)).toBe('keep L1');
  });

  test('[cluster L6] goes when its certificate has ended; one that cannot be parsed does not end', () => {
    const approved = answered('Approved', MINUTE_MS);
    const ended = { is: 'there', notAfterMs: NOW_MS - 1 } as const;
    expect(request({ ...approved, certificate: ended })).toBe('expire Background L6');
    expect(request({ ...approved, certificate: { is: 'there', notAfterMs: NOW_MS } })).toBe('keep L6');
    expect(request({ ...approved, certificate: { is: 'unreadable' } })).toBe('keep L2');
    const long = answered('Approved', HOUR_MS + 1);
    expect(request({ ...long, certificate: { is: 'unreadable' } })).toBe('expire Background L2');
    expect(request({ certificate: ended })).toBe('keep L5');
  });

  test('[cluster L7] goes after a day without the certificate that was approved, in profile fleetgc', () => {
    const waiting = requestFacts(answered('Approved', 24 * HOUR_MS + 1));
    expect(of(expiryCandidate({ facts: waiting }))).toBe('expire Background L7');
    expect(of(expiryCandidate({ facts: waiting }), UPSTREAM)).toBe('keep L1');
  });

  test('[cluster L9] of a pod goes a quarter of an hour after its creation', () => {
    const ofPod = (createdAtMs: number | null): string =>
      of(expiryCandidate({ facts: { of: 'PodCertificateRequest' }, createdAtMs }));
    expect(ofPod(NOW_MS - 15 * MINUTE_MS)).toBe('expire Background L9');
    expect(ofPod(NOW_MS - 15 * MINUTE_MS + 1)).toBe('keep L9');
    expect(ofPod(null)).toBe('keep L9');
  });
});

describe('[cluster S2, S5] what is over stays all the same', () => {
  test.each<[string, Partial<ExpirySettings>, Partial<ExpiryCandidate['object']>]>([
    ['keep S5', {}, { keptBy: 'object' }],
    ['keep S5', {}, { keptBy: 'namespace' }],
    ['keep S5', { keep: { namespaces: ['ns'], kinds: [] } }, {}],
    ['keep S5', { keep: { namespaces: [], kinds: ['batch/Job'] } }, {}],
    ['hold S2', { heldKinds: ['batch/Job'] }, {}],
  ])('%s', (expected, over, object) => {
    expect(of(expiryCandidate({ object }), settings(over))).toBe(expected);
    expect(of(expiryCandidate({ object }), { ...settings(over), profile: 'kubernetes' })).toBe(
      'expire Foreground K4',
    );
  });
});

test('an object of another kind than its facts stays', () => {
  expect(of(expiryCandidate({ object: { group: '', kind: 'Secret' } }))).toBe('keep K1');
  expect(of(expiryCandidate({ object: { group: 'example.com' } }))).toBe('keep K1');
});

test('[cluster K4, L1] in profile kubernetes goes what upstream deletes, and nothing earlier', () => {
  fc.assert(
    fc.property(AnyExpiring, (candidate) => {
      const outcome = conclude(candidate, UPSTREAM, at(NOW_MS));
      const expected = candidate.object.kind === 'Secret' ? null : upstreamDeletes(candidate, NOW_MS);
      expect(outcome.kind === 'act' ? outcome.act.propagation : null).toBe(expected);
    }),
  );
});

test('[cluster K4, L1] what goes now goes at any later time too, and nothing that is kept by list ever goes', () => {
  fc.assert(
    fc.property(AnyExpiring, fc.nat(10 * HOUR_MS), (candidate, laterByMs) => {
      const now = conclude(candidate, settings(), at(NOW_MS));
      if (now.kind === 'act')
        expect(conclude(candidate, settings(), at(NOW_MS + laterByMs)).kind).toBe('act');
      if (candidate.object.keptBy !== null) expect(now.kind).toBe('keep');
    }),
  );
});

const RULE: OwnRule = {
  name: 'old',
  kinds: [
    'apps/Deployment',
    'batch/Job',
    'Namespace',
    'PersistentVolumeClaim',
    'rbac.authorization.k8s.io/Role',
    'project.openshift.io/Project',
    'authorization.openshift.io/RoleBinding',
  ],
  namespaces: [],
  propagation: 'Orphan',
  removalsPerHour: 100,
};
const OWN = settings({ collectors: [], rules: [RULE] });
type Over = Parameters<typeof expiryCandidate>[0];
const annotated = (over: Over = {}): ExpiryCandidate =>
  expiryCandidate({ facts: { of: 'object' }, annotations: { 'fleetgc.io/ttl': '1h' }, ...over });
const ofOwn = (over: Over = {}, by: Partial<ExpirySettings> = {}, share?: Share | null): string =>
  words(conclude(annotated(over), { ...OWN, ...by }, at(NOW_MS, share)));

describe('[cluster S8] an object goes when its annotations say so, and a rule of the policy is for it', () => {
  test('by its own rule, and in the way that this one says', () => {
    expect(ofOwn()).toBe('expire Orphan S8');
    expect(ofOwn({}, { rules: undefined })).toBe('keep S8');
    expect(ofOwn({}, { rules: [{ ...RULE, kinds: ['Secret'] }] })).toBe('keep S8');
    expect(ofOwn({}, { rules: [{ ...RULE, namespaces: ['other'] }] })).toBe('keep S8');
    expect(ofOwn({}, { rules: [{ ...RULE, namespaces: ['ns'] }] })).toBe('expire Orphan S8');
    expect(ofOwn({ object: { deletionTimestamp: '2026-11-01T00:00:00Z' } })).toBe('keep S8');
  });

  test.each<[string, NonNullable<ExpiryCandidate['annotations']>, string]>([
    ['a time to live that is over', { 'janitor/ttl': '1h30m' }, 'expire Orphan S8'],
    ['one that is over just now', { 'fleetgc.io/ttl': '7200s' }, 'expire Orphan S8'],
    ['one that is not over', { 'fleetgc.io/ttl': '7201s' }, 'keep S8'],
    ['the one that ends first', { 'fleetgc.io/ttl': '1w', 'janitor/ttl': '1m' }, 'expire Orphan S8'],
    ['one without end', { 'janitor/ttl': 'forever' }, 'keep S8'],
    ['none at all', { 'janitor/ttl': '0s' }, 'keep S8'],
    ['what is no duration', { 'fleetgc.io/ttl': '1h; rm' }, 'keep S8'],
    ['a day that has begun', { 'janitor/expires': '2027-01-15' }, 'expire Orphan S8'],
    ['a minute that has begun', { 'janitor/expires': '2027-01-15T08:00' }, 'expire Orphan S8'],
    ['a second to come', { 'janitor/expires': '2027-01-15T08:00:01Z' }, 'keep S8'],
    ['no time', { 'janitor/expires': '2027-13-45' }, 'keep S8'],
  ])('%s', (_, annotations, expected) => {
    expect(new Date(NOW_MS).toISOString()).toBe('2027-01-15T08:00:00.000Z');
    expect(ofOwn({ annotations })).toBe(expected);
  });

  test('and stays without the time of its creation, from which its time to live counts', () => {
    expect(ofOwn({ createdAtMs: null })).toBe('keep S8');
  });

  test('what is the work of another collector goes by the rule', () => {
    const job = { facts: jobFacts(), annotations: { 'janitor/ttl': '1h' } } as const;
    expect(ofOwn(job)).toBe('expire Orphan S8');
    expect(ofOwn(job, { collectors: ['ttl-after-finished-controller'] })).toBe('expire Foreground K4');
    expect(ofOwn(job, { rules: undefined })).toBe('expire Foreground K4');
  });
});

const FORBIDDEN: readonly Over[] = [
  { object: { group: '', kind: 'Namespace', namespace: '' } },
  { object: { group: '', kind: 'PersistentVolumeClaim' } },
  { object: { group: 'rbac.authorization.k8s.io', kind: 'Role' } },
  { object: { group: 'project.openshift.io', kind: 'Project', namespace: '' } },
  { object: { group: 'authorization.openshift.io', kind: 'RoleBinding' } },
  { object: { namespace: 'kube-system' } },
  { object: { namespace: 'fleetgc' } },
  { isControlled: true },
];

test('[cluster S9] whatever a rule says, some kinds and namespaces stay, and what a controller owns', () => {
  for (const over of FORBIDDEN) expect(ofOwn(over)).toBe('keep S9');
  expect(ofOwn({ object: { namespace: 'fleetgcs' } })).toBe('expire Orphan S8');
});

test('[cluster S2, S5] keep list, annotation and held kinds hold what a rule would take, in every profile', () => {
  for (const profile of ['fleetgc', 'kubernetes'] as const) {
    expect(ofOwn({ object: { keptBy: 'namespace' } }, { profile })).toBe('keep S5');
    expect(ofOwn({}, { profile, keep: { namespaces: ['ns'], kinds: [] } })).toBe('keep S5');
    expect(ofOwn({}, { profile, heldKinds: ['apps/Deployment'] })).toBe('hold S2');
  }
});

test('[cluster S11] a rule that would take a tenth of a kind is held, and so is one of which nobody counted', () => {
  expect(ofOwn({}, {}, { over: 10, objects: 100 })).toBe('hold S11');
  expect(ofOwn({}, {}, { over: 10, objects: 101 })).toBe('expire Orphan S8');
  expect(ofOwn({}, {}, { over: 9, objects: 9 })).toBe('expire Orphan S8');
  expect(ofOwn({}, {}, null)).toBe('hold S11');
});

test('[cluster S11] a rule may say from which part of a kind on it is held, or that nothing is', () => {
  const of = (heldFromPercent: number, share: Share | null): string =>
    ofOwn({}, { rules: [{ ...RULE, heldFromPercent }] }, share);
  expect(of(50, { over: 49, objects: 100 })).toBe('expire Orphan S8');
  expect(of(50, { over: 50, objects: 100 })).toBe('hold S11');
  expect(of(1, { over: 9, objects: 9 })).toBe('expire Orphan S8');
  expect(of(100, { over: 100, objects: 100 })).toBe('hold S11');
  expect(of(0, { over: 100, objects: 100 })).toBe('expire Orphan S8');
  expect(of(0, null)).toBe('expire Orphan S8');
});

describe('[cluster S7, S11] an approval of a rule lets go what it took of a kind, as it was', () => {
  const KIND = 'apps/Deployment';
  const approving = (...what: readonly Approved[]): Partial<ExpirySettings> => ({
    approved: new Approvals(what.map((each) => approval(each))),
  });
  const SEEN = { over: 40, objects: 100 };
  /** Over for an hour. */
  const ENDED_MS = NOW_MS - HOUR_MS;

  test.each<[string, Approved[], string]>([
    ['as many as were over', [approvedRule(RULE, KIND, 40)], 'expire Orphan S8'],
    ['more than are over now', [approvedRule(RULE, KIND, 41)], 'expire Orphan S8'],
    ['one less: it has grown', [approvedRule(RULE, KIND, 39)], 'hold S11'],
    ['what was over just then', [approvedRule(RULE, KIND, 40, ENDED_MS)], 'expire Orphan S8'],
    ['what was over before', [approvedRule(RULE, KIND, 40, ENDED_MS - 1)], 'hold S11'],
    ['another rule', [approvedRule({ ...RULE, name: 'other' }, KIND, 40)], 'hold S11'],
    [
      'the rule as it was before it was changed',
      [approvedRule({ ...RULE, namespaces: ['x'] }, KIND, 40)],
      'hold S11',
    ],
    ['another kind', [approvedRule(RULE, 'batch/Job', 40)], 'hold S11'],
    ['the object itself, as one of a held kind', [approvedObjects(KIND, 'x')], 'hold S11'],
    ['pods of missing nodes', [approvedPods(40)], 'hold S11'],
    ['nothing', [], 'hold S11'],
  ])('%s', (_, approved, expected) => {
    expect(ofOwn({}, approving(...approved), SEEN)).toBe(expected);
  });

  test('and nothing of which nobody counted, and nothing that is held by its kind besides', () => {
    const approved = approving(approvedRule(RULE, KIND, 5_000));
    expect(ofOwn({}, approved, null)).toBe('hold S11');
    const heldKinds = [KIND];
    expect(ofOwn({}, { ...approved, heldKinds }, SEEN)).toBe('hold S2');
    const both = approving(approvedRule(RULE, KIND, 40), approvedObjects(KIND, 'x'));
    expect(ofOwn({}, { ...both, heldKinds }, SEEN)).toBe('expire Orphan S8');
    expect(ofOwn({}, { ...approving(approvedObjects(KIND, 'x')), heldKinds }, SEEN)).toBe('hold S11');
  });

  test('the record names what let it go', () => {
    const by = { ...OWN, ...approving(approvedRule(RULE, KIND, 40)) };
    expect(conclude(annotated(), by, at(NOW_MS, SEEN)).facts).toMatchObject({ approvals: 'approval-1' });
    const few = conclude(annotated(), by, at(NOW_MS, { over: 1, objects: 100 }));
    expect(few.facts).not.toHaveProperty('approvals');
  });

  test('[cluster S2] an object of a held kind that a collector deletes goes when it is approved itself', () => {
    const heldKinds = ['batch/Job'];
    const approved = approving(approvedObjects('batch/Job', 'x'));
    expect(of(expiryCandidate(), settings({ ...approved, heldKinds }))).toBe('expire Foreground K4');
    const other = expiryCandidate({ object: { uid: 'y' } });
    expect(of(other, settings({ ...approved, heldKinds }))).toBe('hold S2');
  });

  test('whatever is approved, nothing goes that stays without a hold, nor more than was approved', () => {
    const anyApproved = fc.record({
      rule: fc.constantFrom('old', 'other'),
      ofKind: fc.constantFrom(KIND, 'batch/Job', 'Secret'),
      objects: fc.integer({ min: 1, max: 60 }),
      overByMs: fc.constantFrom(NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS, NOW_MS),
      ruleSha256: fc.constantFrom(contentHash(RULE), contentHash(RULE), contentHash({ ...RULE, labels: {} })),
    });
    const anyShare = fc.option(fc.record({ over: fc.nat(60), objects: fc.nat(200) }));
    fc.assert(
      fc.property(AnyExpiring, fc.array(anyApproved, { maxLength: 3 }), anyShare, (given, all, share) => {
        const approved = approving(...all.map((each) => ({ kind: 'rule' as const, ...each })));
        const outcome = conclude(given, { ...OWN, ...approved }, at(NOW_MS, share));
        if (outcome.kind !== 'act' || outcome.act.ownRule === undefined) return;
        const free = { ...OWN, rules: [{ ...RULE, heldFromPercent: 0 }] };
        expect(words(conclude(given, free, at(NOW_MS, share)))).toBe(words(outcome));
        if (share !== null && !isTooMuch(RULE, share)) return;
        const { kind, group } = given.object;
        const letting = all.filter(
          (each) =>
            each.rule === 'old' &&
            each.ruleSha256 === contentHash(RULE) &&
            each.ofKind === (group === '' ? kind : `${group}/${kind}`) &&
            each.objects >= (share?.over ?? Number.POSITIVE_INFINITY) &&
            each.overByMs >= Number(outcome.facts.dueAtMs),
        );
        expect(letting).not.toEqual([]);
      }),
    );
  });
});

test('[cluster S8, S9] no rule takes what is forbidden or kept, or anything before its time', () => {
  const anyTtl = fc.constantFrom('1h', '7201s', '2h', '3h', 'forever', '', '7d', '2027-01-15');
  const someObject = fc.record({
    namespace: fc.constantFrom('ns', 'kube-public', 'fleetgc-test'),
    kind: fc.constantFrom('Deployment', 'Namespace', 'Node', 'Other'),
    group: fc.constantFrom('', 'apps', 'rbac.authorization.k8s.io'),
    keptBy: fc.constantFrom(null, null, 'object' as const),
  });
  fc.assert(
    fc.property(someObject, anyTtl, fc.boolean(), fc.boolean(), (object, ttl, isControlled, expires) => {
      const annotations = expires ? { 'janitor/expires': ttl } : { 'janitor/ttl': ttl };
      const kinds = [object.group === '' ? object.kind : `${object.group}/${object.kind}`];
      const candidate = annotated({ object, annotations, isControlled });
      const outcome = conclude(candidate, { ...OWN, rules: [{ ...RULE, kinds }] }, at(NOW_MS));
      if (outcome.kind !== 'act') return;
      expect(['1h', '2h', '2027-01-15']).toContain(ttl);
      expect([object.namespace, object.keptBy, isControlled]).toEqual(['ns', null, false]);
      expect(object.group).not.toBe('rbac.authorization.k8s.io');
      expect(kinds).not.toContain('Namespace');
      expect(kinds).not.toContain('Node');
    }),
  );
});
