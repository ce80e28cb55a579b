import type { Logger } from 'pino';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { RemovalKind } from '../../../schemas/events/object-kinds.ts';
import type { CommandRefusal, ObjectOutcome, ObjectRefusal } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { BackoffTable } from './backoff.ts';
import {
  type CommandItem,
  commandRefusal,
  holding,
  isPodLogEntry,
  nameOf,
  type Restrictions,
} from './checks.ts';
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
  type Unpublished,
  withUnpublished,
} from './journal.ts';
import { freshFacts, type Judge, type Stays } from './judge.ts';
import type { LateRemovals, RemovedImages } from './late-removals.ts';
import { withRemoval } from './local-rules.ts';
import {
  type Gauge,
  isReached,
  measuredBetween,
  measuredFilesystem,
  missingBytes,
  type Reading,
  SETTLE_MS,
} from './measure.ts';
import { type CommandSpans, countObject, type ExecutorMetrics } from './metrics.ts';
import type { OwnPlan, Planner } from './own-plan.ts';
import { type Attempt, mayHaveActed, type Remover } from './remove.ts';
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

/** Whom an executor works with. */
export interface Collaborators {
  readonly journal: Journal;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  /** Who reports, at this moment. */
  readonly reporter: () => Reporter;
  /** What forbids removals, read anew each time. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly planner: Planner;
  readonly judge: Judge;
  readonly remover: Remover;
  readonly gauge: Gauge;
  readonly backoff: BackoffTable;
  readonly removedImages: RemovedImages;
  readonly lateRemovals: LateRemovals;
  readonly metrics: ExecutorMetrics;
  /** `null`: nobody traces. */
  readonly spans: CommandSpans | null;
  readonly logger: Logger;
}

/** One object of a command. */
interface ObjectOfCommand {
  readonly entry: JournalEntry;
  readonly index: number;
  /** As the command names it, and its result. */
  readonly item: CommandItem;
}

/** An object that is to be removed. */
export interface ObjectWork extends ObjectOfCommand {
  /** Asked at each judgement: before it can be a stop that takes minutes. */
  readonly plan: () => Promise<OwnPlan>;
}

interface MeasuredWork extends ObjectWork {
  /** What the filesystem had free before it. */
  readonly before: Reading | null;
  /** Since when an earlier process was at it, which the runtime may still be; `null` where none was. */
  readonly interruptedSince: Instant | null;
}

/** The object as it is taken in hand. */
interface InHand {
  readonly since: Instant;
  readonly name: string;
}

/** What became of one object. */
interface End {
  readonly outcome: ObjectOutcome;
  /** When the removal returned, if one was or may have been made. */
  readonly actedAt: Instant | null;
  /** For the log lines; `null` where the runtime was not asked for it, or has it not any more. */
  readonly name: string | null;
}

/** The clock of a node ticks every 10 ms; an order must not seem to be as old as the last removal. */
const TICK_MS = 10;
const MAX_TICKS = 10;

/**
 * The life of a command on this node: from its entry in the journal, which `receive.ts` wrote, to the events in the
 * journal, which `publish.ts` brings to the log. Steps 1, 2 and 9 are those of the command, 3 to 8 those of each object.
 *
 * Wherever the process ends, the journal on disk has what it left behind:
 *
 * - In step 1, or in 2 before the journal has the command as begun: the command. The next process judges it as a whole again.
 * - In step 2 after that: the command, and what was free. The next process goes on with its objects, and judges each.
 * - In step 3, or in 4 before the disk or the log took it: the object as waiting. Nothing was removed, and it is judged again.
 * - In step 4 after that, or in 5: the object as in hand. The next process cannot tell whether the runtime was asked to remove it, so
 *   it does what it does after step 6.
 * - In step 6: the object as in hand. The next process finds it gone and reports that it was removed, or finds it and judges it
 *   again. If it may not be removed any more, the report says that the runtime may still remove it, and the object backs off.
 * - In step 7 after a success: the object as removed. The next process reports that, and no longer measures it. After a failure:
 *   as in step 6.
 * - In step 8 before the journal has the result: as in step 7. A failure may then count twice for the back-off.
 * - In step 8 after that: the object as done, and its result, which is published until the log has it.
 * - In step 9: the command with all objects done. The next process measures and reports again, under the same ids. If the target is
 *   reached by then, the new plan has none, and the report leaves open whether it was reached.
 * - After step 9: the id of the command, so that it is not carried out twice, and its reports, which are published.
 *
 * With the journal in memory alone the next process knows of none of it, and the announcement on the log is the trace
 * (`audit verify`). With the state directory goes what the journal alone knew: then the command has no result.
 */
export class Executor {
  readonly #with: Collaborators;

  constructor(collaborators: Collaborators) {
    this.#with = collaborators;
  }

  /**
   * Carries out the commands of the journal one after the other, in the order in which they came, until `signal` aborts;
   * the removal in hand is then finished and the rest of its command is not done. Commands not begun stay in the journal.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { journal, spans } = this.#with;
    while (!signal.aborted) {
      const [entry] = journal.state().entries;
      if (!entry) {
        await journal.changed(signal);
        continue;
      }
      try {
        await this.carryOut(spans?.begin(entry) ?? entry, signal);
      } catch (thrown) {
        await this.#abandon(entry.command.id, thrown);
      }
    }
  }

  /**
   * Carries out one command, from its beginning or from where an earlier process left it. When it resolves, every object
   * has its result in the journal and the command is no longer there. When `signal` aborts, the removal in hand is
   * finished and the rest is not done.
   */
  async carryOut(entry: JournalEntry, signal: AbortSignal): Promise<void> {
    const { journal, clock, gauge, planner, metrics } = this.#with;
    const { command } = entry;

    // 1. Judge the command: age, boot, pause, policy, trust. One that was begun is judged by its objects alone.
    if (entry.before === null) {
      const refusal = commandRefusal(command, await this.#with.restrictions(), clock.now());
      if (refusal) return await this.#refuse(entry, refusal);
    }
    const startMs = clock.now().sinceBootMs;

    // 2. Make the own plan, and with it the target of this node.
    const plan = planner.plansFor(command);
    let latest = await plan();
    const aimed = aimedAt(entry, latest);
    const first = firstReading(aimed, await gauge.read(measuredFilesystem(aimed.command)));
    if (entry.before === null) metrics.wantedBytes.add({}, missingBytes(aimed.command, first));
    journal.update((state) => begun(state, command.id, kept(first)));

    // 3. to 8., for each object.
    for (const [index, item] of command.items.entries()) {
      // Whoever is stopped does not wait for another scan.
      if (!signal.aborted) latest = await plan();
      // Where the target is gone nothing goes for it; the last one tells whether that is since it was reached.
      const aim = latest.reclaim === null ? aimed : aimedAt(entry, latest);
      await this.removeObject({ entry: aim, index, item, plan }, signal);
    }

    // 9. Measure, report, and say how the reclaim goes on. One that nothing on this node justifies ends here.
    const isWanted = command.reclaim === null || latest.reclaim !== null;
    await this.#finish({ entry, aimed, isWanted }, first, signal);
    metrics.commandSeconds.observe({ kind: command.kind }, (clock.now().sinceBootMs - startMs) / 1000);
  }

  /** Brings one object to its one final result. Others free space too, so it is measured before each. */
  async removeObject(work: ObjectWork, signal: AbortSignal): Promise<void> {
    const { clock, judge, remover } = this.#with;
    if (progressOf(work).state === 'done') return;
    await this.#resultsOnLog(signal);
    const ended = await this.#endedEarlier(work);
    if (ended) return this.#record(work, ended);
    const measured = await this.#measuredBefore(work);
    const skipped = reasonToSkip(measured, signal);
    if (skipped) return this.#leave(measured, skipped);

    // 3. Judge it by fresh facts.
    const judgeNow = async () => judge.judge(work.entry.command, work.item, await work.plan());
    const judged = await unlessAborted(judgeNow(), signal);
    if (judged === undefined) return this.#leave(measured, STOPPED);
    if (judged.outcome !== 'may-go') {
      this.#noteStay(work.item, judged, clock.now());
      return this.#leave(measured, judged);
    }

    // 4. Take it in hand: in the journal on disk, or else announced on the log.
    const inHand = { since: clock.now(), name: nameOf(judged.object) };
    this.#progress(work, { state: 'in-hand', since: inHand.since });
    if (!(await this.#isTraced(work, signal))) return this.#leave(measured, STOPPED);

    // 5. Look again where the facts are older than a second: the journal takes time on a bad disk, and the log in its place.
    const fresh = freshFacts(judged, judgeNow, clock);
    // 6. Remove it by the call of its kind. Where that failed, see whether it is gone all the same.
    const called = await remover.remove(judged.object, fresh);
    const attempt = await remover.unlessGoneSoon(called, work.item, signal);

    await this.#measureAndRecord(measured, attempt, inHand, signal);
  }

  /** Steps 7 and 8. */
  async #measureAndRecord(
    work: MeasuredWork,
    attempt: Attempt,
    inHand: InHand,
    signal: AbortSignal,
  ): Promise<void> {
    const endedAt = this.#with.clock.now();
    const tookMs = durationMs(inHand.since, endedAt);

    // 7. Measure what became free. Whoever dies while that is waited for must not take an object that came back for one that
    // never went.
    if (attempt.outcome === 'removed') this.#progress(work, { state: 'removed', durationMs: tookMs });
    const actedAt = mayHaveActed(attempt, !isPodLogEntry(work.item)) ? endedAt : null;
    const after = actedAt ? await this.#measuredAfter(work, attempt, signal) : null;

    // 8. Record the result in the journal, from where it is published.
    const outcome = this.#outcomeOf(work, attempt, { after, tookMs, endedAt });
    this.#recordUnlessInterrupted(work, { outcome, actedAt, name: inHand.name });
  }

  // ---- Before the removal of an object

  /** Where the disk does not take the journal, the results of the last removal have to be on the log before the next one. */
  async #resultsOnLog(signal: AbortSignal): Promise<void> {
    const { journal } = this.#with;
    while (journal.kept() === 'memory' && journal.state().unpublished.length > 0 && !signal.aborted)
      await journal.changed(signal);
  }

  /** What an earlier process did to the object, where nothing is left to do; `undefined` where it is to be removed. */
  async #endedEarlier({ item, ...work }: ObjectWork): Promise<End | undefined> {
    const progress = progressOf(work);
    if (progress.state === 'removed') return this.#removedEarlier(item, progress.durationMs);
    if (progress.state !== 'in-hand') return undefined;
    const gone = await this.#with.remover.isGone(item);
    if (gone === null) return this.#mayBeRemoved(item, 'the runtime does not list what it holds');
    return gone ? this.#goneSince(item, progress.since) : undefined;
  }

  async #measuredBefore(work: ObjectWork): Promise<MeasuredWork> {
    const before = await this.#with.gauge.read(measuredFilesystem(work.entry.command));
    const progress = progressOf(work);
    // Log files are removed by the executor itself, so nobody is at them any more.
    const isInterrupted = progress.state === 'in-hand' && !isPodLogEntry(work.item);
    return { ...work, before, interruptedSince: isInterrupted ? progress.since : null };
  }

  #progress({ entry, index }: ObjectOfCommand, progress: ItemProgress): void {
    this.#with.journal.update((state) => progressed(state, { commandId: entry.command.id, index }, progress));
  }

  /** Whether the object is in hand in the journal on disk, or else announced on the log. False where it was stopped before. */
  async #isTraced(
    { entry: { command, trace }, index, item }: ObjectWork,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { journal, reporter } = this.#with;
    if (journal.kept() === 'disk') return true;
    const intent = removalIntent(reporter(), command, { index, item });
    journal.update((state) => withUnpublished(state, { trace, output: resultOutput(intent) }));
    await this.#resultsOnLog(signal);
    return journal.kept() === 'disk' || journal.state().unpublished.length === 0;
  }

  // ---- What became of an object

  /** The runtime was not asked for it. */
  #leave(work: MeasuredWork, outcome: ObjectOutcome): void {
    this.#recordUnlessInterrupted(work, { outcome, actedAt: null, name: null });
  }

  /** Why an object is there still, or is not, matters to the next plan. */
  #noteStay(item: CommandItem, stays: Stays, at: Instant): void {
    const { backoff } = this.#with;
    if (stays.outcome === 'not-found') backoff.forget(item);
    else if (LASTING_REFUSALS.includes(stays.reason)) backoff.failed(item, at.wallTimeMs);
  }

  /** Sizes of containers are not known, so only the end of their command waits for the space they free. */
  #measuredAfter(
    { entry: { command }, item, before }: MeasuredWork,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<Reading | null> {
    const estimate = estimateOf(item);
    const expectation = {
      filesystem: measuredFilesystem(command),
      target: command.reclaim?.target ?? null,
      before,
      estimatedBytes: BigInt(estimate ?? 0),
      waitMs: estimate !== null && attempt.outcome !== 'failed' ? SETTLE_MS : 0,
    };
    return this.#with.gauge.settled(expectation, signal);
  }

  #outcomeOf(
    { entry, item, before }: MeasuredWork,
    attempt: Attempt,
    {
      after,
      tookMs,
      endedAt,
    }: { readonly after: Reading | null; readonly tookMs: number; readonly endedAt: Instant },
  ): ObjectOutcome {
    const { backoff, metrics } = this.#with;
    switch (attempt.outcome) {
      case 'refused':
      case 'not-found':
        this.#noteStay(item, attempt, endedAt);
        return attempt;
      case 'failed':
        return { ...attempt, backoffUntilMs: backoff.failed(item, endedAt.wallTimeMs).untilMs };
      case 'removed':
        backoff.forget(item);
        metrics.removalSeconds.observe({ kind: item.kind }, tookMs / 1000);
        return {
          outcome: 'removed',
          measured: measuredBetween(entry.command, before, after),
          estimatedBytes: estimateOf(item),
          durationMs: tookMs,
        };
    }
  }

  /** A runtime goes on with what it was asked for: what this process leaves alone may go all the same. */
  #recordUnlessInterrupted(work: MeasuredWork, end: End): void {
    const { item, interruptedSince } = work;
    this.#record(work, interruptedSince === null ? end : this.#afterInterrupted(item, interruptedSince, end));
  }

  #afterInterrupted(item: CommandItem, askedAt: Instant, end: End): End {
    const { outcome } = end;
    switch (outcome.outcome) {
      case 'removed':
      case 'failed':
        return end;
      case 'not-found':
        return this.#goneSince(item, askedAt);
      case 'refused':
      case 'not-needed':
      case 'not-done':
        return this.#mayBeRemoved(item, `it is left alone now (${outcome.message})`);
    }
  }

  /** By this process or the one before it: either way it is gone, and nothing is measured of it any more. */
  #goneSince(item: CommandItem, askedAt: Instant): End {
    return this.#removedEarlier(item, durationMs(askedAt, this.#with.clock.now()));
  }

  #removedEarlier(item: CommandItem, tookMs: number): End {
    return { outcome: unmeasured(item, tookMs), actedAt: this.#with.clock.now(), name: null };
  }

  /** Nobody knows that it stays: a refusal would say that nothing was done. */
  #mayBeRemoved(item: CommandItem, seen: string): End {
    const actedAt = this.#with.clock.now();
    const outcome: ObjectOutcome = {
      outcome: 'failed',
      reason: 'deadline-exceeded',
      message: `it was being removed when an earlier process ended, and ${seen}: the runtime may have removed it, or may do so yet`,
      backoffUntilMs: this.#with.backoff.failed(item, actedAt.wallTimeMs).untilMs,
    };
    return { outcome, actedAt, name: null };
  }

  /** One write: the object is done, its result is to be published, and the kind of object was acted on. */
  #record(
    { entry: { command, trace }, index, item }: ObjectOfCommand,
    { outcome, actedAt, name }: End,
  ): void {
    const { journal, reporter, metrics, spans, logger } = this.#with;
    if (item.kind === 'image') this.#noteHistory(item.id, outcome);
    const result = objectResult(reporter(), command, { index, item }, outcome);
    journal.update((state) =>
      withAction(
        withUnpublished(
          progressed(state, { commandId: command.id, index }, { state: 'done', outcome: outcome.outcome }),
          { trace, output: resultOutput(result) },
        ),
        item.kind,
        actedAt && actionOf(command, actedAt),
      ),
    );
    countObject(metrics, command, item, outcome);
    if (actedAt !== null) spans?.objectEnded(item, outcome, actedAt);
    const what = { commandId: command.id, kind: item.kind, id: item.id, ...(name && { name }) };
    logger.info({ ...what, ...outcome }, 'object done');
  }

  /** What went, or may go yet, is another image when it comes back. */
  #noteHistory(imageId: string, outcome: ObjectOutcome): void {
    const { removedImages, lateRemovals, clock } = this.#with;
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

  // ---- The end of a command

  async #refuse(entry: JournalEntry, refusal: Refusal<CommandRefusal>): Promise<void> {
    const { journal, reporter, logger } = this.#with;
    const { command } = entry;
    const next = afterRefusal(command, {
      ...(await this.#measuredNow(command)),
      reason: refusal.reason,
      isContinued: isContinuedBy(command, journal.state().lastActions),
      at: await this.#afterLastAction(),
    });
    const result = commandRefused(reporter(), command, refusal);
    const events = [result, ...(next ? [next] : [])].map(toPublish(entry));
    journal.update((state) => finished(state, command.id, events));
    this.#ended(command.id, result.result, next);
    logger.warn({ commandId: command.id, ...refusal }, 'command refused');
  }

  async #finish(
    { entry, aimed, isWanted }: CarriedOut,
    first: Reading | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { command } = entry;
    const items = this.#find(command.id)?.items ?? [];
    const after = await this.#readingAtEnd(aimed.command, first, count(items, 'removed') > 0, signal);
    const reached = measurement(aimed.command, after);
    const isHolding = holding(await this.#with.restrictions()) !== undefined;
    const at = await this.#afterLastAction();
    const next = isWanted ? afterCommand(command, { ...reached, items, isHolding, at }) : undefined;
    const measured = measuredBetween(aimed.command, first, after);
    this.#recordDone(entry, { items, measured, targetReached: reached.targetReached }, next);
  }

  /** The command is over; `next` is what follows for its reclaim. */
  #recordDone(entry: JournalEntry, ending: Ending, next: AfterCommand | undefined): void {
    const { journal, reporter, logger } = this.#with;
    const { command } = entry;
    const who = reporter();
    const pass: Pass = { command, ending, next };
    const result = commandDone(who, command, ending);
    const problems = passProblems(pass, journal.state()).map((problem) =>
      passFailed(who, command, ending, problem),
    );
    const events = [result, ...problems, ...(next ? [next] : [])].map(toPublish(entry));
    journal.update((state) => finished(withPass(state, pass), command.id, events));
    this.#ended(command.id, result.result, next);
    logger.info({ commandId: command.id, kind: command.kind, ...result.result }, 'command done');
  }

  #ended(
    commandId: string,
    result: ReturnType<typeof commandDone>['result'],
    next: AfterCommand | undefined,
  ): void {
    const { spans, metrics } = this.#with;
    spans?.commandEnded(commandId, result);
    metrics.commands.add({ outcome: result.outcome === 'refused' ? result.reason : 'done' });
    if (next?.type === 'fleetgc.node.pressure-unrelieved') metrics.unrelieved.add({});
  }

  /** After images it was waited each time, containers are waited for all together. */
  #readingAtEnd(
    command: Command,
    first: Reading | null,
    hasRemoved: boolean,
    signal: AbortSignal,
  ): Promise<Reading | null> {
    const expectation = {
      filesystem: measuredFilesystem(command),
      target: command.reclaim?.target ?? null,
      before: first,
      estimatedBytes: 0n,
      waitMs: hasRemoved ? SETTLES_WITHIN_MS[command.kind] : 0,
    };
    return this.#with.gauge.settled(expectation, signal);
  }

  /** For the end of a command at which nothing is removed any more; measuring may be what failed before. */
  async #measuredNow(command: Command): Promise<Omit<Measurement, 'at'>> {
    if (command.reclaim === null) return NO_TARGET;
    const reading = await this.#with.gauge.read(measuredFilesystem(command)).catch(() => null);
    return measurement(command, reading);
  }

  /** An inventory that follows must be certainly later than what was done, or its command would count as overtaken. */
  async #afterLastAction(): Promise<Instant> {
    const { journal, clock, sleep } = this.#with;
    const actions = Object.values(journal.state().lastActions).flatMap((action) => action ?? []);
    const isPast = (now: Instant): boolean =>
      actions.every(({ at }) => at.bootId !== now.bootId || at.sinceBootMs < now.sinceBootMs);
    for (let ticks = 0; ticks < MAX_TICKS && !isPast(clock.now()); ticks++) await sleep(TICK_MS);
    return clock.now();
  }

  #find(commandId: string): JournalEntry | undefined {
    return this.#with.journal.state().entries.find(({ command }) => command.id === commandId);
  }

  // ---- A command that cannot be brought to its end

  /**
   * What nobody foresaw must not come back at every start: the command ends, and the reports and the log say why. What was
   * in hand may be gone: that counts as an action. Where even that fails, the command ends all the same.
   */
  async #abandon(commandId: string, thrown: unknown): Promise<void> {
    const error = toFleetGcError(thrown);
    this.#with.logger.error({ commandId, err: error.cause ?? error }, 'command abandoned');
    const entry = this.#find(commandId);
    if (!entry) return;
    for (const [index, item] of entry.command.items.entries())
      await this.#try({ commandId, id: item.id }, () =>
        this.#recordAbandoned({ entry, index, item }, error.message),
      );
    await this.#try({ commandId }, () => this.#recordAbandonedEnd(entry));
    const left = this.#find(commandId);
    if (left) this.#endUnreported(left);
  }

  async #try(what: Readonly<Record<string, string>>, record: () => void | Promise<void>): Promise<void> {
    try {
      await record();
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      this.#with.logger.error(
        { ...what, err: error.cause ?? error },
        'what became of an abandoned command is not reported',
      );
    }
  }

  #recordAbandoned(object: ObjectOfCommand, problem: string): void {
    const progress = progressOf(object);
    const outcome = abandoned(object.item, progress, problem);
    if (!outcome) return;
    const actedAt = progress.state === 'waiting' ? null : this.#with.clock.now();
    this.#record(object, { outcome, actedAt, name: null });
  }

  async #recordAbandonedEnd(entry: JournalEntry): Promise<void> {
    const { command } = entry;
    const items = this.#find(command.id)?.items ?? [];
    const reached = await this.#measuredNow(command);
    const next = afterAbandoned(command, { ...reached, items, at: this.#with.clock.now() });
    this.#recordDone(entry, { items, measured: null, targetReached: reached.targetReached }, next);
  }

  /** Without a report, which nobody could write; what was or may have been done of the command counts as an action. */
  #endUnreported({ command, items }: JournalEntry): void {
    const { journal, clock } = this.#with;
    const action = actionOf(command, clock.now());
    const kinds = command.items.flatMap(({ kind }, index) =>
      isUnreportedAction(items[index]) ? [kind] : [],
    );
    journal.update((state) =>
      finished(
        kinds.reduce((acting, kind) => withAction(acting, kind, action), state),
        command.id,
        [],
      ),
    );
  }
}

/** A command whose objects are all done. */
interface CarriedOut {
  readonly entry: JournalEntry;
  /** With the target of this node's first plan, by which it was measured before its first object. */
  readonly aimed: JournalEntry;
  /** Whether its reclaim may go on. */
  readonly isWanted: boolean;
}

const aimedAt = (entry: JournalEntry, { reclaim }: OwnPlan): JournalEntry => ({
  ...entry,
  command: { ...entry.command, reclaim },
});

const WAITING: ItemProgress = { state: 'waiting' };

const progressOf = ({ entry, index }: Omit<ObjectOfCommand, 'item'>): ItemProgress =>
  entry.items[index] ?? WAITING;

const STOPPED: ObjectOutcome = { outcome: 'not-done', message: 'the executor was stopped' };
const UNMEASURED: ObjectOutcome = {
  outcome: 'not-done',
  message: 'the filesystem cannot be measured, so nobody can see when the target is reached',
};

function reasonToSkip({ entry, before }: MeasuredWork, signal: AbortSignal): ObjectOutcome | undefined {
  if (signal.aborted) return STOPPED;
  const { reclaim } = entry.command;
  if (reclaim === null) return undefined;
  const reached = isReached(reclaim.target, before);
  if (reached === null) return UNMEASURED;
  return reached ? { outcome: 'not-needed', message: 'the target is reached, as measured' } : undefined;
}

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

/** What is known of a removal when nobody is there to measure what it freed. */
const unmeasured = (item: CommandItem, tookMs: number): ObjectOutcome => ({
  outcome: 'removed',
  measured: null,
  estimatedBytes: estimateOf(item),
  durationMs: tookMs,
});

/** Sizes of anything but images are not known before. */
const estimateOf = (item: CommandItem): number | null =>
  'estimatedBytes' in item ? item.estimatedBytes : null;

/** Over a reboot nobody knows, nor from a moment that has not come. */
const durationMs = (since: Instant, until: Instant): number =>
  since.bootId === until.bootId ? Math.max(0, until.sinceBootMs - since.sinceBootMs) : 0;

const actionOf = ({ id, reclaim }: Command, at: Instant): LastAction => ({
  at,
  commandId: id,
  ...(reclaim && { reclaimId: reclaim.id }),
});

function withAction(state: JournalState, kind: CommandItem['kind'], action: LastAction | null): JournalState {
  if (action === null) return state;
  return { ...acted(state, kind, action), removalRate: withRemoval(state.removalRate, action.at) };
}

const isUnreportedAction = (progress: ItemProgress | undefined): boolean =>
  progress?.state === 'in-hand' || progress?.state === 'removed';

const toPublish =
  ({ trace }: JournalEntry) =>
  (event: Unpublished['output']['event']): Unpublished => ({ trace, output: resultOutput(event) });

const NO_TARGET = { targetReached: null, availableNow: null };

function measurement({ reclaim }: Command, reading: Reading | null): Omit<Measurement, 'at'> {
  if (reclaim === null) return NO_TARGET;
  const { target } = reclaim;
  return { targetReached: isReached(target, reading), availableNow: reading?.[target.resource] ?? null };
}

const SETTLES_WITHIN_MS: Readonly<Record<RemovalKind, number>> = {
  'image-removal': 0,
  'container-removal': SETTLE_MS,
};

/** What was free before the first removal of a command; one that an earlier process began is measured from its beginning. */
function firstReading({ before }: JournalEntry, now: Reading | null): Reading | null {
  if (before === null) return now;
  const { availableBytes, inodesFree } = before;
  if (availableBytes === null) return null;
  return {
    availableBytes: BigInt(availableBytes),
    inodesFree: inodesFree === null ? null : BigInt(inodesFree),
  };
}

/** As the journal keeps it. */
const kept = (reading: Reading | null): NonNullable<JournalEntry['before']> => ({
  availableBytes: digitsOf(reading?.availableBytes ?? null),
  inodesFree: digitsOf(reading?.inodesFree ?? null),
});

/** `undefined`: it has its result. */
function abandoned(item: CommandItem, progress: ItemProgress, problem: string): ObjectOutcome | undefined {
  switch (progress.state) {
    case 'done':
      return undefined;
    case 'removed':
      return unmeasured(item, progress.durationMs);
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
