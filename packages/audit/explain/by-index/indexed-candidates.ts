import type { Candidate, ObjectState } from '../../../../schemas/reports/explanation.ts';
import {
  type ActedName,
  type Found,
  type FoundNames,
  isActed,
  isActedName,
  type ListedName,
  linesOnNodes,
  type Span,
} from '../../../archive/names.ts';

import { objectKey } from '../../events/identity.ts';
import type { IndexedNode } from './indexed-nodes.ts';

/** What the files of an index say together, by node. */
export interface IndexedPast {
  /** Where the last complete inventory of a node is. */
  readonly lastLooks: ReadonlyMap<string, Place>;
  /** What was commanded and done, by node and object. */
  readonly acts: ReadonlyMap<string, readonly Found<ActedName>[]>;
}

interface Place {
  readonly file: FoundNames;
  readonly number: number;
}

/** `acting`: with every line of what was commanded and done with what may be meant. */
export function indexedPast(files: readonly FoundNames[], acting: readonly FoundNames[]): IndexedPast {
  const looks = files.flatMap((file) =>
    Object.entries(file.nodes.looked).map(([key, [, number]]) => [key, { file, number }] as const),
  );
  const acts = linesOnNodes(acting, isActedName).filter(isActed);
  return { lastLooks: new Map(looks), acts: Map.groupBy(acts, ({ key, line }) => placeOf(key, line)) };
}

const placeOf = (key: string, object: Parameters<typeof objectKey>[0]): string =>
  `${key} ${objectKey(object)}`;

/** An object that a name means, by what an index says of it. */
export interface IndexedObject {
  readonly kind: Exclude<ListedName['kind'], 'pod'>;
  readonly id: string;
  /** Lines by which it is meant, in the order of the log. */
  readonly meant: readonly Found<ListedName>[];
  readonly acted: readonly Found<ActedName>[];
}

/** The objects that are meant on the node; `null` where only its records can tell all of them. */
export function indexedObjects({ isUncertain, listed, acted }: IndexedNode): IndexedObject[] | null {
  const objects = new Map<string, IndexedObject>();
  for (const found of listed) {
    const { kind, id } = found.line;
    if (kind === 'pod') return null;
    const key = objectKey({ kind, id });
    const known = objects.get(key) ?? { kind, id, meant: [], acted: [] };
    objects.set(key, { ...known, meant: [...known.meant, found] });
  }
  for (const found of acted) {
    const known = objects.get(objectKey(found.line));
    if (known === undefined) return null;
    objects.set(objectKey(found.line), { ...known, acted: [...known.acted, found] });
  }
  return isUncertain ? null : [...objects.values()];
}

/** Results count as of another look than the one that is logged as near as this. */
const UNCLEAR_MS = 60_000;

/**
 * The object as reading all of the node would show it, told by the index alone; `null` where only its records can tell.
 * `listed` has every line that lists it, also under names by which it is not meant.
 */
export function indexedCandidate(
  { key, where }: IndexedNode,
  { kind, id, meant, acted }: IndexedObject,
  { lastLooks, acts }: IndexedPast,
  listed: readonly Found<ListedName>[],
): Candidate | null {
  const spanOf = ({ line }: { readonly line: ListedName | ActedName }): Span => line.on[key] ?? [0, 0, 0, 0];
  const look = lastLooks.get(key);
  const last = lastOf(listed, spanOf);
  const done = acts.get(placeOf(key, { kind, id })) ?? [];
  if (look === undefined || last === undefined) return null;
  if ([look, ...listed, ...meant, ...done].some(({ file }) => file.isCut)) return null;
  const [, number, , lastSeenMs] = spanOf(last);
  const isListed = look.file.name === last.file.name && look.number === number;
  const state = stateAfter(
    lastSeenMs,
    isListed,
    done.map((act) => ({ outcome: act.line.outcome, span: spanOf(act) })),
  );
  if (state === null) return null;
  const firsts = [...meant, ...acted].map((found) => spanOf(found)[2]);
  return { kind, id, name: last.line.name, ...where, state, firstSeenMs: Math.min(...firsts), lastSeenMs };
}

/** Of several names in one file the one of the last look; `undefined` where that is not clear. */
function lastOf(
  listed: readonly Found<ListedName>[],
  spanOf: (found: Found<ListedName>) => Span,
): Found<ListedName> | undefined {
  const lastFile = listed.at(-1)?.file.name;
  const inLast = listed.filter(({ file }) => file.name === lastFile);
  const [last, other] = inLast.toSorted((a, b) => spanOf(b)[1] - spanOf(a)[1]);
  const isClear = last !== undefined && (other === undefined || spanOf(other)[1] < spanOf(last)[1]);
  return isClear ? last : undefined;
}

interface Done {
  readonly outcome: string | null;
  readonly span: Span;
}

const STATE_AFTER: Readonly<Record<string, ObjectState>> = { removed: 'removed', 'not-found': 'gone' };

function stateAfter(lastSeenMs: number, isListed: boolean, acts: readonly Done[]): ObjectState | null {
  const results = acts.filter(
    ({ outcome, span }) => outcome !== null && outcome in STATE_AFTER && span[3] > lastSeenMs - UNCLEAR_MS,
  );
  const [result, ...others] = new Set(results.map(({ outcome }) => outcome ?? ''));
  if (result === undefined) return isListed ? 'there' : 'gone';
  const isAfter = results.every(({ span }) => span[3] > lastSeenMs);
  return isAfter && others.length === 0 ? (STATE_AFTER[result] ?? null) : null;
}
