import type { Logger } from 'pino';
import type { FixedFile } from '../../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { MAX_COMMAND_BYTES } from '../../../../schemas/events/command.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { lostRate } from '../local/removal-rate.ts';
import {
  EMPTY_JOURNAL,
  type ItemProgress,
  type JournalEntry,
  JournalState,
  MAX_UNPUBLISHED,
  MAX_WAITING,
} from './journal-state.ts';

export const JOURNAL_FILE = 'journal';
/** How far a command is, and its trace. */
const PROGRESS_BYTES = 8 * 1024;
/** Of an event that waits for the log; most take less, and few wait. */
const UNPUBLISHED_BYTES = 1024;
const REST_BYTES = 128 * 1024;
/** Room for the command in hand and all that may wait, however large, and their results; two copies of it lie on the disk. */
export const JOURNAL_BYTES =
  (MAX_WAITING + 1) * (MAX_COMMAND_BYTES + PROGRESS_BYTES) + MAX_UNPUBLISHED * UNPUBLISHED_BYTES + REST_BYTES;

/** What the executor must not forget: what it was told, how far it is, and what it has not reported yet. */
export interface Journal {
  state(): JournalState;
  /** Changes the state, on disk before it returns. Where the disk does not take it, it holds in memory alone. */
  update(change: (state: JournalState) => JournalState): void;
  /** `memory` while the last change is not on disk. */
  kept(): 'disk' | 'memory';
  /** Resolves at the next change, or when `signal` aborts. */
  changed(signal: AbortSignal): Promise<void>;
}

interface JournalParts {
  readonly directory: Pick<StateDirectory, 'open'>;
  readonly now: Instant;
  readonly logger: Logger;
}

/** Opens the journal of an earlier process, or a new one. Never throws: a disk that fails costs the memory alone. */
export function openJournal({ directory, now, logger }: JournalParts): Journal {
  const open = () => directory.open(JOURNAL_FILE, JOURNAL_BYTES, JournalState);
  let { file, state } = tryToOpen(open, now, logger);
  let problem: string | null = null;
  const write = (): string | null => {
    try {
      file ??= open();
      file.write(state);
      return null;
    } catch (error) {
      return toFleetGcError(error).message;
    }
  };
  const waiting = new Set<() => void>();
  return {
    state: () => state,
    kept: () => (problem === null ? 'disk' : 'memory'),
    update: (change) => {
      state = change(state);
      const before = problem;
      problem = write();
      if (problem !== null && before === null)
        logger.error({ problem }, 'journal kept in memory: it cannot be written');
      if (problem === null && before !== null) logger.info('journal written to disk again');
      for (const wake of waiting) wake();
    },
    changed: (signal) => nextChange(waiting, signal),
  };
}

interface Opened {
  readonly file: FixedFile<JournalState> | null;
  readonly state: JournalState;
}

function tryToOpen(open: () => FixedFile<JournalState>, now: Instant, logger: Logger): Opened {
  let file: FixedFile<JournalState> | null = null;
  try {
    file = open();
    return { file, state: repairedJournal(file.read() ?? EMPTY_JOURNAL, logger) };
  } catch (error) {
    const { message } = toFleetGcError(error);
    logger.error({ problem: message }, JOURNAL_LOST);
    return { file, state: afterLoss(now) };
  }
}

const WAITING: ItemProgress = { state: 'waiting' };

/**
 * The journal as the executor needs it: each command once, and with as many objects as are named. A file that has been
 * tampered with, or written by an older release, must not stop every start.
 */
function repairedJournal(state: JournalState, logger: Logger): JournalState {
  const seen = new Set<string>();
  const entries = state.entries.flatMap((entry) => {
    const commandId = entry.command.id;
    if (seen.has(commandId)) {
      logger.error({ commandId }, 'journal repaired: a command with the id of an earlier one is left out');
      return [];
    }
    seen.add(commandId);
    return [withItems(entry, logger)];
  });
  return { ...state, entries };
}

/** What is missing was in nobody's hand, and is judged anew; what is too much is of no object. */
function withItems(entry: JournalEntry, logger: Logger): JournalEntry {
  const { command, items } = entry;
  if (items.length === command.items.length) return entry;
  const facts = { commandId: command.id, objects: command.items.length, known: items.length };
  logger.error(facts, 'journal repaired: it knew of more or fewer objects than its command names');
  return { ...entry, items: command.items.map((_, index) => items[index] ?? WAITING) };
}

const JOURNAL_LOST =
  'journal lost: nothing that was decided before now is carried out, and a limit of removals per hour counts as reached for an hour';

/** What was done is not known, so whatever was decided before now counts as overtaken, and a limit as reached. */
function afterLoss(at: Instant): JournalState {
  const unknown = { at, commandId: '' };
  return {
    ...EMPTY_JOURNAL,
    lastActions: {
      image: unknown,
      container: unknown,
      sandbox: unknown,
      'pod-log-directory': unknown,
      'log-symlink': unknown,
    },
    removalRate: lostRate(at),
  };
}

function nextChange(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    if (signal.aborted) wake();
  });
}
