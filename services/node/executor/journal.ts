import type { Logger } from 'pino';
import { z } from 'zod';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { Command, MAX_COMMAND_BYTES } from '../../../schemas/events/command.ts';
import { Uint64 } from '../../../schemas/events/filesystem.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import {
  CommandResult,
  ObjectOutcome,
  ObjectResult,
  PassFailed,
  PressureUnrelieved,
  ReclaimContinues,
  RemovalIntent,
} from '../../../schemas/events/result.ts';
import { Instant } from '../../../schemas/events/time.ts';
import { lostRate, RemovalRate } from './local-rules.ts';

/**
 * More commands than this do not wait: the oldest not begun rests on the oldest facts and makes room.
 * @limit Commands that wait in the journal. `JOURNAL_BYTES` follows from it.
 */
export const MAX_WAITING = 16;
/**
 * With so many events the log is not taking, no more commands are taken from it either.
 * @limit Unpublished results above which no command is taken. `JOURNAL_BYTES` follows from it.
 */
export const MAX_UNPUBLISHED = 1_000;
/** So many ids of ended commands are remembered; a command lives at most ten minutes, so older ones are refused as expired. */
export const MAX_APPLIED_IDS = 1_000;
/** So many of those that were answered and never begun; in a list of their own, since anybody can send any number of them. */
export const MAX_REFUSED_IDS = 1_000;

const Trace = z.object({ traceparent: z.string(), tracestate: z.exactOptional(z.string()) });

/** How far one object of a command is. */
const ItemProgress = z.discriminatedUnion('state', [
  z.object({ state: z.literal('waiting') }),
  /** About to be removed, or removed and not yet recorded: after a restart it is looked at again. */
  z.object({ state: z.literal('in-hand'), since: Instant }),
  /** The runtime said so, and what it freed is waited for: after a restart it is told, whatever is listed by then. */
  z.object({ state: z.literal('removed'), durationMs: z.int().nonnegative() }),
  z.object({
    state: z.literal('done'),
    outcome: z.enum(ObjectOutcome.options.map(({ shape }) => shape.outcome.value)),
  }),
]);
export type ItemProgress = z.infer<typeof ItemProgress>;

const JournalEntry = z.object({
  command: Command,
  /** `null`: a new one begins with what is published. */
  trace: Trace.nullable(),
  /** The id of the key that signed it; `null` where none did. Older releases did not keep it. */
  signedBy: z.string().nullable().default(null),
  /** What was free before the first removal; `null` until the command was begun. */
  before: z
    .object({
      availableBytes: Uint64.nullable(),
      /** Older releases did not keep it. */
      inodesFree: Uint64.nullable().default(null),
    })
    .nullable(),
  /** One per item of the command. */
  items: z.array(ItemProgress),
});
export type JournalEntry = z.infer<typeof JournalEntry>;

/** An event that the log has not acknowledged yet. */
const Unpublished = z.object({
  /** `null`: a new one begins with what is published. */
  trace: Trace.nullable(),
  output: z.object({
    topic: z.literal('results'),
    key: z.string(),
    event: z.discriminatedUnion('type', [
      ObjectResult,
      RemovalIntent,
      CommandResult,
      PassFailed,
      ReclaimContinues,
      PressureUnrelieved,
    ]),
  }),
});
export type Unpublished = z.infer<typeof Unpublished>;

/** The last removal of one kind of object, stamped after it returned. */
const LastAction = z.object({
  at: Instant,
  commandId: z.string(),
  /** Missing where the command was of none. */
  reclaimId: z.exactOptional(z.string()),
});
export type LastAction = z.infer<typeof LastAction>;
const LastActions = z.object({
  container: LastAction.nullable(),
  sandbox: LastAction.nullable(),
  'pod-log-directory': LastAction.nullable().default(null),
  'log-symlink': LastAction.nullable().default(null),
  image: LastAction.nullable(),
} satisfies Readonly<Record<ObjectKind, z.ZodType>>);
export type LastActions = z.infer<typeof LastActions>;

export const JournalState = z.object({
  version: z.literal(1),
  /** In the order in which they came. */
  entries: z.array(JournalEntry),
  unpublished: z.array(Unpublished),
  /** Of commands that ended, oldest first; older releases kept those of `entries` here too. */
  appliedIds: z.array(z.string()),
  /** Of commands that were refused before they were begun, oldest first; older releases kept them with the others. */
  refusedIds: z.array(z.string()).default([]),
  lastActions: LastActions,
  removalRate: RemovalRate,
  /** Whether the last command for images ended with errors or above its target (D19); older releases did not keep it. */
  imagePassFailed: z.boolean().default(false),
});
export type JournalState = z.infer<typeof JournalState>;

export const EMPTY_JOURNAL: JournalState = {
  version: 1,
  entries: [],
  unpublished: [],
  appliedIds: [],
  refusedIds: [],
  lastActions: {
    image: null,
    container: null,
    sandbox: null,
    'pod-log-directory': null,
    'log-symlink': null,
  },
  removalRate: { bootId: '', minutes: [] },
  imagePassFailed: false,
};

/** Whatever is remembered of those that ended, a command that is in the journal is known: its entry is found by its id. */
export const knows = ({ entries, appliedIds, refusedIds }: JournalState, commandId: string): boolean =>
  entries.some(({ command }) => command.id === commandId) ||
  appliedIds.includes(commandId) ||
  refusedIds.includes(commandId);

/** A command to carry out. From here on its id is known, so that it is never carried out twice. */
export const accepted = (state: JournalState, entry: JournalEntry): JournalState => ({
  ...state,
  entries: [...state.entries, entry],
});

/** A command that is answered and not carried out. */
export const answered = (
  state: JournalState,
  commandId: string,
  answers: readonly Unpublished[],
): JournalState => ({
  ...state,
  refusedIds: withNewest(state.refusedIds, commandId, MAX_REFUSED_IDS),
  unpublished: [...state.unpublished, ...answers],
});

/** A command that waited and makes room. */
export const pushedOut = (
  state: JournalState,
  entry: JournalEntry,
  answers: readonly Unpublished[],
): JournalState => ({
  ...answered(state, entry.command.id, answers),
  entries: state.entries.filter((one) => one !== entry),
});

const withNewest = (ids: readonly string[], id: string, most: number): string[] =>
  [...ids.filter((one) => one !== id), id].slice(-most);

/** Those that may be pushed out, oldest first: never the first one, which the executor is working on, begun in the journal or not yet. */
export const waitingEntries = ({ entries }: JournalState): readonly JournalEntry[] =>
  entries.slice(1).filter(({ before }) => before === null);

export const begun = (
  state: JournalState,
  commandId: string,
  before: NonNullable<JournalEntry['before']>,
): JournalState => withEntry(state, commandId, (entry) => ({ ...entry, before }));

/** Where an item stands in the journal. */
interface ItemPosition {
  readonly commandId: string;
  readonly index: number;
}

export const progressed = (
  state: JournalState,
  { commandId, index }: ItemPosition,
  progress: ItemProgress,
): JournalState =>
  withEntry(state, commandId, (entry) => ({ ...entry, items: entry.items.with(index, progress) }));

/** The command is over, and its id remembered from now on; its last events are still to be published. */
export const finished = (
  state: JournalState,
  commandId: string,
  last: readonly Unpublished[],
): JournalState => ({
  ...state,
  entries: state.entries.filter(({ command }) => command.id !== commandId),
  appliedIds: withNewest(state.appliedIds, commandId, MAX_APPLIED_IDS),
  unpublished: [...state.unpublished, ...last],
});

export const withUnpublished = (state: JournalState, event: Unpublished): JournalState => ({
  ...state,
  unpublished: [...state.unpublished, event],
});

/** The log acknowledged the first `count`, or takes these in their place. */
export const published = (state: JournalState, count: number, by: readonly Unpublished[]): JournalState => ({
  ...state,
  unpublished: [...by, ...state.unpublished.slice(count)],
});

export const acted = (state: JournalState, kind: ObjectKind, action: LastAction): JournalState => ({
  ...state,
  lastActions: { ...state.lastActions, [kind]: action },
});

const withEntry = (
  state: JournalState,
  commandId: string,
  change: (entry: JournalEntry) => JournalEntry,
): JournalState => ({
  ...state,
  entries: state.entries.map((entry) => (entry.command.id === commandId ? change(entry) : entry)),
});

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
