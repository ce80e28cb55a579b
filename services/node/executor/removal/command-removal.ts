import type { Command } from '../../../../schemas/events/command.ts';
import type { RemovalKind } from '../../../../schemas/events/object-kinds.ts';
import type { CommandRefusal } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { commandRefusal, holding } from '../checks/command-checks.ts';
import type { OwnPlan } from '../checks/own-plan.ts';
import { begun, type JournalEntry } from '../journal/journal-state.ts';
import { afterCommand, afterRefusal, isContinuedBy, type Measurement } from '../results/reclaim.ts';
import { recordDone, recordRefused } from '../results/record-results.ts';
import { count, digitsOf, type Refusal } from '../results/results.ts';
import {
  isReached,
  measuredBetween,
  measuredFilesystem,
  missingBytes,
  type Reading,
  readFilesystem,
  SETTLE_MS,
  settled,
} from './measure.ts';
import { removeObject } from './object-removal.ts';
import type { RemovalParts } from './object-work.ts';
import { plansFor } from './plan-for-command.ts';

/** The clock of a node ticks every 10 ms; an order must not seem to be as old as the last removal. */
const TICK_MS = 10;
const MAX_TICKS = 10;

/**
 * Carries out one command of the journal, from its beginning or from where an earlier process left it. When it
 * resolves, every object has its result in the journal and the command is no longer there. When `signal` aborts, the
 * removal in hand is finished and the rest is not done.
 */
export async function carryOut(entry: JournalEntry, parts: RemovalParts, signal: AbortSignal): Promise<void> {
  const { recorder, tools, filesystems } = parts;
  const { command } = entry;
  if (entry.before === null) {
    const refusal = commandRefusal(command, await tools.restrictions(), recorder.clock.now());
    if (refusal) return await refuse(entry, refusal, parts);
  }
  const startMs = recorder.clock.now().sinceBootMs;
  const plan = plansFor(command, parts);
  let latest = await plan();
  const aimed = aimedAt(entry, latest);
  const first = firstReading(aimed, await readFilesystem(filesystems, measuredFilesystem(aimed.command)));
  if (entry.before === null) recorder.metrics.wantedBytes.add({}, missingBytes(aimed.command, first));
  recorder.journal.update((state) => begun(state, command.id, kept(first)));
  for (const [index, item] of command.items.entries()) {
    // Whoever is stopped does not wait for another scan.
    if (!signal.aborted) latest = await plan();
    // Where the target is gone nothing goes for it; the last one tells whether that is since it was reached.
    const aim = latest.reclaim === null ? aimed : aimedAt(entry, latest);
    await removeObject({ entry: aim, index, item, plan }, parts, signal);
  }
  await finish({ entry, aimed, isWanted: isWanted(command, latest) }, first, parts, signal);
  const tookMs = recorder.clock.now().sinceBootMs - startMs;
  recorder.metrics.commandSeconds.observe({ kind: command.kind }, tookMs / 1000);
}

const aimedAt = (entry: JournalEntry, { reclaim }: OwnPlan): JournalEntry => ({
  ...entry,
  command: { ...entry.command, reclaim },
});

/** A reclaim that nothing on this node justifies ends with its command. */
const isWanted = ({ reclaim }: Command, plan: OwnPlan): boolean => reclaim === null || plan.reclaim !== null;

async function refuse(
  entry: JournalEntry,
  refusal: Refusal<CommandRefusal>,
  parts: RemovalParts,
): Promise<void> {
  const { command } = entry;
  const next = afterRefusal(command, {
    ...(await measuredNow(command, parts)),
    reason: refusal.reason,
    isContinued: isContinuedBy(command, parts.recorder.journal.state().lastActions),
    at: await afterLastAction(parts),
  });
  recordRefused(parts.recorder, entry, refusal, next);
}

interface CarriedOut {
  readonly entry: JournalEntry;
  /** With the target of this node's first plan, by which it was measured before its first object. */
  readonly aimed: JournalEntry;
  /** Whether its reclaim may go on. */
  readonly isWanted: boolean;
}

async function finish(
  { entry, aimed, isWanted }: CarriedOut,
  first: Reading | null,
  parts: RemovalParts,
  signal: AbortSignal,
): Promise<void> {
  const { recorder, tools } = parts;
  const { command } = entry;
  const items = recorder.journal.state().entries.find((one) => one.command.id === command.id)?.items ?? [];
  const removed = count(items, 'removed');
  const after = await readingAtEnd(aimed, { first, hasRemoved: removed > 0 }, parts, signal);
  const reached = measurement(aimed.command, after);
  const isHolding = holding(await tools.restrictions()) !== undefined;
  const at = await afterLastAction(parts);
  const next = isWanted ? afterCommand(command, { ...reached, items, isHolding, at }) : undefined;
  const measured = measuredBetween(aimed.command, first, after);
  recordDone(recorder, entry, { items, measured, targetReached: reached.targetReached }, next);
}

/** For the end of a command at which nothing is removed any more; measuring may be what failed before. */
export async function measuredNow(
  command: Command,
  { filesystems }: Pick<RemovalParts, 'filesystems'>,
): Promise<Omit<Measurement, 'at'>> {
  if (command.reclaim === null) return NO_TARGET;
  return measurement(
    command,
    await readFilesystem(filesystems, measuredFilesystem(command)).catch(() => null),
  );
}

const NO_TARGET = { targetReached: null, availableNow: null };

function measurement({ reclaim }: Command, reading: Reading | null): Omit<Measurement, 'at'> {
  if (reclaim === null) return NO_TARGET;
  const { target } = reclaim;
  return { targetReached: isReached(target, reading), availableNow: reading?.[target.resource] ?? null };
}

/** How long to wait at the end: after images it was waited each time, containers are waited for all together. */
const SETTLES_WITHIN_MS: Readonly<Record<RemovalKind, number>> = {
  'image-removal': 0,
  'container-removal': SETTLE_MS,
};

function readingAtEnd(
  { command }: JournalEntry,
  { first, hasRemoved }: { readonly first: Reading | null; readonly hasRemoved: boolean },
  { recorder, filesystems, tools }: RemovalParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const expectation = {
    filesystem: measuredFilesystem(command),
    target: command.reclaim?.target ?? null,
    before: first,
    estimatedBytes: 0n,
    waitMs: hasRemoved ? SETTLES_WITHIN_MS[command.kind] : 0,
  };
  return settled(expectation, { filesystems, clock: recorder.clock, sleep: tools.sleep }, signal);
}

/** An inventory that follows must be certainly later than what was done, or its command would count as overtaken. */
async function afterLastAction({
  recorder: { clock, journal },
  tools: { sleep },
}: RemovalParts): Promise<Instant> {
  const actions = Object.values(journal.state().lastActions).flatMap((action) => action ?? []);
  const isPast = (now: Instant): boolean =>
    actions.every(({ at }) => at.bootId !== now.bootId || at.sinceBootMs < now.sinceBootMs);
  for (let ticks = 0; ticks < MAX_TICKS && !isPast(clock.now()); ticks++) await sleep(TICK_MS);
  return clock.now();
}

type Kept = NonNullable<JournalEntry['before']>;

/** What was free before the first removal of a command; one that an earlier process began is measured from its beginning. */
function firstReading({ before }: Pick<JournalEntry, 'before'>, now: Reading | null): Reading | null {
  if (before === null) return now;
  const { availableBytes, inodesFree } = before;
  if (availableBytes === null) return null;
  return {
    availableBytes: BigInt(availableBytes),
    inodesFree: inodesFree === null ? null : BigInt(inodesFree),
  };
}

/** As the journal keeps it. */
const kept = (reading: Reading | null): Kept => ({
  availableBytes: digitsOf(reading?.availableBytes ?? null),
  inodesFree: digitsOf(reading?.inodesFree ?? null),
});
