import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { hasStatusApart } from './kinds.ts';

/** What a path is about. */
export interface Place {
  readonly kind: ApiKind;
  /** `null` for all namespaces, and for kinds without one. */
  readonly namespace: string | null;
  /** `null` for a collection. */
  readonly name: string | null;
  /** Whether it is the status of the object, which some kinds have apart. */
  readonly isStatus: boolean;
}

const SERVED_PATH = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(.+)$/;

/** `null` for a path that nobody serves. */
export function placeOf(path: string, kinds: readonly ApiKind[]): Place | null {
  const [, group = '', version, rest] = SERVED_PATH.exec(path) ?? [];
  const parts = decoded(rest ?? '');
  const isNamespaced = parts[0] === 'namespaces' && parts.length > 2;
  const [resource, name = null, ...below] = isNamespaced ? parts.slice(2) : parts;
  const kind = kinds.find(
    (each) => each.group === group && each.version === version && each.resource === resource,
  );
  const isStatus = below.join('/') === 'status';
  if (kind === undefined || !isWithin(kind, below)) return null;
  const place = { kind, namespace: isNamespaced ? (parts[1] ?? null) : null, name, isStatus };
  return isServed(place) ? place : null;
}

/** Nothing lies below an object but the status of some kinds. */
const isWithin = (kind: ApiKind, below: readonly string[]): boolean =>
  below.length === 0 || (below.join('/') === 'status' && hasStatusApart(kind));

const isServed = ({ kind, namespace, name }: Omit<Place, 'isStatus'>): boolean =>
  kind.namespaced ? namespace !== null || name === null : namespace === null;

/** Nothing for what is no text. */
function decoded(path: string): readonly string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
}
