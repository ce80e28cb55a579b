import type { NodeClock } from '../../../../packages/machine/clock.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { PodLogAccess } from '../node-files.ts';
import { type Attempt, NOT_FOUND, refused } from '../removal/removal-attempt.ts';
import { isPodLogEntryGone } from '../removal/remove-pod-log-entry.ts';
import type { Refusal } from '../results/results.ts';
import type { Restrictions } from './command-checks.ts';
import type { OwnPlan } from './own-plan.ts';
import { askForPods, type PodsNow, podReturnRefusal } from './pod-return.ts';
import { type CommandItem, isPodLogEntry, type Removable } from './removable.ts';
import type { FactsReading } from './runtime-facts.ts';
import { refusalBeforeLook, secondLook } from './second-look.ts';

export interface JudgeTools {
  readonly clock: NodeClock;
  readonly readFacts: () => Promise<FactsReading>;
  readonly podsNow: PodsNow | null;
  /** Read anew each time. */
  readonly restrictions: () => Promise<Restrictions>;
  readonly podLogs: PodLogAccess;
}

/** An object that may go, and the facts by which it may; or what came of it without a removal. */
export type Judgement =
  | {
      readonly mayGo: true;
      readonly object: Removable;
      readonly reading: Extract<FactsReading, { ok: true }>;
    }
  | { readonly mayGo: false; readonly attempt: Attempt };

/**
 * Judges one object of a command by facts of this moment. The command only names it: all else that is said of it comes
 * from this node's own plan. Never rejects, and has no effect.
 */
export async function judgeObject(
  command: Command,
  named: CommandItem,
  plan: Pick<OwnPlan, 'itemOf'>,
  tools: JudgeTools,
): Promise<Judgement> {
  const early = refusalBeforeLook(command, named, await tools.restrictions(), tools.clock.now());
  if (early) return stays(refused(early));
  const own = plan.itemOf(named);
  return 'reason' in own ? judgeKept(command, named, own, tools) : judgePlanned(command, own, tools);
}

async function judgePlanned(command: Command, item: CommandItem, tools: JudgeTools): Promise<Judgement> {
  const pods = await askForPods(item, tools.podsNow, tools.clock.now);
  const looked = await lookNow(command, item, tools);
  if (!looked.mayGo) return looked;
  const { listing } = looked.reading.facts;
  const refusal = podReturnRefusal(looked.object, pods, listing, tools.clock.now());
  return refusal ? stays(refused(refusal)) : looked;
}

/** What this node keeps may be gone by now, or stay for a reason that tells more. */
async function judgeKept(
  command: Command,
  named: CommandItem,
  kept: Refusal,
  tools: JudgeTools,
): Promise<Judgement> {
  const looked = await lookNow(command, named, tools);
  if (!looked.mayGo) return looked;
  // Of entries of log directories the look does not tell that they are gone (M31).
  const isGone = isPodLogEntry(named) && (await isPodLogEntryGone(named.kind, named.id, tools.podLogs));
  return stays(isGone ? NOT_FOUND : refused(kept));
}

async function lookNow(command: Command, item: CommandItem, tools: JudgeTools): Promise<Judgement> {
  const reading = await tools.readFacts();
  if (!reading.ok) return stays(refused({ reason: 'runtime-unavailable', message: reading.message }));
  // Last: a kubelet or a runtime that takes its time lets nothing go that was forbidden meanwhile.
  const restrictions = await tools.restrictions();
  const verdict = secondLook(command, item, reading.facts, { restrictions, now: tools.clock.now() });
  switch (verdict.action) {
    case 'remove':
      return { mayGo: true, object: verdict.object, reading };
    case 'none':
      return stays(NOT_FOUND);
    case 'refuse':
      return stays(refused(verdict.refusal));
  }
}

const stays = (attempt: Attempt): Judgement => ({ mayGo: false, attempt });
