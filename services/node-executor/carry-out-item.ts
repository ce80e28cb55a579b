import { type Command, MEASURED_FILESYSTEM } from '../../schemas/command.ts';
import type { FilesystemName } from '../../schemas/filesystem.ts';
import type { Measured, ObjectOutcome, ObjectRefusal } from '../../schemas/result.ts';
import type { Instant } from '../../schemas/time.ts';
import type { FilesystemReader } from '../shared/filesystem.ts';
import type { Attempt } from './attempt.ts';
import { type ItemTools, isGone, removeItem } from './item.ts';
import { type JournalEntry, progressed } from './journal-state.ts';
import { isReached, type Reading, SETTLE_MS, settled } from './measure.ts';
import { type Recorder, recordItem } from './recorder.ts';
import { type CommandItem, isLog } from './second-look.ts';
import type { Sleep } from './sleep.ts';

export interface CarryOutParts {
  readonly recorder: Recorder;
  readonly tools: Omit<ItemTools, 'takeInHand'>;
  readonly filesystems: FilesystemReader;
  readonly sleep: Sleep;
}

/** One object of a command, and what the filesystem had free before it. */
export interface ItemWork {
  readonly entry: JournalEntry;
  readonly index: number;
  readonly item: CommandItem;
  readonly before: Reading | null;
}

/** Where a command has its effect: on its target, or where its objects lie. */
export const measuredFilesystem = ({ reclaim, kind, items }: Command): FilesystemName =>
  reclaim?.target.filesystem ?? (items.every(isLog) ? 'nodefs' : MEASURED_FILESYSTEM[kind]);

/** Brings one object to its one final result, and returns what the filesystem has free after it. */
export async function carryOutItem(
  work: ItemWork,
  parts: CarryOutParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const progress = work.entry.items[work.index];
  if (progress?.state === 'done') return work.before;
  if (progress?.state === 'in-hand' && (await isGone(work.item, parts.tools))) {
    recordRemovedBeforeRestart(work, progress.since, parts);
    return work.before;
  }
  const skipped = reasonToSkip(work, signal);
  if (skipped) {
    recordItem(parts.recorder, work.entry, { ...work, outcome: skipped, actedAt: null });
    return work.before;
  }
  return tryItem(work, parts, signal);
}

/** By this process or the one before it: either way it is gone, and nothing is measured of it any more. */
function recordRemovedBeforeRestart(work: ItemWork, since: Instant, { recorder }: CarryOutParts): void {
  const actedAt = recorder.clock.now();
  const outcome: ObjectOutcome = {
    outcome: 'removed',
    measured: null,
    durationMs: durationMs(since, actedAt),
  };
  recordItem(recorder, work.entry, { ...work, outcome, actedAt });
}

function reasonToSkip({ entry, before }: ItemWork, signal: AbortSignal): ObjectOutcome | undefined {
  if (signal.aborted) return STOPPED;
  const { reclaim } = entry.command;
  if (reclaim === null) return undefined;
  const reached = isReached(reclaim.target, before);
  if (reached === null) return UNMEASURED;
  return reached ? { outcome: 'not-needed', message: 'the target is reached, as measured' } : undefined;
}

const STOPPED: ObjectOutcome = { outcome: 'not-done', message: 'the executor was stopped' };
const UNMEASURED: ObjectOutcome = {
  outcome: 'not-done',
  message: 'the filesystem cannot be measured, so nobody can see when the target is reached',
};

async function tryItem(work: ItemWork, parts: CarryOutParts, signal: AbortSignal): Promise<Reading | null> {
  const { entry, index, item, before } = work;
  const { recorder, tools } = parts;
  let since = recorder.clock.now();
  const takeInHand = (now: Instant): void => {
    since = now;
    const position = { commandId: entry.command.id, index };
    recorder.journal.update((state) => progressed(state, position, { state: 'in-hand', since }));
  };
  const attempt = await removeItem(entry, item, { ...tools, takeInHand }, signal);
  const endedAt = recorder.clock.now();
  const actedAt = mayHaveActed(attempt) ? endedAt : null;
  const after = actedAt ? await measureAfter(work, attempt, parts, signal) : before;
  const outcome = outcomeOf(attempt, work, { recorder, since, endedAt, after });
  recordItem(recorder, entry, { index, item, outcome, actedAt });
  return after;
}

/** A removal that failed can have happened all the same, or halfway; one that was refused can have begun. */
const mayHaveActed = (attempt: Attempt | undefined): boolean =>
  attempt?.outcome === 'removed' ||
  attempt?.outcome === 'failed' ||
  (attempt?.outcome === 'refused' && attempt.alreadyDone !== undefined);

/** Sizes of containers are not known, so only the end of their command waits for the space they free. */
function measureAfter(
  { entry, item, before }: ItemWork,
  attempt: Attempt | undefined,
  { filesystems, sleep, recorder }: CarryOutParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const expectation = {
    filesystem: measuredFilesystem(entry.command),
    target: entry.command.reclaim?.target ?? null,
    before,
    estimatedBytes: item.kind === 'image' ? BigInt(item.estimatedBytes) : 0n,
    waitMs: item.kind === 'image' && attempt?.outcome === 'removed' ? SETTLE_MS : 0,
  };
  return settled(expectation, { filesystems, clock: recorder.clock, sleep }, signal);
}

interface Trial {
  readonly recorder: Recorder;
  readonly since: Instant;
  readonly endedAt: Instant;
  readonly after: Reading | null;
}

/**
 * Refusals that decisions cannot foresee and only people can end: such objects are left out for a while as failed ones
 * are, or the oldest of them would fill every plan.
 */
const STANDING_REFUSALS: readonly ObjectRefusal[] = ['kept-by-node', 'not-ours', 'unsafe-log-path'];

function outcomeOf(
  attempt: Attempt | undefined,
  { entry, item, before }: ItemWork,
  { recorder: { backoff, metrics }, since, endedAt, after }: Trial,
): ObjectOutcome {
  if (attempt?.outcome === 'removed' || attempt?.outcome === 'not-found') backoff.forget(item);
  switch (attempt?.outcome) {
    case undefined:
      return STOPPED;
    case 'refused':
      if (STANDING_REFUSALS.includes(attempt.reason)) backoff.failed(item, endedAt.wallTimeMs);
      return attempt;
    case 'not-found':
      return attempt;
    case 'failed':
      return { ...attempt, backoffUntilMs: backoff.failed(item, endedAt.wallTimeMs).untilMs };
    case 'removed': {
      const tookMs = durationMs(since, endedAt);
      metrics.removalSeconds.observe({ kind: item.kind }, tookMs / 1000);
      return {
        outcome: 'removed',
        measured: measuredBetween(entry.command, before, after),
        durationMs: tookMs,
      };
    }
  }
}

/** `null` unless both readings could be had. */
export function measuredBetween(
  command: Command,
  before: Reading | null,
  after: Reading | null,
): Measured | null {
  if (before === null || after === null) return null;
  return {
    filesystem: measuredFilesystem(command),
    beforeBytes: String(before.availableBytes),
    afterBytes: String(after.availableBytes),
  };
}

/** Over a reboot nobody knows. */
const durationMs = (since: Instant, until: Instant): number =>
  since.bootId === until.bootId ? until.sinceBootMs - since.sinceBootMs : 0;
