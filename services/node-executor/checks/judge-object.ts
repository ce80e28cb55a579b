import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { LogRoots } from '../node-files.ts';
import { type Attempt, NOT_FOUND, refused } from '../removal/removal-attempt.ts';
import { isLogGone } from '../removal/remove-log-entry.ts';
import type { Restrictions } from './command-checks.ts';
import type { OwnPlan } from './own-plan.ts';
import { askForPods, type PodsNow, podReturnRefusal } from './pod-return.ts';
import { type CommandItem, isLog, type Removable } from './removable.ts';
import { type FactsReading, isFresh, type RuntimeFacts } from './runtime-facts.ts';
import { refusalBeforeLook, secondLook } from './second-look.ts';

/** So often the facts may grow old between the judgement and the removal, before the object is left alone. */
const MAX_JUDGEMENTS = 3;

export interface JudgeTools {
  readonly clock: NodeClock;
  readonly readFacts: () => Promise<FactsReading>;
  readonly podsNow: PodsNow | null;
  /** Read anew each time. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly logs: LogRoots;
}

/** An object that may go, and the facts by which it may; or what came of it without a removal. */
export type Judgement =
  | {
      readonly mayGo: true;
      readonly object: Removable;
      readonly reading: Extract<FactsReading, { ok: true }>;
    }
  | { readonly mayGo: false; readonly attempt: Attempt };

/** A judgement of an object that is half removed: what the runtime holds now, or why the rest is left undone. */
export type JudgeAgain = () => Promise<RuntimeFacts | Attempt>;

/** Judges one object of a command by facts of this moment. Never rejects, and has no effect. */
export async function judgeObject(
  command: Command,
  item: CommandItem,
  plan: Pick<OwnPlan, 'refusalOf'>,
  tools: JudgeTools,
): Promise<Judgement> {
  const early = refusalBeforeLook(command, item, await tools.restrictions(), tools.clock.now());
  if (early) return stays(refused(early));
  const pods = await askForPods(item, tools.podsNow, tools.clock.now);
  // Read anew: the kubelet may have taken its time.
  const restrictions = await tools.restrictions();
  const reading = await tools.readFacts();
  if (!reading.ok) return stays(refused({ reason: 'runtime-unavailable', message: reading.message }));
  const now = tools.clock.now();
  const verdict = secondLook(command, item, reading.facts, { restrictions, now });
  switch (verdict.action) {
    case 'remove': {
      const kept = plan.refusalOf(item);
      // Of entries of log directories the look does not tell that they are gone (M31).
      if (kept && isLog(item) && (await isLogGone(item.kind, item.id, tools.logs))) return stays(NOT_FOUND);
      const { object } = verdict;
      const refusal = kept ?? podReturnRefusal(object, pods, reading.facts.listing, now);
      return refusal ? stays(refused(refusal)) : { mayGo: true, object, reading };
    }
    case 'none':
      return stays(NOT_FOUND);
    case 'refuse':
      return stays(refused(verdict.refusal));
  }
}

const stays = (attempt: Attempt): Judgement => ({ mayGo: false, attempt });

/** Writing the journal takes time on a bad disk: an object whose facts grew old meanwhile is judged again. */
export async function judgedOnFreshFacts(
  first: Judgement,
  judge: () => Promise<Judgement>,
  clock: NodeClock,
): Promise<Judgement> {
  let last = first;
  for (let count = 1; last.mayGo && !isFresh(last.reading, clock.now()); count++) {
    if (count === MAX_JUDGEMENTS) return stays(TOO_SLOW);
    last = await judge();
  }
  return last;
}

const TOO_SLOW: Attempt = refused({
  reason: 'runtime-unavailable',
  message: 'the runtime and the disk are too slow to remove on facts of the last second',
});
