import { type Command, MEASURED_FILESYSTEM } from '../../schemas/command.ts';
import type { FilesystemName } from '../../schemas/filesystem.ts';
import type { Measured, ObjectOutcome, ObjectRefusal } from '../../schemas/result.ts';
import type { Instant } from '../../schemas/time.ts';
import type { FilesystemReader } from '../shared/filesystem.ts';
import type { Attempt } from './attempt.ts';
import { type ItemTools, isGone, removeItem } from './item.ts';
import { type ItemProgress, type JournalEntry, progressed } from './journal-state.ts';
import { isReached, type Reading, readFilesystem, SETTLE_MS, settled } from './measure.ts';
import type { OwnFactsSince, OwnPlan } from './own-plan.ts';
import { type Recorder, recordItem } from './recorder.ts';
import { type CommandItem, isLog } from './second-look.ts';
import type { Sleep } from './sleep.ts';

export interface CarryOutParts {
  readonly recorder: Recorder;
  readonly tools: Omit<ItemTools, 'takeInHand' | 'keptByPlan'> & { readonly own: OwnFactsSince };
  readonly filesystems: FilesystemReader;
  readonly sleep: Sleep;
}

/** One object of a command. */
export interface ItemWork {
  /** With the target that this node's own plan has. */
  readonly entry: JournalEntry;
  readonly index: number;
  readonly item: CommandItem;
  readonly plan: Pick<OwnPlan, 'refusalOf'>;
}

/** The same, and what the filesystem has free before it. */
interface MeasuredWork extends ItemWork {
  readonly before: Reading | null;
}

/** Where a command has its effect: on its target, or where its objects lie. */
export const measuredFilesystem = ({ reclaim, kind, items }: Command): FilesystemName =>
  reclaim?.target.filesystem ?? (items.every(isLog) ? 'nodefs' : MEASURED_FILESYSTEM[kind]);

/** Brings one object to its one final result. Others free space too, so it is measured before each. */
export async function carryOutItem(work: ItemWork, parts: CarryOutParts, signal: AbortSignal): Promise<void> {
  const progress = work.entry.items[work.index];
  if (progress?.state === 'done') return;
  if (progress?.state === 'removed') return recordRemovedBefore(work, progress, parts);
  if (progress?.state === 'in-hand') {
    const gone = await isGone(work.item, parts.tools);
    if (gone === null) return recordMayBeRemoved(work, parts);
    if (gone) {
      const tookMs = durationMs(progress.since, parts.recorder.clock.now());
      return recordRemovedBefore(work, { durationMs: tookMs }, parts);
    }
  }
  const before = await readFilesystem(parts.filesystems, measuredFilesystem(work.entry.command));
  const skipped = reasonToSkip({ ...work, before }, signal);
  if (skipped)
    return recordItem(parts.recorder, work.entry, { ...work, outcome: skipped, actedAt: null, name: null });
  await tryItem({ ...work, before }, parts, signal);
}

/** By this process or the one before it: either way it is gone, and nothing is measured of it any more. */
function recordRemovedBefore(work: ItemWork, removal: Removal, { recorder }: CarryOutParts): void {
  const actedAt = recorder.clock.now();
  const outcome = unmeasured(work.item, removal);
  recordItem(recorder, work.entry, { ...work, outcome, actedAt, name: null });
}

/** How long the runtime took. */
type Removal = Pick<Extract<ItemProgress, { state: 'removed' }>, 'durationMs'>;

/** What is known of a removal when nobody is there to measure what it freed. */
export const unmeasured = (item: CommandItem, { durationMs }: Removal): ObjectOutcome => ({
  outcome: 'removed',
  measured: null,
  estimatedBytes: estimateOf(item),
  durationMs,
});

/** Whoever cannot list it knows neither that it went nor that it stayed: a refusal would say that nothing was done. */
function recordMayBeRemoved({ entry, index, item }: ItemWork, { recorder }: CarryOutParts): void {
  const actedAt = recorder.clock.now();
  const outcome: ObjectOutcome = {
    outcome: 'failed',
    reason: 'deadline-exceeded',
    message:
      'it was being removed when an earlier process ended, and the runtime does not list what it holds: it may be gone',
    backoffUntilMs: recorder.backoff.failed(item, actedAt.wallTimeMs).untilMs,
  };
  recordItem(recorder, entry, { index, item, outcome, actedAt, name: null });
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

async function tryItem(work: MeasuredWork, parts: CarryOutParts, signal: AbortSignal): Promise<void> {
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
  const attempt = await removeItem(
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
  recordItem(recorder, entry, { index, item, outcome, actedAt, name });
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

/** Sizes of anything but images are not known before. */
const estimateOf = (item: CommandItem): number | null => (item.kind === 'image' ? item.estimatedBytes : null);

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
