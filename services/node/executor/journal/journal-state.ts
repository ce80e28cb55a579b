import { z } from 'zod';
import { Command } from '../../../../schemas/events/command.ts';
import { Uint64 } from '../../../../schemas/events/filesystem.ts';
import type { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import {
  CommandResult,
  ObjectOutcome,
  ObjectResult,
  PassFailed,
  PressureUnrelieved,
  ReclaimContinues,
  RemovalIntent,
} from '../../../../schemas/events/result.ts';
import { Instant } from '../../../../schemas/events/time.ts';
import { RemovalRate } from '../local/removal-rate.ts';

/** More commands than this do not wait: the oldest not begun rests on the oldest facts and makes room. */
export const MAX_WAITING = 16;
/** With so many events the log is not taking, no more commands are taken from it either. */
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
export const knows = (
  { entries, appliedIds, refusedIds }: Pick<JournalState, 'entries' | 'appliedIds' | 'refusedIds'>,
  commandId: string,
): boolean =>
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

/** Those that may be pushed out, oldest first: never the first one, which the worker is at, begun in the journal or not yet. */
export const waitingEntries = ({ entries }: Pick<JournalState, 'entries'>): readonly JournalEntry[] =>
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

/** The log acknowledged the first `count`. */
export const published = (state: JournalState, count: number): JournalState => ({
  ...state,
  unpublished: state.unpublished.slice(count),
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
