import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Candidacy, candidacyOf, neighbours } from '../../../packages/owner-graph/candidacy.ts';
import { CascadeWidths } from '../../../packages/owner-graph/cascade.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import { ALL_KINDS, DELETED_AT, graphOf, refersTo, surroundings } from '../../fixtures/graph.ts';
import { runs } from '../../support/property-runs.ts';

const UIDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const Uid = fc.constantFrom(...UIDS);
const Kind = fc.constantFrom(...ALL_KINDS);
const Reference = fc
  .record({
    uid: Uid,
    kind: Kind,
    blockOwnerDeletion: fc.boolean(),
    name: fc.option(fc.constant('wrong'), { nil: undefined, freq: 6 }),
  })
  .map(({ uid, kind, blockOwnerDeletion, name }) =>
    refersTo(uid, { kind, blockOwnerDeletion, ...(name !== undefined && { name }) }),
  );
/** Kind and place of a uid never change. */
const objectOf = (uid: string): fc.Arbitrary<GraphObject> =>
  fc
    .record({
      deleting: fc.boolean(),
      finalizers: fc.uniqueArray(fc.constantFrom(ORPHAN, FOREGROUND, 'other')),
      references: fc.array(Reference, { maxLength: 3 }),
    })
    .map(({ deleting, finalizers, references }) => {
      const kind = ALL_KINDS[UIDS.indexOf(uid)] ?? ALL_KINDS[0];
      if (kind === undefined) throw new Error('there is no kind');
      return {
        kind,
        namespace: kind.namespaced ? (uid < 'd' ? 'ns' : 'other') : '',
        name: `name-${uid}`,
        uid,
        resourceVersion: '1',
        deletionTimestamp: deleting ? DELETED_AT : null,
        finalizers,
        references,
        keep: false,
      };
    });
/** What happens to one uid, in order: it is there in some state, or gone. */
const Story = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
const Stories = fc.tuple(
  ...UIDS.map((uid) =>
    Story.chain((steps) => fc.tuple(...steps.map((isThere) => (isThere ? objectOf(uid) : fc.constant(uid))))),
  ),
);
type Event = GraphObject | string;

const candidatesOf = (graph: OwnerIndex): readonly Candidacy[] =>
  [...graph.objects()]
    .flatMap((object) => candidacyOf(object, surroundings(graph)) ?? [])
    .toSorted((one, other) => (one.object.uid < other.object.uid ? -1 : 1));

function apply(graph: OwnerIndex, event: Event): void {
  if (typeof event !== 'string') graph.put(event);
  else {
    const known = graph.get(event);
    if (known !== undefined) graph.remove(event, known.kind, 'watched');
  }
}

/** One order of all events in which those of each uid keep theirs. */
function merged(stories: readonly (readonly Event[])[], picks: readonly number[]): Event[] {
  const left = stories.map((story) => [...story]);
  const order: Event[] = [];
  for (let turn = 0; left.some((story) => story.length > 0); turn++) {
    const open = left.filter((story) => story.length > 0);
    const next = open[(picks[turn % picks.length] ?? 0) % open.length]?.shift();
    if (next !== undefined) order.push(next);
  }
  return order;
}
const Picks = fc.array(fc.nat(20), { minLength: 1, maxLength: 30 });

/** With which owner an owner went is judged when it goes, by what was known then; nothing is a candidate because of it. */
const withoutRoots = (candidates: readonly Candidacy[]): readonly Candidacy[] =>
  candidates.map(({ references, ...candidate }) => ({
    ...candidate,
    references: references.map(({ gone, ...stated }) => ({
      ...stated,
      gone: gone && { ...gone, within: null },
    })),
  }));

test('[cluster A10, A11] the order of events of different objects does not matter, nor does an event that comes twice', () => {
  fc.assert(
    fc.property(Stories, Picks, Picks, (stories, one, other) => {
      const [first, second] = [graphOf(), graphOf()];
      for (const event of merged(stories, one)) apply(first, event);
      for (const event of merged(stories, other)) {
        apply(second, event);
        apply(second, event);
      }
      expect(withoutRoots(candidatesOf(second))).toEqual(withoutRoots(candidatesOf(first)));
    }),
    runs(3_000),
  );
});

/** Dependents by looking at every object. */
const naiveDependents = (graph: OwnerIndex, uid: string): string[] =>
  [...graph.objects()]
    .filter(({ references }) => references.some((each) => each.uid === uid))
    .map((each) => each.uid)
    .toSorted();

test('[cluster B6, B12] the index knows who lists whom, as a look at all objects does', () => {
  fc.assert(
    fc.property(Stories, Picks, (stories, picks) => {
      const graph = graphOf();
      for (const event of merged(stories, picks)) {
        apply(graph, event);
        for (const uid of UIDS)
          expect([...graph.dependents(uid)].map((each) => each.uid).toSorted()).toEqual(
            naiveDependents(graph, uid),
          );
      }
    }),
    runs(1_000),
  );
});

test('[cluster C9, C14, C17] whose candidacy changes with an event is among its neighbours before or after it', () => {
  fc.assert(
    fc.property(Stories, Picks, (stories, picks) => {
      const graph = graphOf();
      for (const event of merged(stories, picks)) {
        const uid = typeof event === 'string' ? event : event.uid;
        const before = new Map(candidatesOf(graph).map((each) => [each.object.uid, JSON.stringify(each)]));
        const near = new Set(neighbours(uid, graph));
        apply(graph, event);
        for (const each of neighbours(uid, graph)) near.add(each);
        const after = new Map(candidatesOf(graph).map((each) => [each.object.uid, JSON.stringify(each)]));
        const changed = UIDS.filter((each) => before.get(each) !== after.get(each));
        expect(changed.filter((each) => !near.has(each))).toEqual([]);
      }
    }),
    runs(2_000),
  );
});

test('[cluster S1] a width is never less than what goes when the owner is gone', () => {
  fc.assert(
    fc.property(Stories, Picks, Uid, (stories, picks, owner) => {
      const graph = graphOf();
      for (const event of merged(stories, picks)) apply(graph, event);
      apply(graph, owner);
      const width = new CascadeWidths(graph).of(owner, 'any').objects;
      expect(width).toBeGreaterThanOrEqual(goingWithout(graph, owner));
    }),
    runs(1_000),
  );
});

/** How many go one after another once this owner is gone, with nobody else to hold them. */
function goingWithout(graph: OwnerIndex, owner: string): number {
  const gone = new Set([owner]);
  const goes = ({ uid, references }: GraphObject): boolean =>
    !gone.has(uid) && references.length > 0 && references.every((each) => gone.has(each.uid));
  for (let next = [...graph.objects()].find(goes); next !== undefined; next = [...graph.objects()].find(goes))
    gone.add(next.uid);
  return gone.size - 1;
}
