import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { Candidacy } from '../../../packages/owner-graph/candidacy.ts';
import type { CascadeWidths } from '../../../packages/owner-graph/cascade-widths.ts';
import { type GraphObject, toldReference } from '../../../packages/owner-graph/graph-object.ts';
import { DANGLING, type StatedReference } from '../../../packages/owner-graph/reference-states.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import {
  MAX_CANDIDATE_REFERENCES,
  type OwnershipCandidate,
  type OwnershipReference,
} from '../../../schemas/events/ownership.ts';

export interface FactsOf {
  readonly widths: CascadeWidths;
  readonly isKeptNamespace: (namespace: string) => boolean;
}

/** What a decision needs to know; `null` for an object with more references than a fact can hold, which is kept. */
export function candidateFacts(
  { object, references, dependents }: Candidacy,
  { widths, isKeptNamespace }: FactsOf,
): OwnershipCandidate | null {
  if (references.length > MAX_CANDIDATE_REFERENCES) return null;
  return {
    object: {
      ...object.kind,
      namespace: object.namespace,
      name: object.name,
      uid: object.uid,
      resourceVersion: object.resourceVersion,
      deletionTimestamp: object.deletionTimestamp,
      finalizers: [...object.finalizers],
      keptBy: keptBy(object, isKeptNamespace),
    },
    references: references.map(referenceFacts),
    dependents,
    cascade: widest(references, widths),
  };
}

const keptBy = (
  { keep, namespace }: GraphObject,
  isKeptNamespace: FactsOf['isKeptNamespace'],
): OwnershipCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return namespace !== '' && isKeptNamespace(namespace) ? 'namespace' : null;
};

const referenceFacts = ({ reference, state, resolved, gone }: StatedReference): OwnershipReference => ({
  ...toldReference(reference),
  state,
  resolved,
  gone: gone && { how: gone.how, orphaned: gone.orphaned },
});

/** Of the owners that let the object go, the one that takes most along. */
function widest(
  references: readonly StatedReference[],
  widths: CascadeWidths,
): OwnershipCandidate['cascade'] {
  let found: OwnershipCandidate['cascade'] = null;
  for (const { reference, state, resolved } of references) {
    if (state !== 'waiting' && !DANGLING.has(state)) continue;
    const ownerKind = resolved === null ? reference.kind : kindName(resolved);
    const { objects, ofKind } = widths.of(reference.uid, ownerKind);
    if (found === null || objects > found.objects)
      found = { ownerUid: reference.uid, ownerKind, objects, ofKind };
  }
  return found;
}

/** Differs when a decision may differ: a newer resourceVersion alone is no news, nor one dependent of many more. */
export function fingerprintOf({ object, references, dependents, cascade }: OwnershipCandidate): string {
  const { resourceVersion: _, ...told } = object;
  const { count, blocking, oneWaits } = dependents;
  const news = [told, references, count > 0, blocking > 0, oneWaits, cascade?.ownerUid, cascade?.objects];
  return sha256Hex(JSON.stringify(news)).slice(0, 16);
}
