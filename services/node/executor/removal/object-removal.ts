import type { ObjectOutcome } from '../../../../schemas/events/result.ts';
import { type FreshFacts, factsAlone, freshFacts } from '../checks/fresh-facts.ts';
import { judgeObject } from '../checks/judge-object.ts';
import { isPodLogEntry, nameOf, type Removable } from '../checks/removable.ts';
import type { RuntimeFacts } from '../checks/runtime-facts.ts';
import type { Journal } from '../journal/journal.ts';
import { announce, recordItem } from '../results/record-results.ts';
import { isGone, unlessGoneSoon } from './gone.ts';
import { type End, goneSince, mayBeRemoved, removedEarlier } from './interrupted-removal.ts';
import { isReached, measuredFilesystem, readFilesystem } from './measure.ts';
import {
  interruptedOf,
  type MeasuredWork,
  type ObjectWork,
  progressOf,
  progressTo,
  type RemovalParts,
} from './object-work.ts';
import { recordAttempt, recordEnd } from './record-attempt.ts';
import type { Attempt } from './removal-attempt.ts';
import { removeContainer } from './remove-container.ts';
import { removeImage } from './remove-image.ts';
import { removeLogSymlink, removePodLogDirectory } from './remove-pod-log-entry.ts';
import { removeSandbox } from './remove-sandbox.ts';

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
  await recorded(recorder.journal, signal);
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
  await recorded(journal, signal);
  return journal.kept() === 'disk' || journal.state().unpublished.length === 0;
}

/** Where the disk does not take the journal, the results of the last removal have to be on the log before the next one. */
async function recorded(journal: Journal, signal: AbortSignal): Promise<void> {
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
