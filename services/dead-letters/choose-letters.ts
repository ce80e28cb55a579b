import { FleetGcError } from '../../packages/process/errors.ts';
import { originalKey } from './original.ts';
import type { StoredLetter } from './stored-letters.ts';

/** Conditions on dead letters; all that are given must hold. */
export interface LetterFilter {
  readonly topic?: string | undefined;
  readonly cause?: string | undefined;
  readonly group?: string | undefined;
  /** Whole, e.g. `prod/web-1`. */
  readonly key?: string | undefined;
  /** Also those whose message was put back already. */
  readonly redriven: boolean;
}

export const filterLetters = (
  letters: readonly StoredLetter[],
  { topic, cause, group, key, redriven }: LetterFilter,
): readonly StoredLetter[] =>
  letters.filter(
    ({ letter, redrivenAtMs }) =>
      (topic === undefined || letter.topic === topic) &&
      (cause === undefined || letter.cause === cause) &&
      (group === undefined || letter.group === group) &&
      (key === undefined || originalKey(letter) === key) &&
      (redriven || redrivenAtMs === null),
  );

/** The dead letter with this id, or the only one whose id begins so. Throws `NOT_FOUND`. */
export function findLetter(letters: readonly StoredLetter[], id: string): StoredLetter {
  const exact = letters.find(({ letter }) => letter.id === id);
  const beginning = letters.filter(({ letter }) => letter.id.startsWith(id));
  const [only, ...others] = exact ? [exact] : beginning;
  if (only === undefined) throw new FleetGcError('NOT_FOUND', `there is no dead letter ${id}`);
  if (others.length > 0)
    throw new FleetGcError(
      'NOT_FOUND',
      `${others.length + 1} dead letters begin with ${id}; write more of it`,
    );
  return only;
}
