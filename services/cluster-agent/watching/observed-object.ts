import { METADATA_FORM, type ObjectForm, wholeForm } from '../../../packages/kube-api/form.ts';
import type { ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import { type Expiring, expiringReader } from '../../../packages/kube-api/whole/expiring.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';

/** An object as it is read of the API server: its metadata, and what else is read of kinds that are read whole. */
export interface ObservedObject extends ObjectMetadata {
  /** What rules about time read of it. */
  readonly expiring?: Expiring | null;
}

/** In which form a kind is listed and watched: as metadata alone unless more has to be known of it (cluster A1). */
export function formOf(kind: ResourceKind): ObjectForm<ObservedObject> {
  const readExpiring = expiringReader(kind);
  if (readExpiring === null) return METADATA_FORM;
  return wholeForm((value) => {
    const object = METADATA_FORM.read(value);
    return object && { ...object, expiring: readExpiring(value) };
  });
}
