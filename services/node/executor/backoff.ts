import type { Logger } from 'pino';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import {
  BACKOFF_BYTES,
  BACKOFF_FILE,
  BackoffFile,
  MAX_BACKOFF_MS,
  MAX_BACKOFF_OBJECTS,
} from '../../../schemas/state/removal-backoff.ts';

/** @limit First wait after a failed removal (M33). It doubles up to `MAX_BACKOFF_MS`. */
const FIRST_BACKOFF_MS = 60_000;

export type BackoffEntry = BackoffFile['objects'][number];
type ObjectName = Pick<BackoffEntry, 'kind' | 'id'>;

/** The table after one more failure: 1 min, doubling to 1 h. Wall clock, as in the inventory that reports it. */
export function afterFailure(
  table: readonly BackoffEntry[],
  object: ObjectName,
  nowMs: number,
): readonly BackoffEntry[] {
  const failures = (find(table, object)?.failures ?? 0) + 1;
  const untilMs = nowMs + Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
  return [...without(table, object), { ...object, failures, untilMs }]
    .toSorted((a, b) => b.untilMs - a.untilMs)
    .slice(0, MAX_BACKOFF_OBJECTS);
}

const without = (table: readonly BackoffEntry[], object: ObjectName): readonly BackoffEntry[] =>
  table.filter((entry) => !isSame(entry, object));

/** The entry that keeps the object from being tried at `nowMs`; none lasts longer than an hour from now. */
export function backingOff(
  table: readonly BackoffEntry[],
  object: ObjectName,
  nowMs: number,
): BackoffEntry | undefined {
  const entry = find(table, object);
  return entry && entry.untilMs > nowMs && entry.untilMs <= nowMs + MAX_BACKOFF_MS ? entry : undefined;
}

const find = (table: readonly BackoffEntry[], object: ObjectName): BackoffEntry | undefined =>
  table.find((entry) => isSame(entry, object));

const isSame = (a: ObjectName, b: ObjectName): boolean => a.kind === b.kind && a.id === b.id;

/** The table with its file, which the agent reads. */
export interface BackoffTable {
  entries(): readonly BackoffEntry[];
  /** Returns the entry of the object. */
  failed(object: ObjectName, nowMs: number): BackoffEntry;
  /** It went, or is gone. */
  forget(object: ObjectName): void;
}

/** Never throws: without its file the table is empty at every start, and holds in memory. */
export function openBackoff(directory: Pick<StateDirectory, 'open'>, logger: Logger): BackoffTable {
  const open = (): FixedFile<BackoffFile> => directory.open(BACKOFF_FILE, BACKOFF_BYTES, BackoffFile);
  const attempt = <T>(what: string, action: () => T, otherwise: T): T => {
    try {
      return action();
    } catch (error) {
      logger.error({ problem: toFleetGcError(error).message }, `backoff table ${what}`);
      return otherwise;
    }
  };
  let file: FixedFile<BackoffFile> | null = attempt('cannot be opened', open, null);
  let entries: readonly BackoffEntry[] = attempt('starts afresh', () => file?.read()?.objects ?? [], []);
  const write = (next: readonly BackoffEntry[]): void => {
    entries = next;
    attempt(
      'cannot be written, kept in memory',
      () => {
        file ??= open();
        file.write({ version: 1, objects: [...entries] });
      },
      undefined,
    );
  };
  return {
    entries: () => entries,
    failed: ({ kind, id }, nowMs) => {
      write(afterFailure(entries, { kind, id }, nowMs));
      return find(entries, { kind, id }) ?? { kind, id, failures: 1, untilMs: nowMs };
    },
    forget: (object) => {
      if (find(entries, object)) write(without(entries, object));
    },
  };
}
