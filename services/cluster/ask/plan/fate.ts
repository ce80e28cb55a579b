import { ruleWords } from '../../../../packages/deciders/rule-words.ts';
import { type GraphObject, sameReferences } from '../../../../packages/owner-graph/graph-object.ts';
import type { StatedReference } from '../../../../packages/owner-graph/reference-states.ts';
import { FOREGROUND } from '../../../../schemas/events/cluster-objects.ts';
import type { ReferenceState } from '../../../../schemas/events/ownership.ts';
import type { ReachedObject } from '../../../../schemas/reports/cluster-cascade.ts';
import type { ClusterGraph } from '../../agent/cluster-graph.ts';
import type { Judged } from './judged.ts';

type ToldFate = Pick<ReachedObject, 'fate' | 'rule' | 'because' | 'finalizers'>;

/** The cluster when nothing is left to do. */
interface Afterwards {
  readonly graph: ClusterGraph;
  /** What was deleted. */
  readonly target: GraphObject;
  /** What went with it though it does not own that. */
  readonly along: ReadonlySet<string>;
}

/** What became of an object; `judged` is what was decided last about it, if anything had to be. */
export function fateOf(before: GraphObject, judged: Judged | undefined, after: Afterwards): ToldFate {
  const { graph } = after;
  const now = graph.index.get(before.uid);
  const rule = judged?.verdict.rule ?? null;
  const words = judged === undefined ? null : ruleWords(judged.verdict);
  const told = (fate: ToldFate['fate'], because: string, finalizers: readonly string[] = []): ToldFate => ({
    fate,
    rule,
    because,
    finalizers: [...finalizers],
  });
  if (waitsForWhatLiesInIt(before, after)) return told('waits', 'what lies in it has to go first');
  if (now === undefined) return told('goes', words ?? goesBecause(before, after));
  if (now.deletionTimestamp !== null) return told('waits', waitsFor(now), now.finalizers);
  if (judged?.verdict.action === 'hold') return told('held', `${words}${factsText(judged)}`);
  return sameReferences(before.references, now.references)
    ? told('stays', words ?? heldBy(now, graph))
    : told('loses-references', words ?? '');
}

const waitsForWhatLiesInIt = ({ uid }: GraphObject, { graph, target, along }: Afterwards): boolean =>
  uid === target.uid && [...along].some((each) => graph.index.get(each) !== undefined);

const goesBecause = ({ uid }: GraphObject, { target: { kind, name }, along }: Afterwards): string =>
  along.has(uid) ? `it goes with the ${kind.kind} ${name}` : 'it is deleted';

const waitsFor = ({ finalizers }: GraphObject): string =>
  finalizers.every((each) => each === FOREGROUND)
    ? 'it waits for dependents that wait themselves, or are held'
    : `it waits for the finalizers ${finalizers.filter((each) => each !== FOREGROUND).join(', ')}`;

const factsText = ({ verdict: { facts } }: Judged): string => {
  const { objects, ofKind, limit } = facts;
  const count = objects ?? ofKind;
  return count === undefined || limit === undefined ? '' : `: ${count} objects, and the limit is ${limit}`;
};

/** Why nothing had to be decided about it: the first reference that holds it, in words. */
function heldBy(object: GraphObject, graph: ClusterGraph): string {
  const references = graph.references(object);
  for (const state of HOLDING) {
    const found = references.find((each) => each.state === state);
    if (found !== undefined) return HELD[state](found);
  }
  return 'nothing calls for it';
}

const HOLDING = [
  'scope',
  'unresolved',
  'pending',
  'held',
  'waiting',
  'orphaning',
  'elsewhere',
] as const satisfies readonly ReferenceState[];

const ownerOf = ({ reference: { kind, name } }: StatedReference): string => `${kind} ${name}`;

const HELD: Readonly<Record<(typeof HOLDING)[number], (stated: StatedReference) => string>> = {
  scope: (stated) => `it has no namespace and names the owner ${ownerOf(stated)}, whose kind has one (H2)`,
  unresolved: (stated) => `the kind of its owner ${ownerOf(stated)} is not served, or not for sure (D9)`,
  pending: (stated) => `whether its owner ${ownerOf(stated)} is there cannot be told from lists (I8)`,
  held: (stated) => `its owner ${ownerOf(stated)} is there (D10)`,
  waiting: (stated) => `its owner ${ownerOf(stated)} is still there`,
  orphaning: (stated) => `its owner ${ownerOf(stated)} is still there`,
  elsewhere: (stated) =>
    stated.gone === null
      ? `the uid of its owner ${ownerOf(stated)} is that of another object (S4)`
      : `the uid of its owner ${ownerOf(stated)} was that of another object, which is known until the agent restarts (S4)`,
};
