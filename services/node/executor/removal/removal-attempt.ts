import { type FleetGcError, toFleetGcError } from '../../../../packages/process/errors.ts';
import type { AlreadyDone, RemovalFailure } from '../../../../schemas/events/result.ts';
import type { Refusal } from '../results/results.ts';

/** What came of trying to remove one object. */
export type Attempt =
  | { readonly outcome: 'removed' }
  /** Somebody else was first, which is success (M31). */
  | ({ readonly outcome: 'not-found' } & HalfDone)
  /** The last check before the removal said no. */
  | ({ readonly outcome: 'refused' } & Refusal & HalfDone)
  | ({ readonly outcome: 'failed'; readonly reason: RemovalFailure; readonly message: string } & HalfDone);

interface HalfDone {
  readonly alreadyDone?: AlreadyDone[];
}

export const REMOVED: Attempt = { outcome: 'removed' };
export const NOT_FOUND: Attempt = { outcome: 'not-found' };

export const failed = (reason: RemovalFailure, error: unknown): Attempt => ({
  outcome: 'failed',
  reason,
  message: toFleetGcError(error).message,
});

export const refused = (refusal: Refusal): Attempt => ({ outcome: 'refused', ...refusal });

/** Tells of an object that we did not remove what we did to it before; of a stop only where it stays. */
export function after(step: AlreadyDone, attempt: Attempt): Attempt {
  if (attempt.outcome === 'removed') return attempt;
  if (attempt.outcome === 'not-found' && step === 'stopped') return attempt;
  return { ...attempt, alreadyDone: [step, ...(attempt.alreadyDone ?? [])] };
}

export const isNotFound = (error: unknown): boolean => codeOf(error) === 'RUNTIME_NOT_FOUND';

const codeOf = (error: unknown): FleetGcError['code'] => toFleetGcError(error).code;

/**
 * Runs one removing call: gone already is success, no answer in time is a failure of its own. That the runtime has an image in
 * use of which CRI lists no user is none: the runtime did right.
 */
export async function attempt(call: () => Promise<void>): Promise<Attempt> {
  try {
    await call();
    return REMOVED;
  } catch (error) {
    if (isNotFound(error)) return NOT_FOUND;
    if (codeOf(error) === 'RUNTIME_IMAGE_IN_USE')
      return refused({ reason: 'in-use-outside-cri', message: toFleetGcError(error).message });
    return failed(codeOf(error) === 'RUNTIME_TIMEOUT' ? 'deadline-exceeded' : 'runtime-error', error);
  }
}

/**
 * A removal that failed can have happened all the same, or halfway; one that was refused can have begun; and who removed
 * what the runtime was asked for and has not any more, nobody knows.
 */
export function mayHaveActed(attempt: Attempt, isAsked: boolean): boolean {
  switch (attempt.outcome) {
    case 'removed':
    case 'failed':
      return true;
    case 'not-found':
      return isAsked;
    case 'refused':
      return attempt.alreadyDone !== undefined;
  }
}
