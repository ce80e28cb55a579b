import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import { type FreedSpace, freedSpace } from '../../../packages/decision/freed-space.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { RemovalKind } from '../../../schemas/events/object-kinds.ts';
import type { CommandRefusal, ObjectOutcome, ObjectRefusal } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { BackoffTable } from './backoff.ts';
import { commandRefusal, holding, NO_POLICY } from './checks.ts';
import { isFresh, type RuntimeFacts } from './facts.ts';
import {
  acted,
  begun,
  finished,
  type ItemProgress,
  type Journal,
  type JournalEntry,
  type JournalState,
  type LastAction,
  progressed,
  withUnpublished,
} from './journal.ts';
import {
  type CommandItem,
  isPodLogEntry,
  type Judgement,
  type JudgeTools,
  judgeObject,
  nameOf,
  type Removable,
} from './judge.ts';
import type { LateRemovals, RemovedImages } from './late-removals.ts';
import { withRemoval } from './local-rules.ts';
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
import type { CommandSpans, ExecutorMetrics } from './metrics.ts';
import { nothingPlanned, type OwnFactsSince, type OwnPlan, ownPlan } from './own-plan.ts';
import { removeLogSymlink, removePodLogDirectory } from './pod-logs.ts';
import {
  type Attempt,
  isGone,
  mayHaveActed,
  refused,
  removeContainer,
  removeImage,
  removeSandbox,
  unlessGoneSoon,
} from './remove.ts';
import {
  type AfterCommand,
  afterAbandoned,
  afterCommand,
  afterRefusal,
  commandDone,
  commandRefused,
  count,
  digitsOf,
  type Ending,
  isContinuedBy,
  type Measurement,
  objectResult,
  type Pass,
  passFailed,
  passProblems,
  type Refusal,
  type Reporter,
  removalIntent,
  resultOutput,
  withPass,
} from './reports.ts';

/**
 * Carries out the commands of the journal one after the other, in the order in which they came, until `signal` aborts;
 * the removal in hand is then finished and the rest of its command is not done. Commands not begun stay in the journal.
 */
export async function runWorker(parts: RemovalParts, signal: AbortSignal): Promise<void> {
  const { journal } = parts.recorder;
  while (!signal.aborted) {
    const [entry] = journal.state().entries;
    if (!entry) {
      await journal.changed(signal);
      continue;
    }
    try {
      await carryOut(parts.recorder.spans?.begin(entry) ?? entry, parts, signal);
    } catch (thrown) {
      await abandon(entry.command.id, thrown, parts);
    }
  }
}

/**
 * What nobody foresaw must not come back at every start: the command ends, and the reports and the log say why. What was
 * in hand may be gone: that counts as an action. Where even that fails, the command ends all the same.
 */
async function abandon(commandId: string, thrown: unknown, parts: RemovalParts): Promise<void> {
  const { recorder } = parts;
  const error = toFleetGcError(thrown);
  recorder.logger.error({ commandId, err: error.cause ?? error }, 'command abandoned');
  const find = () => recorder.journal.state().entries.find(({ command }) => command.id === commandId);
  const entry = find();
  if (!entry) return;
  for (const [index, item] of entry.command.items.entries())
    await attempt({ commandId, id: item.id }, recorder, () => {
      recordAbandoned(recorder, entry, { index, item, problem: error.message });
    });
  await attempt({ commandId }, recorder, () => recordAbandonedEnd(entry, find()?.items ?? [], parts));
  const left = find();
  if (left) recordUnreported(recorder, left);
}

async function attempt(
  what: Readonly<Record<string, string>>,
  { logger }: Recorder,
  record: () => void | Promise<void>,
): Promise<void> {
  try {
    await record();
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    logger.error(
      { ...what, err: error.cause ?? error },
      'what became of an abandoned command is not reported',
    );
  }
}

interface AbandonedItem {
  readonly index: number;
  readonly item: CommandItem;
  readonly problem: string;
}

function recordAbandoned(
  recorder: Recorder,
  entry: JournalEntry,
  { index, item, problem }: AbandonedItem,
): void {
  const progress = entry.items[index] ?? { state: 'waiting' };
  const outcome = abandoned(item, progress, problem);
  if (!outcome) return;
  const actedAt = progress.state === 'waiting' ? null : recorder.clock.now();
  recordItem(recorder, entry, { index, item, outcome, actedAt, name: null });
}

async function recordAbandonedEnd(
  entry: JournalEntry,
  items: JournalEntry['items'],
  parts: RemovalParts,
): Promise<void> {
  const { recorder } = parts;
  const reached = await measuredNow(entry.command, parts);
  const next = afterAbandoned(entry.command, { ...reached, items, at: recorder.clock.now() });
  recordDone(recorder, entry, { items, measured: null, targetReached: reached.targetReached }, next);
}

/** `undefined`: it has its result. */
function abandoned(item: CommandItem, progress: ItemProgress, problem: string): ObjectOutcome | undefined {
  switch (progress.state) {
    case 'done':
      return undefined;
    case 'removed':
      return unmeasured(item, progress);
    case 'in-hand':
      return notDone(`while it removed this object, which may be gone: ${problem}`);
    case 'waiting':
      return notDone(`before this object: ${problem}`);
  }
}

const notDone = (problem: string): ObjectOutcome => ({
  outcome: 'not-done',
  message: `the executor failed ${problem}`,
});

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

/**
 * A command can take ten minutes, in which its first plan becomes wrong. A plan scans the whole node, so one for each
 * object would cost more than the removals; so long a scan after the last one is no load.
 */
const MAX_PLAN_AGE_MS = 10_000;

type PlanParts = Pick<RemovalParts, 'recorder' | 'tools'>;

/** The own plan for a command, made anew where it is old when it is asked for. The function never rejects. */
export function plansFor(command: Command, parts: PlanParts): () => Promise<OwnPlan> {
  const { clock } = parts.recorder;
  let last: { readonly plan: OwnPlan; readonly madeAt: Instant } | null = null;
  return async () => {
    if (last !== null && isYoung(last.madeAt, clock.now())) return last.plan;
    const plan = await makePlan(command, parts);
    // From its end: before each object a runtime that is slow to scan would else be scanned.
    last = { plan, madeAt: clock.now() };
    return plan;
  };
}

const isYoung = (madeAt: Instant, now: Instant): boolean =>
  now.bootId === madeAt.bootId && now.sinceBootMs - madeAt.sinceBootMs <= MAX_PLAN_AGE_MS;

/** By the policy in force at this moment; what holds the whole command up holds up each of its objects. */
async function makePlan(command: Command, { recorder, tools }: PlanParts): Promise<OwnPlan> {
  const restrictions = await tools.restrictions();
  const { policy } = restrictions;
  const refusal = commandRefusal(command, restrictions, recorder.clock.now());
  if (refusal) return nothingPlanned(command, refusal);
  if (policy.kind !== 'enforced') return nothingPlanned(command, NO_POLICY);
  return await ownPlan(command, policy.record.policy, tools.own);
}

/**
 * Brings one object to its one final result: it is judged, taken in hand in the journal, and removed, judged again before
 * each step where its facts grew old meanwhile. Others free space too, so it is measured before each.
 */
export async function removeObject(
  work: ObjectWork,
  parts: RemovalParts,
  signal: AbortSignal,
): Promise<void> {
  const { tools, recorder } = parts;
  const { clock } = recorder;
  if (progressOf(work).state === 'done') return;
  await untilRecorded(recorder.journal, signal);
  const ended = await endedEarlier(work, parts);
  if (ended) return recordItem(recorder, work.entry, { ...work, ...ended });
  const measured = await measuredBefore(work, parts);
  const skipped = reasonToSkip(measured, signal);
  if (skipped) return recordEnd(measured, notAsked(skipped), parts);
  const judge = async () => judgeObject(work.entry.command, work.item, await work.plan(), tools);
  const first = await unlessAborted(judge(), signal);
  if (first === undefined) return recordEnd(measured, notAsked(STOPPED), parts);
  if (!first.mayGo)
    return await recordAttempt(
      measured,
      { attempt: first.attempt, inHand: null, endedAt: clock.now() },
      parts,
      signal,
    );
  const inHand = { since: clock.now(), name: nameOf(first.object) };
  progressTo(work, { state: 'in-hand', since: inHand.since }, recorder);
  if (!(await isTraced(measured, parts, signal))) return recordEnd(measured, notAsked(STOPPED), parts);
  // Writing the journal takes time on a bad disk, and the log in its place.
  const fresh = freshFacts(first, judge, clock);
  const removed = await removeByKind(first.object, fresh, tools);
  const attempt = await unlessGoneSoon(removed, work.item, tools, signal);
  await recordAttempt(measured, { attempt, inHand, endedAt: clock.now() }, parts, signal);
}

/**
 * Whether the object is in hand in the journal on disk, or else announced on the log. False where it was stopped before.
 *
 * Wherever the process ends, what it removed leaves a trace:
 *
 * 1. Before the journal, or the log, has taken it: nothing was removed.
 * 2. After that, before the runtime is asked: the next process finds the object, and judges it again.
 * 3. While the runtime is at it, or before its answer: the next process finds it gone and tells that it was removed, or finds it and says
 *    that it may still go.
 * 4. After the answer, before the result: the journal has it as removed.
 * 5. After the result is in the journal: it is published until the log has it.
 *
 * With the journal in memory alone the next process knows of none of it, and the announcement is the trace (`audit verify`). With the state
 * directory goes what the journal alone knew: then the command has no result.
 */
async function isTraced(
  { entry, index, item }: ObjectWork,
  { recorder }: RemovalParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { journal } = recorder;
  if (journal.kept() === 'disk') return true;
  announce(recorder, entry, { index, item });
  await untilRecorded(journal, signal);
  return journal.kept() === 'disk' || journal.state().unpublished.length === 0;
}

/** Where the disk does not take the journal, the results of the last removal have to be on the log before the next one. */
async function untilRecorded(journal: Journal, signal: AbortSignal): Promise<void> {
  while (journal.kept() === 'memory' && journal.state().unpublished.length > 0 && !signal.aborted)
    await journal.changed(signal);
}

/** Removes what may go, each kind by its own call. Never rejects. */
function removeByKind(
  object: Removable,
  fresh: FreshFacts,
  { runtime, podLogs, sleep }: RemovalParts['tools'],
): Promise<Attempt> {
  switch (object.kind) {
    case 'image':
      return inOneStep(fresh, () => removeImage(object.image, { runtime, sleep }));
    case 'container':
      return removeContainer(object.container, { runtime, podLogs, fresh });
    case 'sandbox':
      return removeSandbox(object.sandbox, { runtime, fresh });
    case 'pod-log-directory':
      return inOneStep(fresh, () => removePodLogDirectory(object, podLogs));
    case 'log-symlink':
      return inOneStep(fresh, ({ listing }) => removeLogSymlink(object.name, listing, podLogs));
  }
}

async function inOneStep(
  { confirm }: FreshFacts,
  remove: (facts: RuntimeFacts) => Promise<Attempt>,
): Promise<Attempt> {
  const facts = await confirm(factsAlone);
  return 'outcome' in facts ? facts : remove(facts);
}

/** What an earlier process did to the object, where nothing is left to do; `undefined` where it is to be removed. */
async function endedEarlier(work: ObjectWork, { recorder, tools }: RemovalParts): Promise<End | undefined> {
  const progress = progressOf(work);
  if (progress.state === 'removed') return removedEarlier(work.item, progress, recorder);
  const interrupted = interruptedOf(work);
  if (interrupted === null) return undefined;
  const gone = await isGone(work.item, tools);
  if (gone === null) return mayBeRemoved(interrupted, 'the runtime does not list what it holds', recorder);
  return gone ? goneSince(interrupted, recorder) : undefined;
}

async function measuredBefore(work: ObjectWork, { filesystems }: RemovalParts): Promise<MeasuredWork> {
  const before = await readFilesystem(filesystems, measuredFilesystem(work.entry.command));
  // Log files are removed by the executor itself, so nobody is at them any more.
  return { ...work, before, interrupted: isPodLogEntry(work.item) ? null : interruptedOf(work) };
}

function reasonToSkip({ entry, before }: MeasuredWork, signal: AbortSignal): ObjectOutcome | undefined {
  if (signal.aborted) return STOPPED;
  const { reclaim } = entry.command;
  if (reclaim === null) return undefined;
  const reached = isReached(reclaim.target, before);
  if (reached === null) return UNMEASURED;
  return reached ? { outcome: 'not-needed', message: 'the target is reached, as measured' } : undefined;
}

const notAsked = (outcome: ObjectOutcome): End => ({ outcome, actedAt: null, name: null });

const STOPPED: ObjectOutcome = { outcome: 'not-done', message: 'the executor was stopped' };
const UNMEASURED: ObjectOutcome = {
  outcome: 'not-done',
  message: 'the filesystem cannot be measured, so nobody can see when the target is reached',
};

/** What `work` resolves to, or `undefined` when `signal` aborts first; `work` must not reject and has no effect then. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** What it takes to carry out commands. */
export interface RemovalParts {
  readonly recorder: Recorder;
  readonly tools: JudgeTools & {
    readonly runtime: RuntimeReader & RuntimeRemover;
    readonly sleep: Sleep;
    readonly own: OwnFactsSince;
  };
  readonly filesystems: FilesystemReader;
}

/** One object of a command. */
export interface ObjectWork {
  /** With the last target that this node's own plan had. */
  readonly entry: JournalEntry;
  readonly index: number;
  /** As the command names it, and its result. */
  readonly item: CommandItem;
  /** Asked at each judgement: before it can be a stop that takes minutes. */
  readonly plan: () => Promise<Pick<OwnPlan, 'itemOf'>>;
}

/** The same, and what the filesystem has free before it. */
export interface MeasuredWork extends ObjectWork {
  readonly before: Reading | null;
  /** Which the runtime may still be at; `null` where there was none. */
  readonly interrupted: InterruptedRemoval | null;
}

const WAITING: ItemProgress = { state: 'waiting' };
const progressOf = ({ entry, index }: ObjectWork): ItemProgress => entry.items[index] ?? WAITING;

const progressTo = ({ entry, index }: ObjectWork, progress: ItemProgress, { journal }: Recorder): void =>
  journal.update((state) => progressed(state, { commandId: entry.command.id, index }, progress));

const interruptedOf = (work: ObjectWork): InterruptedRemoval | null => {
  const progress = progressOf(work);
  return progress.state === 'in-hand' ? { item: work.item, askedAt: progress.since } : null;
};

export function recordEnd(
  { entry, index, item, interrupted }: MeasuredWork,
  end: End,
  { recorder }: RemovalParts,
): void {
  const known = interrupted === null ? end : afterInterrupted(interrupted, end, recorder);
  recordItem(recorder, entry, { ...known, index, item });
}

/** What came of one object; `inHand` is `null` where it was not taken in hand. */
interface Trial {
  readonly attempt: Attempt;
  readonly inHand: { readonly since: Instant; readonly name: string } | null;
  readonly endedAt: Instant;
}

/** Measures what was freed, and writes what came of it. */
export async function recordAttempt(
  work: MeasuredWork,
  trial: Trial,
  parts: RemovalParts,
  signal: AbortSignal,
): Promise<void> {
  const { attempt, inHand, endedAt } = trial;
  // Whoever dies while the freed space is waited for must not take an object that came back for one that never went.
  if (attempt.outcome === 'removed')
    progressTo(work, { state: 'removed', durationMs: tookMs(trial) }, parts.recorder);
  const actedAt = mayHaveActed(attempt, inHand !== null && !isPodLogEntry(work.item)) ? endedAt : null;
  const after = actedAt ? await measureAfter(work, attempt, parts, signal) : null;
  const outcome = outcomeOf(trial, work, after, parts.recorder);
  recordEnd(work, { outcome, actedAt, name: inHand?.name ?? null }, parts);
}

const tookMs = ({ inHand, endedAt }: Trial): number => (inHand ? durationMs(inHand.since, endedAt) : 0);

/** Sizes of containers are not known, so only the end of their command waits for the space they free. */
function measureAfter(
  { entry, item, before }: MeasuredWork,
  attempt: Attempt,
  { filesystems, tools, recorder }: RemovalParts,
  signal: AbortSignal,
): Promise<Reading | null> {
  const expectation = {
    filesystem: measuredFilesystem(entry.command),
    target: entry.command.reclaim?.target ?? null,
    before,
    estimatedBytes: BigInt(estimateOf(item) ?? 0),
    waitMs: estimateOf(item) !== null && attempt.outcome !== 'failed' ? SETTLE_MS : 0,
  };
  return settled(expectation, { filesystems, clock: recorder.clock, sleep: tools.sleep }, signal);
}

/**
 * Refusals that decisions cannot foresee and only people can end: such objects are left out for a while as failed ones
 * are, or the oldest of them would fill every plan.
 */
const LASTING_REFUSALS: readonly ObjectRefusal[] = [
  'kept-by-node',
  'not-ours',
  'unsafe-log-path',
  'in-use-outside-cri',
];

function outcomeOf(
  trial: Trial,
  { entry, item, before }: MeasuredWork,
  after: Reading | null,
  { backoff, metrics }: Recorder,
): ObjectOutcome {
  const { attempt, endedAt } = trial;
  if (attempt.outcome === 'removed' || attempt.outcome === 'not-found') backoff.forget(item);
  switch (attempt.outcome) {
    case 'refused':
      if (LASTING_REFUSALS.includes(attempt.reason)) backoff.failed(item, endedAt.wallTimeMs);
      return attempt;
    case 'not-found':
      return attempt;
    case 'failed':
      return { ...attempt, backoffUntilMs: backoff.failed(item, endedAt.wallTimeMs).untilMs };
    case 'removed': {
      metrics.removalSeconds.observe({ kind: item.kind }, tookMs(trial) / 1000);
      return {
        outcome: 'removed',
        measured: measuredBetween(entry.command, before, after),
        estimatedBytes: estimateOf(item),
        durationMs: tookMs(trial),
      };
    }
  }
}

/** An object that an earlier process asked the runtime to remove, which ended before it had an answer. */
interface InterruptedRemoval {
  readonly item: CommandItem;
  readonly askedAt: Instant;
}

export type End = Omit<ItemEnd, 'index' | 'item'>;
type Removal = Pick<Extract<ItemProgress, { state: 'removed' }>, 'durationMs'>;

/** A runtime goes on with what it was asked for: what this process leaves alone may go all the same. */
export function afterInterrupted(interrupted: InterruptedRemoval, end: End, recorder: Recorder): End {
  const { outcome } = end;
  switch (outcome.outcome) {
    case 'removed':
    case 'failed':
      return end;
    case 'not-found':
      return goneSince(interrupted, recorder);
    case 'refused':
    case 'not-needed':
    case 'not-done':
      return mayBeRemoved(interrupted, `it is left alone now (${outcome.message})`, recorder);
  }
}

/** By this process or the one before it: either way it is gone, and nothing is measured of it any more. */
function goneSince({ item, askedAt }: InterruptedRemoval, recorder: Recorder): End {
  return removedEarlier(item, { durationMs: durationMs(askedAt, recorder.clock.now()) }, recorder);
}

export const removedEarlier = (item: CommandItem, removal: Removal, { clock }: Recorder): End => ({
  outcome: unmeasured(item, removal),
  actedAt: clock.now(),
  name: null,
});

/** Nobody knows that it stays: a refusal would say that nothing was done. */
function mayBeRemoved({ item }: InterruptedRemoval, seen: string, { clock, backoff }: Recorder): End {
  const actedAt = clock.now();
  const outcome: ObjectOutcome = {
    outcome: 'failed',
    reason: 'deadline-exceeded',
    message: `it was being removed when an earlier process ended, and ${seen}: the runtime may have removed it, or may do so yet`,
    backoffUntilMs: backoff.failed(item, actedAt.wallTimeMs).untilMs,
  };
  return { outcome, actedAt, name: null };
}

/** What is known of a removal when nobody is there to measure what it freed. */
const unmeasured = (item: CommandItem, { durationMs }: Removal): ObjectOutcome => ({
  outcome: 'removed',
  measured: null,
  estimatedBytes: estimateOf(item),
  durationMs,
});

/** Sizes of anything but images are not known before. */
export const estimateOf = (item: CommandItem): number | null =>
  'estimatedBytes' in item ? item.estimatedBytes : null;

/** Over a reboot nobody knows, nor from a moment that has not come. */
export const durationMs = (since: Instant, until: Instant): number =>
  since.bootId === until.bootId ? Math.max(0, until.sinceBootMs - since.sinceBootMs) : 0;

/** So often the facts may grow old before one step of a removal, before the object is left alone. */
const MAX_JUDGEMENTS = 3;

/** What the removal of one object asks before each step that nobody can undo. */
export interface FreshFacts {
  /**
   * What `look` sees, by facts that are fresh still when it has seen it: where they grew old the object is judged again
   * and looked at once more. Or why the rest is left undone.
   */
  readonly confirm: <Seen extends object>(look: Look<Seen>) => Promise<Seen | Attempt>;
  /** Told of each stop: what was seen before it tells nothing of what it left. */
  readonly outdate: () => void;
}

type Look<Seen> = (facts: RuntimeFacts) => Promise<Seen | Attempt>;

/** Where the facts themselves are all there is to see. */
export const factsAlone: Look<RuntimeFacts> = async (facts) => facts;

type MayGo = Extract<Judgement, { readonly mayGo: true }>;

/** Begins with the facts by which the object may go. */
export function freshFacts(first: MayGo, judge: () => Promise<Judgement>, clock: NodeClock): FreshFacts {
  let last: MayGo | null = first;
  const judgedLately = async (): Promise<Judgement> => {
    if (last !== null && isFresh(last.reading, clock.now())) return last;
    const judgement = await judge();
    last = judgement.mayGo ? judgement : null;
    return judgement;
  };
  return {
    confirm: async (look) => {
      for (let count = 0; count < MAX_JUDGEMENTS; count++) {
        const judgement = await judgedLately();
        if (!judgement.mayGo) return judgement.attempt;
        const seen = await look(judgement.reading.facts);
        if ('outcome' in seen || isFresh(judgement.reading, clock.now())) return seen;
      }
      return TOO_SLOW;
    },
    outdate: () => {
      last = null;
    },
  };
}

const TOO_SLOW: Attempt = refused({
  reason: 'runtime-unavailable',
  message: 'the runtime and the disk are too slow to remove on facts of the last second',
});

/** Where it is written what became of commands and their objects. */
export interface Recorder {
  readonly identity: NodeIdentity;
  readonly journal: Journal;
  readonly backoff: BackoffTable;
  readonly removedImages: RemovedImages;
  readonly lateRemovals: Pick<LateRemovals, 'expect'>;
  readonly clock: NodeClock;
  readonly logger: Logger;
  readonly metrics: ExecutorMetrics;
  /** Nobody traces when not given. */
  readonly spans?: CommandSpans | null;
}

const reporter = ({ identity, journal, clock }: Recorder): Reporter => ({
  identity,
  at: clock.now(),
  journal: journal.kept(),
});

/** What became of one object. `actedAt`: when the removal returned, if one was or may have been made. */
interface ItemEnd {
  readonly index: number;
  readonly item: CommandItem;
  readonly outcome: ObjectOutcome;
  readonly actedAt: Instant | null;
  /** For the log lines; `null` where the runtime was not asked for it, or has it not any more. */
  readonly name: string | null;
}

/** One write: the object is done, its result is to be published, and the kind of object was acted on. */
function recordItem(recorder: Recorder, { command, trace }: JournalEntry, end: ItemEnd): void {
  const { index, item, outcome, actedAt, name } = end;
  if (item.kind === 'image') reportHistory(recorder, item.id, outcome);
  const result = objectResult(reporter(recorder), command, { index, item }, outcome);
  recorder.journal.update((state) =>
    withAction(
      withUnpublished(
        progressed(state, { commandId: command.id, index }, { state: 'done', outcome: outcome.outcome }),
        { trace, output: resultOutput(result) },
      ),
      item.kind,
      actedAt && actionOf(command, actedAt),
    ),
  );
  countItem(recorder.metrics, command, end);
  if (actedAt !== null) recorder.spans?.objectEnded(item, outcome, actedAt);
  recorder.logger.info(
    { commandId: command.id, kind: item.kind, id: item.id, ...(name && { name }), ...outcome },
    'object done',
  );
}

/** Puts what is about to be removed among what is to be published, where the disk does not take the journal. */
function announce(
  recorder: Recorder,
  { command, trace }: JournalEntry,
  of: { readonly index: number; readonly item: CommandItem },
): void {
  const intent = removalIntent(reporter(recorder), command, of);
  recorder.journal.update((state) => withUnpublished(state, { trace, output: resultOutput(intent) }));
}

/** What went, or may go yet, is another image when it comes back. */
function reportHistory(
  { removedImages, lateRemovals, clock }: Recorder,
  imageId: string,
  outcome: ObjectOutcome,
): void {
  switch (outcome.outcome) {
    case 'removed':
    case 'not-found':
      removedImages.note(imageId, clock.now());
      return;
    case 'failed':
      if (outcome.reason === 'deadline-exceeded') lateRemovals.expect(imageId);
      return;
    case 'refused':
    case 'not-needed':
    case 'not-done':
      return;
  }
}

const actionOf = ({ id, reclaim }: Command, at: Instant): LastAction => ({
  at,
  commandId: id,
  ...(reclaim && { reclaimId: reclaim.id }),
});

function countItem(
  metrics: ExecutorMetrics,
  { reclaim }: Command,
  { item: { kind }, outcome }: ItemEnd,
): void {
  metrics.objects.add({ kind, outcome: outcome.outcome });
  if ('reason' in outcome) metrics.stayed.add({ outcome: outcome.outcome, reason: outcome.reason });
  if (outcome.outcome !== 'removed') return;
  countFreed(metrics, kind, freedSpace(outcome.measured, outcome.estimatedBytes));
  if (kind === 'image') metrics.images.add({ reason: reclaim === null ? 'age' : 'space' });
}

function countFreed(metrics: ExecutorMetrics, kind: CommandItem['kind'], freed: FreedSpace): void {
  if (freed.how === 'measured') metrics.freedBytes.add({ kind }, Number(freed.bytes));
  else metrics.unmeasured.add({ kind });
}

function withAction(state: JournalState, kind: CommandItem['kind'], action: LastAction | null): JournalState {
  if (action === null) return state;
  return { ...acted(state, kind, action), removalRate: withRemoval(state.removalRate, action.at) };
}

function countUnrelieved({ unrelieved }: ExecutorMetrics, next: AfterCommand | undefined): void {
  if (next?.type === 'fleetgc.node.pressure-unrelieved') unrelieved.add({});
}

/** The command is over; `next` is what follows for its reclaim. */
function recordDone(
  recorder: Recorder,
  { command, trace }: JournalEntry,
  ending: Ending,
  next: AfterCommand | undefined,
): void {
  const who = reporter(recorder);
  const pass: Pass = { command, ending, next };
  const result = commandDone(who, command, ending);
  const problems = passProblems(pass, recorder.journal.state()).map((problem) =>
    resultOutput(passFailed(who, command, ending, problem)),
  );
  const outputs = [resultOutput(result), ...problems, ...(next ? [resultOutput(next)] : [])];
  recorder.journal.update((state) =>
    finished(
      withPass(state, pass),
      command.id,
      outputs.map((output) => ({ trace, output })),
    ),
  );
  recorder.spans?.commandEnded(command.id, result.result);
  recorder.metrics.commands.add({ outcome: 'done' });
  countUnrelieved(recorder.metrics, next);
  recorder.logger.info({ commandId: command.id, kind: command.kind, ...result.result }, 'command done');
}

/** The command ends without a report, which nobody could write; what was or may have been done of it counts as an action. */
function recordUnreported({ journal, clock }: Recorder, { command, items }: JournalEntry): void {
  const at = clock.now();
  const kinds = command.items.flatMap(({ kind }, index) => (isUnreportedAction(items[index]) ? [kind] : []));
  journal.update((state) =>
    finished(
      kinds.reduce((acting, kind) => withAction(acting, kind, actionOf(command, at)), state),
      command.id,
      [],
    ),
  );
}

const isUnreportedAction = (progress: ItemProgress | undefined): boolean =>
  progress?.state === 'in-hand' || progress?.state === 'removed';

/** Nothing of the command was done; `next` is what follows for its reclaim. */
function recordRefused(
  recorder: Recorder,
  { command, trace }: JournalEntry,
  refusal: Refusal<CommandRefusal>,
  next: AfterCommand | undefined,
): void {
  const result = commandRefused(reporter(recorder), command, refusal);
  const outputs = [resultOutput(result), ...(next ? [resultOutput(next)] : [])];
  recorder.journal.update((state) =>
    finished(
      state,
      command.id,
      outputs.map((output) => ({ trace, output })),
    ),
  );
  recorder.spans?.commandEnded(command.id, result.result);
  recorder.metrics.commands.add({ outcome: refusal.reason });
  countUnrelieved(recorder.metrics, next);
  recorder.logger.warn({ commandId: command.id, ...refusal }, 'command refused');
}
