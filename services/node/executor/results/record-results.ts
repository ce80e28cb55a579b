import type { Logger } from 'pino';
import { type FreedSpace, freedSpace } from '../../../../packages/decision/freed-space.ts';
import type { NodeClock } from '../../../../packages/machine/clock.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { NodeIdentity } from '../../../../schemas/events/identity.ts';
import type { CommandRefusal, ObjectOutcome } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { CommandItem } from '../checks/removable.ts';
import type { Journal } from '../journal/journal.ts';
import {
  acted,
  finished,
  type ItemProgress,
  type JournalEntry,
  type JournalState,
  type LastAction,
  progressed,
  withUnpublished,
} from '../journal/journal-state.ts';
import { withRemoval } from '../local/removal-rate.ts';
import type { ExecutorMetrics } from '../metrics.ts';
import type { CommandSpans } from './command-spans.ts';
import type { LateRemovals, RemovedImages } from './late-removals.ts';
import { type Pass, passProblems, withPass } from './pass-problems.ts';
import type { AfterCommand } from './reclaim.ts';
import type { BackoffTable } from './removal-backoff.ts';
import {
  commandDone,
  commandRefused,
  type Ending,
  objectResult,
  passFailed,
  type Refusal,
  type Reporter,
  removalIntent,
  resultOutput,
} from './results.ts';

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
export interface ItemEnd {
  readonly index: number;
  readonly item: CommandItem;
  readonly outcome: ObjectOutcome;
  readonly actedAt: Instant | null;
  /** For the log lines; `null` where the runtime was not asked for it, or has it not any more. */
  readonly name: string | null;
}

/** One write: the object is done, its result is to be published, and the kind of object was acted on. */
export function recordItem(recorder: Recorder, { command, trace }: JournalEntry, end: ItemEnd): void {
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
export function announce(
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
export function recordDone(
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
export function recordUnreported({ journal, clock }: Recorder, { command, items }: JournalEntry): void {
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
export function recordRefused(
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
