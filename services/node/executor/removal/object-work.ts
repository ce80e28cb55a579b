import type { RuntimeReader, RuntimeRemover } from '../../../../packages/cri/port.ts';
import type { FilesystemReader } from '../../../../packages/machine/filesystem.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import type { JudgeTools } from '../checks/judge-object.ts';
import type { OwnFactsSince, OwnPlan } from '../checks/own-plan.ts';
import type { CommandItem } from '../checks/removable.ts';
import { type ItemProgress, type JournalEntry, progressed } from '../journal/journal-state.ts';
import type { Recorder } from '../results/record-results.ts';
import type { InterruptedRemoval } from './interrupted-removal.ts';
import type { Reading } from './measure.ts';

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
export const progressOf = ({ entry, index }: ObjectWork): ItemProgress => entry.items[index] ?? WAITING;

export const progressTo = (
  { entry, index }: ObjectWork,
  progress: ItemProgress,
  { journal }: Recorder,
): void => journal.update((state) => progressed(state, { commandId: entry.command.id, index }, progress));

export const interruptedOf = (work: ObjectWork): InterruptedRemoval | null => {
  const progress = progressOf(work);
  return progress.state === 'in-hand' ? { item: work.item, askedAt: progress.since } : null;
};
