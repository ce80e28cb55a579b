import type { NodeSelector } from '../../schemas/policy.ts';
import { pauseKey } from '../../schemas/policy.ts';
import { FleetGcError } from '../shared/errors.ts';
import { selectorText } from './selector-text.ts';
import type { StoredPause, StoredPolicies } from './stored-policies.ts';

/** What `fleetgc resume` was asked to end. */
export type ResumeRequest =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly selector: NodeSelector };

/**
 * The pauses to end; none when nothing at all is paused, so that resuming twice is safe. Throws `NOT_FOUND` when other
 * nodes are paused than the ones asked for, since the caller expects something to move that will not.
 */
export function pausesToEnd(
  { pauses }: Pick<StoredPolicies, 'pauses'>,
  request: ResumeRequest,
): ReadonlyMap<string, StoredPause> {
  if (request.kind === 'all' || pauses.size === 0) return pauses;
  const key = pauseKey(request.selector);
  const pause = pauses.get(key);
  if (pause) return new Map([[key, pause]]);
  const others = [...pauses.values()].map(({ selector }) => selectorText(selector)).join('; ');
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no pause of ${selectorText(request.selector)}, but of: ${others}. Name one with the same options as it was made, or use --all`,
  );
}

/** The longest that a command sent before a pause may still be carried out; 0 when no policy could have sent one. */
export const longestCommandLifetimeMs = ({ policies }: Pick<StoredPolicies, 'policies'>): number =>
  Math.max(
    0,
    ...[...policies.values()]
      .filter(({ policy }) => policy.mode === 'enforce')
      .map(({ policy }) => policy.commandLifetimeMs),
  );
