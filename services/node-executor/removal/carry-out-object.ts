import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { Sleep } from '../../../packages/process/back-off.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { FilesystemName } from '../../../schemas/events/filesystem.ts';
import { OBJECT_KINDS, REMOVALS } from '../../../schemas/events/object-kinds.ts';
import type { Measured, ObjectOutcome, ObjectRefusal } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { OwnFactsSince, OwnPlan } from '../checks/own-plan.ts';
import { type CommandItem, isLog } from '../checks/second-look.ts';
import { type ItemProgress, type JournalEntry, progressed } from '../journal/journal-state.ts';
import { type Recorder, recordItem } from '../results/recorder.ts';
import type { Attempt } from './attempt.ts';
import {
  afterEarlierAttempt,
  durationMs,
  type EarlierAttempt,
  type End,
  estimateOf,
  goneSince,
  mayBeRemoved,
  removedEarlier,
} from './earlier-attempt.ts';
import { isReached, type Reading, readFilesystem, SETTLE_MS, settled } from './measure.ts';
import { isGone, type RemovalTools, removeObject } from './remove-object.ts';

export interface CarryOutParts {
  readonly recorder: Recorder;
  readonly tools: Omit<RemovalTools, 'takeInHand' | 'keptByPlan'> & { readonly own: OwnFactsSince };
  readonly filesystems: FilesystemReader;
  readonly sleep: Sleep;
}

/** One object of a command. */
interface ObjectWork {
  /** With the target that this node's own plan has. */
  readonly entry: JournalEntry;
  readonly index: number;
  readonly item: CommandItem;
  readonly plan: Pick<OwnPlan, 'refusalOf'>;
}

/** The same, and what the filesystem has free before it. */
interface MeasuredWork extends ObjectWork {
  readonly before: Reading | null;
  /** Which the runtime may still be at; `null` where there was none. */
  readonly earlier: EarlierAttempt | null;
}

/** Where a command has its effect: on its target, or where its objects lie. */
export function measuredFilesystem({ reclaim, kind, items }: Command): FilesystemName {
  if (reclaim !== null) return reclaim.target.filesystem;
  const [first = REMOVALS[kind].filesystem, ...others] = new Set(
    items.map((item) => OBJECT_KINDS[item.kind].filesystem),
  );
  return others.length === 0 ? first : REMOVALS[kind].filesystem;
}

/** Brings one object to its one final result. Others free space too, so it is measured before each. */
export async function carryOutObject(
  work: ObjectWork,
  parts: CarryOutParts,
  signal: AbortSignal,
): Promise<void> {
  const progress = work.entry.items[work.index];
  if (progress?.state === 'done') return;
  const record = (end: End): void => recordItem(parts.recorder, work.entry, { ...work, ...end });
  if (progress?.state === 'removed') return record(removedEarlier(work.item, progress, parts.recorder));
  const earlier = progress?.state === 'in-hand' ? { item: work.item, askedAt: progress.since } : null;
  if (earlier) {
    const gone = await isGone(work.item, parts.tools);
    if (gone === null)
      return record(mayBeRemoved(earlier, 'the runtime does not list what it holds', parts.recorder));
    if (gone) return record(goneSince(earlier, parts.recorder));
  }
  const before = await readFilesystem(parts.filesystems, measuredFilesystem(work.entry.command));
  // Log files are removed by the executor itself, so nobody is at them any more.
  const measured = { ...work, before, earlier: isLog(work.item) ? null : earlier };
  const skipped = reasonToSkip(measured, signal);
  if (skipped) return recordEnd(measured, { outcome: skipped, actedAt: null, name: null }, parts);
  await tryObject(measured, parts, signal);
}

function recordEnd(
  { entry, index, item, earlier }: MeasuredWork,
  end: End,
  { recorder }: CarryOutParts,
): void {
  const known = earlier === null ? end : afterEarlierAttempt(earlier, end, recorder);
  recordItem(recorder, entry, { ...known, index, item });
}

function reasonToSkip({ entry, before }: MeasuredWork, signal: AbortSignal): ObjectOutcome | undefined {
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

async function tryObject(work: MeasuredWork, parts: CarryOutParts, signal: AbortSignal): Promise<void> {
  const { entry, index, item } = work;
  const { recorder, tools } = parts;
  let since = recorder.clock.now();
  let isInHand = false;
  let name: string | null = null;
  const progress = (to: ItemProgress): void =>
    recorder.journal.update((state) => progressed(state, { commandId: entry.command.id, index }, to));
  const takeInHand = (now: Instant, ofObject: string): void => {
    since = now;
    name = ofObject;
    isInHand = true;
    progress({ state: 'in-hand', since });
  };
  const attempt = await removeObject(
    entry,
    item,
    { ...tools, takeInHand, keptByPlan: work.plan.refusalOf },
    signal,
  );
  const endedAt = recorder.clock.now();
  // Whoever dies while the freed space is waited for must not take an object that came back for one that never went.
  if (attempt?.outcome === 'removed') progress({ state: 'removed', durationMs: durationMs(since, endedAt) });
  const actedAt = mayHaveActed(attempt, isInHand && !isLog(item)) ? endedAt : null;
  const after = actedAt ? await measureAfter(work, attempt, parts, signal) : null;
  const outcome = outcomeOf(attempt, work, { recorder, since, endedAt, after });
  recordEnd(work, { outcome, actedAt, name }, parts);
}

/**
 * A removal that failed can have happened all the same, or halfway; one that was refused can have begun; and who removed
 * what the runtime was asked for and has not any more, nobody knows.
 */
function mayHaveActed(attempt: Attempt | undefined, isAsked: boolean): boolean {
  switch (attempt?.outcome) {
    case 'removed':
    case 'failed':
      return true;
    case 'not-found':
      return isAsked;
    case 'refused':
      return attempt.alreadyDone !== undefined;
    case undefined:
      return false;
  }
}

/** Sizes of containers are not known, so only the end of their command waits for the space they free. */
function measureAfter(
  { entry, item, before }: MeasuredWork,
  attempt: Attempt | undefined,
  { filesystems, sleep, recorder }: CarryOutParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const expectation = {
    filesystem: measuredFilesystem(entry.command),
    target: entry.command.reclaim?.target ?? null,
    before,
    estimatedBytes: BigInt(estimateOf(item) ?? 0),
    waitMs: item.kind === 'image' && attempt?.outcome !== 'failed' ? SETTLE_MS : 0,
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
const STANDING_REFUSALS: readonly ObjectRefusal[] = [
  'kept-by-node',
  'not-ours',
  'unsafe-log-path',
  'in-use-outside-cri',
];

function outcomeOf(
  attempt: Attempt | undefined,
  { entry, item, before }: MeasuredWork,
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
        estimatedBytes: estimateOf(item),
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
