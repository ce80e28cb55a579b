import { FleetGcError } from '../process/errors.ts';
import { nearestName } from '../text/nearest-name.ts';
import type { StoredPolicies, StoredPolicy } from './stored-policies.ts';

/** The policy of that name. Throws `NOT_FOUND`, with the name that was probably meant. */
export function requireStored(stored: StoredPolicies, name: string): StoredPolicy {
  const policy = stored.policies.get(name);
  if (policy) return policy;
  const unreadable = stored.unreadable.find(({ key }) => key === name);
  if (unreadable) throw new FleetGcError('POLICIES_UNREADABLE', unreadable.message);
  throw notFound(stored, [name]);
}

/**
 * Record keys of the policies to delete, readable or not. Throws `NOT_FOUND` when there is none of a name, before
 * anything is deleted.
 */
export function requireKeys(stored: StoredPolicies, names: readonly string[]): readonly string[] {
  const keys = new Set([...stored.policies.keys(), ...stored.unreadable.map(({ key }) => key)]);
  const missing = names.filter((name) => !keys.has(name));
  if (missing.length > 0) throw notFound(stored, missing);
  return [...new Set(names)];
}

function notFound({ policies }: StoredPolicies, names: readonly string[]): FleetGcError {
  const [only = '', ...more] = names;
  if (more.length > 0)
    return new FleetGcError('NOT_FOUND', `there are no policies named ${names.join(', ')}`);
  const meant = nearestName(only, policies.keys());
  return new FleetGcError(
    'NOT_FOUND',
    `there is no policy named ${only}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  );
}
