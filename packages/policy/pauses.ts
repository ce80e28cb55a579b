import { isPauseKey, type NodeSelector, pauseKey } from '../../schemas/policy/policy.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import { FleetGcError } from '../process/errors.ts';
import { selectorText } from './selector-text.ts';
import type { StoredPolicies } from './stored-policies.ts';

/** What `fleetgc resume` was asked to end. */
export type ResumeRequest =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly selector: NodeSelector };

/** Pauses by their record keys, and whom each of them selects; `null` where that cannot be read. */
export type PausesByKey = ReadonlyMap<string, NodeSelector | null>;

/** What there is to end. */
export type PauseEnding = { readonly kind: 'held'; readonly pauses: PausesByKey } | NotHeld;

/** The log holds no such pause. */
export interface NotHeld {
  readonly kind: 'not-held';
  /** The record key of the pause, where the log does not say that it ended either: then somebody may remember it. */
  readonly notStored: string | null;
  /** What is paused instead: the caller expects something to move that will not. */
  readonly others: PausesByKey;
}

/** The pauses to end, readable or not; none when nothing at all is paused, so that resuming twice is safe. */
export function pausesToEnd(
  stored: Pick<StoredPolicies, 'pauses' | 'unreadable' | 'deleted'>,
  request: ResumeRequest,
): PauseEnding {
  const pauses = allPauses(stored);
  if (request.kind === 'all') return { kind: 'held', pauses };
  const key = pauseKey(request.selector);
  const pause = pauses.get(key);
  if (pause !== undefined) return { kind: 'held', pauses: new Map([[key, pause]]) };
  return { kind: 'not-held', notStored: stored.deleted.has(key) ? null : key, others: pauses };
}

/** `NOT_FOUND`, with what is paused. */
export const otherPaused = (selector: NodeSelector, others: PausesByKey): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    `there is no pause of ${selectorText(selector)}, but of: ${[...others].map(pauseText).join('; ')}. Name one with the same options as it was made, or use --all`,
  );

const allPauses = ({ pauses, unreadable }: Pick<StoredPolicies, 'pauses' | 'unreadable'>): PausesByKey =>
  new Map([
    ...[...pauses].map(([key, { selector }]) => [key, selector] as const),
    ...unreadable
      .filter(({ key }) => isPauseKey(key))
      .map(({ key, hold }) => [key, hold?.selector ?? null] as const),
  ]);

/** Whom a pause is about. */
export const pauseText = ([key, selector]: readonly [string, NodeSelector | null]): string =>
  selector === null ? `what the unreadable record ${JSON.stringify(key)} selects` : selectorText(selector);

/** What follows from a pause, in a sentence. */
export function pauseTakesHold(stored: Pick<StoredPolicies, 'policies'>): string {
  const lifetimeMs = longestCommandLifetimeMs(stored);
  return lifetimeMs === 0
    ? 'No policy says "mode: enforce", so nothing was being removed.'
    : `Nodes stop as soon as they read this, and within ${durationText(lifetimeMs)} at the latest; a removal that has begun ends.`;
}

/** The longest that a command sent before a pause may still be carried out; 0 when no policy could have sent one. */
const longestCommandLifetimeMs = ({ policies }: Pick<StoredPolicies, 'policies'>): number =>
  Math.max(
    0,
    ...[...policies.values()]
      .filter(({ policy }) => policy.mode === 'enforce')
      .map(({ policy }) => policy.commandLifetimeMs),
  );
