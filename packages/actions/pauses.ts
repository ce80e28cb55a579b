import { isPauseKey, type NodeSelector, pauseKey } from '../../schemas/policy/policy.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import { selectorText } from '../policy/selector-text.ts';
import type { StoredPolicies } from '../policy/stored-policies.ts';
import { deleteKeys, deleteUnheld, type PolicyWriter } from '../policy/write-policies.ts';
import { FleetGcError } from '../process/errors.ts';
import type { Doing } from '../records/doing.ts';

/** What `fleetgc resume` was asked to end. */
export type ResumeRequest =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly selector: NodeSelector };

/** Pauses by their record keys, and whom each of them selects; `null` where that cannot be read. */
type PausesByKey = ReadonlyMap<string, NodeSelector | null>;

/** What there is to end. */
type PauseEnding = { readonly kind: 'held'; readonly pauses: PausesByKey } | NotHeld;

/** The log holds no such pause. */
interface NotHeld {
  readonly kind: 'not-held';
  /** The record key of the pause, where the log does not say that it ended either: then somebody may remember it. */
  readonly notStored: string | null;
  /** What is paused instead: the caller expects something to move that will not. */
  readonly others: PausesByKey;
}

/** The pauses to end, readable or not; none when nothing at all is paused, so that resuming twice is safe. */
function pausesToEnd(
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
const otherPaused = (selector: NodeSelector, others: PausesByKey): FleetGcError =>
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

/** What became of a resume. `not-held`: the log held no such pause; `isWritten` says whether its end was written all the same. */
export type EndedPauses =
  | { readonly kind: 'ended'; readonly pauses: PausesByKey }
  | {
      readonly kind: 'not-held';
      readonly isWritten: boolean;
      /** `NOT_FOUND`, where something else is paused: the caller expects something to move that will not. */
      readonly error: Error | null;
    };

/** Ends pauses, for `fleetgc resume` and whoever else does. Throws as `writeStates`. */
export async function endPauses(
  writer: PolicyWriter,
  stored: Pick<StoredPolicies, 'pauses' | 'unreadable' | 'deleted'>,
  request: ResumeRequest,
  doing: Doing,
): Promise<EndedPauses> {
  const ending = pausesToEnd(stored, request);
  if (ending.kind === 'held') {
    await deleteKeys(writer, [...ending.pauses.keys()], doing);
    return { kind: 'ended', pauses: ending.pauses };
  }
  const { notStored, others } = ending;
  if (notStored !== null) await deleteUnheld(writer, [notStored], doing);
  const error = request.kind === 'one' && others.size > 0 ? otherPaused(request.selector, others) : null;
  return { kind: 'not-held', isWritten: notStored !== null, error };
}
