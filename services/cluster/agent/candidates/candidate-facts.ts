import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { Candidacy } from '../../../../packages/owner-graph/candidacy.ts';
import { type CascadeWidths, cascadeRoots } from '../../../../packages/owner-graph/cascade.ts';

import { type GraphObject, toldReference } from '../../../../packages/owner-graph/graph-object.ts';
import type { Namesakes } from '../../../../packages/owner-graph/namesakes.ts';
import {
  DANGLING,
  type GraphView,
  type StatedReference,
} from '../../../../packages/owner-graph/reference-states.ts';

import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import {
  LEAST_RESTORED,
  MAX_CANDIDATE_REFERENCES,
  type OwnershipCandidate,
  type OwnershipReference,
} from '../../../../schemas/events/ownership.ts';

export interface FactsOf {
  readonly widths: CascadeWidths;
  readonly graph: GraphView;
  readonly namesakes: Pick<Namesakes, 'of' | 'objects'>;
  readonly isKeptNamespace: (namespace: string) => boolean;
}

/** What a decision needs to know; `null` for an object with more references than a fact can hold, which is kept. */
export function candidateFacts(
  { object, references, dependents }: Candidacy,
  facts: FactsOf,
): OwnershipCandidate | null {
  if (references.length > MAX_CANDIDATE_REFERENCES) return null;
  const told = references.map((stated) => referenceFacts(stated, facts.namesakes.of(object, stated)));
  const hasNamesake = told.some(({ namesakeUid }) => namesakeUid !== undefined);
  return {
    object: {
      ...object.kind,
      namespace: object.namespace,
      name: object.name,
      uid: object.uid,
      resourceVersion: object.resourceVersion,
      deletionTimestamp: object.deletionTimestamp,
      finalizers: [...object.finalizers],
      keptBy: keptBy(object, facts.isKeptNamespace),
    },
    references: told,
    dependents,
    cascades: cascadesOf(references, facts),
    ...(hasNamesake && { withNamesakes: Math.max(1, facts.namesakes.objects) }),
  };
}

const keptBy = (
  { keep, namespace }: GraphObject,
  isKeptNamespace: FactsOf['isKeptNamespace'],
): OwnershipCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return namespace !== '' && isKeptNamespace(namespace) ? 'namespace' : null;
};

const referenceFacts = (
  { reference, state, resolved, gone }: StatedReference,
  namesakeUid: string | undefined,
): OwnershipReference => ({
  ...toldReference(reference),
  state,
  resolved,
  gone: gone && { how: gone.how, orphaned: gone.orphaned },
  ...(namesakeUid !== undefined && { namesakeUid }),
});

/** Whether the owner lets its dependents go. */
export const letsGo = ({ state }: StatedReference): boolean => state === 'waiting' || DANGLING.has(state);

/** As `kindName` of the schemas writes it, where it is known. */
export const ownerKindOf = ({ reference, resolved }: StatedReference): string =>
  resolved === null ? reference.kind : kindName(resolved);

/** One for each owner that lets the object go. */
function cascadesOf(
  references: readonly StatedReference[],
  { widths, graph }: FactsOf,
): OwnershipCandidate['cascades'] {
  const found = new Map<string, OwnershipCandidate['cascades'][number]>();
  const rootOf = cascadeRoots(graph);
  for (const stated of references) {
    const { reference } = stated;
    const { uid } = reference;
    if (found.has(uid) || !letsGo(stated)) continue;
    const ownerKind = ownerKindOf(stated);
    const root = rootOf(reference);
    const within = root === null || root.uid === uid ? null : root;
    found.set(uid, { ownerUid: uid, ownerKind, ...widths.of(uid, ownerKind), within });
  }
  return [...found.values()];
}

/** Differs when a decision may differ: a newer resourceVersion alone is no news, nor one dependent of many more. */
export function fingerprintOf({
  object,
  references,
  dependents,
  cascades,
  withNamesakes = 0,
}: OwnershipCandidate): string {
  const { resourceVersion: _, ...told } = object;
  const { count, blocking, oneWaits } = dependents;
  const widths = cascades.map(({ ownerUid, objects, within }) => [ownerUid, objects, within]);
  const isRestore = withNamesakes >= LEAST_RESTORED;
  const news = [told, references, count > 0, blocking > 0, oneWaits, widths, isRestore];
  return sha256Hex(JSON.stringify(news)).slice(0, 16);
}
