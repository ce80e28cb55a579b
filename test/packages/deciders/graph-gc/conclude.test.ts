import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conclude } from '../../../../packages/deciders/graph-gc/rules/conclude.ts';
import type { Outcome } from '../../../../packages/deciders/graph-gc/rules/outcome.ts';
import type { OwnershipSettings } from '../../../../packages/deciders/graph-gc/rules/settings.ts';
import { Approvals } from '../../../../packages/decision/approvals.ts';
import type {
  Cascade,
  OwnershipCandidate,
  OwnershipReference,
} from '../../../../schemas/events/ownership.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import { HELD_KINDS } from '../../../../schemas/policy/cluster-policy-defaults.ts';
import { approval, approvedObjects, approvedOwner, approvedOwners } from '../../../fixtures/approval.ts';
import { candidate, owner } from '../../../fixtures/ownership.ts';
import { runs } from '../../../support/property-runs.ts';
import { AnyCandidate } from './support/any-candidate.ts';

const settings = (over: Partial<OwnershipSettings> = {}): OwnershipSettings => ({
  profile: 'fleetgc',
  limits: { cascade: 1_000, cascadeOfKind: 5_000 },
  heldKinds: new Set(HELD_KINDS),
  keep: { namespaces: new Set(), kinds: new Set() },
  approved: new Approvals([]),
  ...over,
});
const approving = (...what: readonly Approved[]): OwnershipSettings =>
  settings({ approved: new Approvals(what.map((each) => approval(each))) });
const cascade = (ownerUid: string, objects: number, ofKind: number): Cascade => ({
  ownerUid,
  ownerKind: 'ConfigMap',
  objects,
  ofKind,
  within: null,
});
const UPSTREAM = settings({ profile: 'kubernetes' });
const BOTH = [settings(), UPSTREAM];
const of = (given: OwnershipCandidate, by: OwnershipSettings = settings(), wentBack = false): Outcome =>
  conclude(given, by, { wentBack });

/** In words: `delete Background D14`, `drop a,b D11`, `finish orphan E3`, `keep D10`. */
function words(outcome: Outcome): string {
  if (outcome.kind !== 'act') return `${outcome.kind} ${outcome.rule}`;
  const { act, rule } = outcome;
  if (act.action === 'delete') return `delete ${act.propagation}${act.unblock ? ' unblocked' : ''} ${rule}`;
  if (act.action === 'drop-references') return `drop ${act.ownerUids.join(',')} ${rule}`;
  return `finish ${act.finalizer} ${rule}`;
}
const confirmed = (outcome: Outcome): string[] =>
  outcome.kind === 'act' ? outcome.confirm.map(({ owner: { uid }, is }) => `${uid} ${is}`) : [];
const withStates = (...states: OwnershipReference['state'][]): OwnershipCandidate =>
  candidate({ references: states.map((state) => owner(state, { state })) });

describe('[cluster D10] an object that is not being deleted', () => {
  test.each<[OwnershipReference['state'][], string, string[]]>([
    [[], 'keep D7', []],
    [['held'], 'keep D10', []],
    [['gone'], 'delete Background D14', ['gone absent']],
    [['unseen'], 'delete Background D14', ['unseen absent']],
    [['unlisted'], 'delete Background D14', ['unlisted absent']],
    [['waiting'], 'delete Background D14', ['waiting waiting']],
    [['waiting', 'gone'], 'delete Background D14', ['gone absent', 'waiting waiting']],
    [['held', 'gone'], 'drop gone D11', ['gone absent']],
    [['held', 'waiting', 'gone'], 'drop gone,waiting D11', ['gone absent', 'waiting waiting']],
    [['orphaning', 'gone'], 'drop orphaning E1', []],
    [['gone', 'scope'], 'keep H2', []],
    [['gone', 'unresolved'], 'keep D9', []],
    [['gone', 'pending'], 'keep I10', []],
  ])(
    '[cluster D7, D9, D11, D14, E1, H2, I10] with owners %j: %s, in both profiles',
    (states, what, confirm) => {
      for (const by of BOTH) {
        const outcome = of(withStates(...states), by);
        expect(words(outcome)).toBe(what);
        expect(confirmed(outcome)).toEqual(confirm);
      }
    },
  );

  test('[cluster D12, D13, G7] with dependents of its own it goes foreground while its owner waits', () => {
    const dependents = { count: 2, blocking: 1, oneWaits: false };
    const waits = { ...withStates('waiting'), dependents };
    expect(words(of(waits))).toBe('delete Foreground D13');
    expect(words(of({ ...waits, dependents: { ...dependents, oneWaits: true } }))).toBe(
      'delete Foreground unblocked D12',
    );
    expect(words(of({ ...withStates('gone'), dependents }))).toBe('delete Background D14');
  });

  test.each([
    [['orphan'], 'Orphan'],
    [['foregroundDeletion'], 'Foreground'],
    [['orphan', 'foregroundDeletion'], 'Orphan'],
    [['other'], 'Background'],
  ])('[cluster D14] with finalizers %j it goes %s', (finalizers, propagation) => {
    const given = candidate({ references: [owner('o', { state: 'gone' })], object: { finalizers } });
    expect(words(of(given))).toBe(`delete ${propagation} D14`);
  });
});

describe('an object that is being deleted', () => {
  const deleting = (finalizers: string[], count = 0, blocking = 0): OwnershipCandidate =>
    candidate({
      object: { deletionTimestamp: '2026-11-01T00:00:00Z', finalizers },
      references: [owner('o', { state: 'gone' })],
      dependents: { count, blocking, oneWaits: false },
    });

  test.each([
    [deleting([]), 'keep D3'],
    [deleting(['other']), 'keep D3'],
    [deleting(['orphan']), 'finish orphan E3'],
    [deleting(['orphan', 'foregroundDeletion']), 'finish orphan E3'],
    [deleting(['orphan'], 1), 'keep E3'],
    [deleting(['foregroundDeletion']), 'finish foregroundDeletion D17'],
    [deleting(['foregroundDeletion'], 3), 'finish foregroundDeletion D17'],
    [deleting(['foregroundDeletion'], 3, 1), 'keep D17'],
  ])('[cluster D3, D17, E3] %#: %s', (given, what) => {
    for (const by of BOTH) expect(words(of(given, by))).toBe(what);
  });

  test.each(['held', 'gone', 'scope', 'unresolved', 'pending'] as const)(
    '[cluster D6] is judged by its dependents alone, with an owner that is %s',
    (state) => {
      const references = [owner('o', { state })];
      const judged = [0, 1].map((blocking) => ({
        ...deleting(['foregroundDeletion'], 1, blocking),
        references,
      }));
      for (const by of BOTH)
        expect(judged.map((given) => words(of(given, by)))).toEqual([
          'finish foregroundDeletion D17',
          'keep D17',
        ]);
    },
  );
});

const gone = (over: Partial<OwnershipReference> = {}): OwnershipReference =>
  owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false }, ...over });
const leaves = (
  references: OwnershipReference[],
  over: Parameters<typeof candidate>[0] = {},
): OwnershipCandidate => candidate({ references, ...over });

describe('in profile fleetgc', () => {
  test('[cluster S4, H1] a copied Secret stays, and upstream deletes it', () => {
    const copied = withStates('elsewhere');
    expect([words(of(copied)), words(of(copied, UPSTREAM))]).toEqual(['keep S4', 'delete Background D14']);
    const both = withStates('elsewhere', 'gone');
    expect([words(of(both)), words(of(both, UPSTREAM))]).toEqual(['drop gone D11', 'delete Background D14']);
    expect(words(of(withStates('held', 'elsewhere')))).toBe('keep D10');
  });

  test('[cluster S6, E4] a dependent that came after its owner orphaned lives', () => {
    const late = leaves([gone({ gone: { how: 'watched', orphaned: true } }), owner('p', { state: 'gone' })]);
    expect([words(of(late)), words(of(late, UPSTREAM))]).toEqual(['drop o S6', 'delete Background D14']);
    expect(confirmed(of(late))).toEqual(['o absent']);
  });

  test.each(['mass-relisted', 'kind-going'] as const)(
    '[cluster S3] an owner that went as %s holds',
    (how) => {
      const doubtful = leaves([gone({ gone: { how, orphaned: false } })], { cascades: [cascade('o', 3, 4)] });
      expect([words(of(doubtful)), words(of(doubtful, UPSTREAM))]).toEqual([
        'hold S3',
        'delete Background D14',
      ]);
      const approvals = [approvedOwner('o', 3), approvedOwners('ConfigMap', 4)];
      expect(approvals.map((what) => words(of(doubtful, approving(what))))).toEqual([
        'delete Background D14',
        'delete Background D14',
      ]);
      const others = [approvedOwner('p', 3), approvedOwner('o', 2), approvedOwners('ConfigMap', 3)];
      expect(others.map((what) => words(of(doubtful, approving(what))))).toEqual(others.map(() => 'hold S3'));
      const held = leaves([...doubtful.references, owner('p', { state: 'held' })]);
      expect(words(of(held))).toBe('hold S3');
    },
  );

  test('[cluster S16] many objects at once whose missing owners have namesakes are held, until an approval names the owner', () => {
    const restored = (withNamesakes: number) =>
      leaves([owner('o', { state: 'unseen', namesakeUid: 'new' })], {
        cascades: [cascade('o', 3, 4)],
        withNamesakes,
      });
    expect([9, 10].map((count) => words(of(restored(count))))).toEqual(['delete Background D14', 'hold S16']);
    expect(of(restored(10)).facts).toMatchObject({ namesakeUid: 'new', ownerUid: 'o', objects: 3 });
    expect(words(of(restored(10), UPSTREAM))).toBe('delete Background D14');
    expect(words(of(restored(10), approving(approvedOwner('o', 3))))).toBe('delete Background D14');
    expect(words(of(restored(10), approving(approvedOwner('o', 3, { name: 'other' }))))).toBe('hold S16');
  });

  test('[cluster S3] after a restore nothing is done at all', () => {
    const finishing = candidate({
      object: { deletionTimestamp: '2026-11-01T00:00:00Z', finalizers: ['orphan'] },
    });
    const all = [withStates('gone'), withStates('held', 'gone'), withStates('orphaning'), finishing];
    expect(all.map((each) => of(each, settings(), true).kind)).toEqual(['hold', 'hold', 'hold', 'hold']);
    expect(all.map((each) => of(each, UPSTREAM, true).kind)).toEqual(['act', 'act', 'act', 'act']);
  });

  test.each([...HELD_KINDS])('[cluster S2] a %s is held', (kind) => {
    const [name = '', group = ''] = kind.split('/').toReversed();
    const given = leaves([gone()], { object: { kind: name, group, namespaced: false, namespace: '' } });
    expect([words(of(given)), words(of(given, UPSTREAM))]).toEqual(['hold S2', 'delete Background D14']);
    const alsoHeld = leaves([gone(), owner('p', { state: 'held' })], { object: given.object });
    expect(words(of(alsoHeld))).toBe('drop o D11');
  });

  test('[cluster S5] what bears the annotation, or is on the keep list, stays as it is', () => {
    const given = leaves([gone()]);
    const by = settings({ keep: { namespaces: new Set(['kept']), kinds: new Set(['apps/StatefulSet']) } });
    const kept = [
      leaves([gone()], { object: { keptBy: 'object' } }),
      leaves([gone()], { object: { keptBy: 'namespace' } }),
      leaves([gone()], { object: { namespace: 'kept' } }),
      leaves([gone()], { object: { group: 'apps', kind: 'StatefulSet' } }),
    ];
    expect(words(of(given, by))).toBe('delete Background D14');
    expect(kept.map((each) => words(of(each, by)))).toEqual(kept.map(() => 'keep S5'));
    expect(kept.map((each) => words(of(each, UPSTREAM)))).toEqual(kept.map(() => 'delete Background D14'));
  });

  test.each([
    [1_000, 5_000, 'delete Background D14'],
    [1_001, 1_001, 'hold S1'],
    [1, 5_001, 'hold S1'],
  ])('[cluster S1] a cascade of %i objects, %i of its kind: %s', (objects, ofKind, what) => {
    const given = leaves([gone()], { cascades: [cascade('o', objects, ofKind)] });
    expect([words(of(given)), words(of(given, UPSTREAM))]).toEqual([what, 'delete Background D14']);
  });
});

describe('[cluster S7] an approval ends the hold that it names, and no other', () => {
  const wide = leaves([gone()], { cascades: [cascade('o', 1_200, 6_000)] });
  const namespace = { kind: 'Namespace', name: 'n', uid: 'n' };
  const ofHeldKind = leaves([gone()], { object: namespace, cascades: [cascade('o', 1_200, 6_000)] });
  const GOES = 'delete Background D14';
  const ROOT = { uid: 'root', kind: 'apps/Deployment', namespace: 'ns', name: 'name-root' };

  test.each([
    [[approvedOwner('o', 1_200)], GOES],
    [[approvedOwner('o', 1_199)], 'hold S1'],
    [[approvedOwner('p', 9_000)], 'hold S1'],
    [[approvedOwners('ConfigMap', 6_000)], GOES],
    [[approvedOwners('ConfigMap', 5_999)], 'hold S1'],
    [[approvedOwners('Secret', 9_000)], 'hold S1'],
    [[approvedObjects('ConfigMap', 'x', 'o')], 'hold S1'],
    [[], 'hold S1'],
  ])('[cluster S1] %j: %s', (approved, what) => {
    expect(words(of(wide, approving(...approved)))).toBe(what);
  });

  test.each([
    [[approvedOwner('o', 1_200), approvedOwners('ConfigMap', 6_000)], 'hold S2'],
    [[approvedOwners('Namespace', 6_000), approvedOwner('n', 6_000)], 'hold S2'],
    [[approvedObjects('Namespace', 'm', 'n')], 'hold S1'],
    [[approvedObjects('Namespace', 'm'), approvedOwner('o', 1_200)], 'hold S2'],
    [[approvedObjects('Namespace', 'm', 'n'), approvedOwner('o', 1_200)], GOES],
  ])('[cluster S2] %j: %s', (approved, what) => {
    expect(words(of(ofHeldKind, approving(...approved)))).toBe(what);
  });

  test('one owner lets nothing go that another one holds, be it narrower', () => {
    const both = leaves([gone(), owner('p', { state: 'gone' })], {
      cascades: [cascade('o', 1_200, 2), cascade('p', 1_100, 2)],
    });
    expect(words(of(both, approving(approvedOwner('o', 1_200))))).toBe('hold S1');
    expect(words(of(both, approving(approvedOwner('o', 1_200), approvedOwner('p', 1_100))))).toBe(GOES);
  });

  test.each<readonly [string, Partial<Extract<Approved, { kind: 'owner' }>>]>([
    ['name', { name: 'payments-db' }],
    ['namespace', { namespace: 'shop' }],
    ['scope', { namespace: '' }],
    ['kind', { ownerKind: 'Secret' }],
  ])(
    'an approval that shows another %s under the uid of the owner lets nothing go, and the record names it',
    (_, over) => {
      const shown = approvedOwner('o', 9_000, over);
      const outcome = of(wide, approving(shown));
      expect(words(outcome)).toBe('hold S1');
      expect(outcome.facts).toMatchObject({ shownOtherwise: 'approval-1' });
    },
  );

  test('an approval of an owner that dependents describe differently lets nothing go', () => {
    const two = leaves([gone(), { ...gone(), name: 'payments-db' }], { cascades: [cascade('o', 1_200, 2)] });
    expect(words(of(two, approving(approvedOwner('o', 9_000))))).toBe('hold S1');
  });

  test('what goes with an owner goes with the approval of that one too, as wide as it was', () => {
    const deeper = leaves([gone()], {
      cascades: [{ ...cascade('o', 1_200, 6_000), within: ROOT }],
    });
    const root = { ...ROOT, kind: 'owner', ownerKind: ROOT.kind, objects: 1_201 } as const;
    const ways = [
      root,
      { ...root, objects: 1_199 },
      { ...root, name: 'other' },
      { ...root, namespace: 'other' },
      { ...root, ownerKind: 'Deployment' },
      approvedOwners(ROOT.kind, 6_001, ['root']),
      approvedOwners(ROOT.kind, 6_001, ['another']),
    ];
    expect(ways.map((what) => words(of(deeper, approving(what))))).toEqual([
      GOES,
      'hold S1',
      'hold S1',
      'hold S1',
      'hold S1',
      GOES,
      'hold S1',
    ]);
  });

  test('the record names what let it go', () => {
    expect(of(wide, approving(approvedOwner('o', 1_200))).facts).toMatchObject({ approvals: 'approval-1' });
    const narrow = leaves([gone()], { cascades: [cascade('o', 1, 1)] });
    expect(of(narrow, approving(approvedOwner('o', 1_200))).facts).not.toHaveProperty('approvals');
  });

  test('whatever is approved, nothing goes that upstream would keep, nor what was not approved itself', () => {
    fc.assert(
      fc.property(AnyCandidate, fc.boolean(), (given, wentBack) => {
        const approved = approving(...given.references.map(({ uid }) => approvedOwner(uid, 5_000)));
        const outcome = of(given, approved, wentBack);
        if (outcome.kind !== 'act' || outcome.act.action !== 'delete') return;
        expect(words(of(given, UPSTREAM, wentBack))).toBe(words(outcome));
        expect([wentBack, given.object.kind === 'Namespace', given.object.keptBy]).toEqual([
          false,
          false,
          null,
        ]);
      }),
      runs(3_000),
    );
  });
});

test('[cluster D8, D9, D10] whatever is told, an object with an owner goes in neither profile, nor one that cannot be judged', () => {
  fc.assert(
    fc.property(AnyCandidate, fc.boolean(), (given, wentBack) => {
      for (const by of BOTH) {
        const outcome = of(given, by, wentBack);
        if (outcome.kind !== 'act' || outcome.act.action !== 'delete') continue;
        const states = given.references.map(({ state }) => state);
        expect(states.filter((state) => /held|scope|unresolved|pending|orphaning/.test(state))).toEqual([]);
        expect(given.object.deletionTimestamp).toBeNull();
        expect(outcome.confirm.map(({ owner: { uid } }) => uid).toSorted()).toEqual(
          given.references.map(({ uid }) => uid).toSorted(),
        );
      }
    }),
    runs(3_000),
  );
});

test('[cluster S1, S4, S6] profile fleetgc deletes nothing that profile kubernetes would not', () => {
  fc.assert(
    fc.property(AnyCandidate, fc.boolean(), (given, wentBack) => {
      const ours = of(given, settings(), wentBack);
      if (ours.kind === 'act' && ours.act.action === 'delete')
        expect(of(given, UPSTREAM, wentBack)).toEqual(ours);
    }),
    runs(3_000),
  );
});
