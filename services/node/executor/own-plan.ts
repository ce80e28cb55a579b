import { decide as decideContainers } from '../../../packages/deciders/container-gc/decide.ts';
import { decide as decideImages } from '../../../packages/deciders/image-gc/decide.ts';
import { idsIn } from '../../../packages/decision/inventory-entries.ts';
import { whyNotMetLately } from '../../../packages/decision/thresholds/met-lately.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import type { RemovalKind } from '../../../schemas/events/object-kinds.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type CommandItem, commandRefusal, NO_POLICY, type Restrictions } from './checks.ts';
import type { Refusal } from './reports.ts';

/**
 * An inventory as if `reclaim` had asked for it, of a scan begun at most a second before and after `actions`, what was
 * last done on this node.
 */
export type TakeInventory = (reclaim: Reclaim | null, actions: readonly Instant[]) => Promise<Inventory>;

/** What an executor decides on, which nobody else had a hand in. */
export interface OwnFacts {
  readonly takeInventory: TakeInventory;
  /** What the disks had free in the last two hours, as far as this process knows. */
  readonly diskHistory: () => DiskStats['history'];
}

/** The same, for who has acted on it before. */
export interface OwnFactsSince extends OwnFacts {
  readonly lastActions: () => readonly Instant[];
}

/** What this node would remove now by its own facts, under the policy in force here. */
export interface OwnPlan {
  /** With the target that policy and disk justify, which is never more than the command's; `null` where there is none. */
  readonly reclaim: Reclaim | null;
  /**
   * An object of the command as this node's own decider made it, with all by which it is judged and removed; or why it
   * stays all the same.
   */
  readonly itemOf: (named: CommandItem) => CommandItem | Refusal;
}

/**
 * A command can take ten minutes, in which its first plan becomes wrong. A plan scans the whole node, so one for each
 * object would cost more than the removals; so long a scan after the last one is no load.
 * @limit Age of the executor's own plan that confirms a command.
 */
const MAX_PLAN_AGE_MS = 10_000;

/** Makes this node's own plans. */
export class Planner {
  readonly #own: OwnFactsSince;
  readonly #restrictions: () => Promise<Restrictions>;
  readonly #clock: NodeClock;

  constructor(own: OwnFactsSince, restrictions: () => Promise<Restrictions>, clock: NodeClock) {
    this.#own = own;
    this.#restrictions = restrictions;
    this.#clock = clock;
  }

  /** The own plan for a command, made anew where it is old when it is asked for. The function never rejects. */
  plansFor(command: Command): () => Promise<OwnPlan> {
    let last: { readonly plan: OwnPlan; readonly madeAt: Instant } | null = null;
    return async () => {
      if (last !== null && isYoung(last.madeAt, this.#clock.now())) return last.plan;
      const plan = await this.#make(command);
      // From its end: before each object a runtime that is slow to scan would else be scanned.
      last = { plan, madeAt: this.#clock.now() };
      return plan;
    };
  }

  /** By the policy in force at this moment; what holds the whole command up holds up each of its objects. */
  async #make(command: Command): Promise<OwnPlan> {
    const restrictions = await this.#restrictions();
    const { policy } = restrictions;
    const refusal = commandRefusal(command, restrictions, this.#clock.now());
    if (refusal) return nothingPlanned(command.reclaim, refusal);
    if (policy.kind !== 'enforced') return nothingPlanned(command.reclaim, NO_POLICY);
    return await ownPlan(command, policy.record.policy, this.#own);
  }
}

const isYoung = (madeAt: Instant, now: Instant): boolean =>
  now.bootId === madeAt.bootId && now.sinceBootMs - madeAt.sinceBootMs <= MAX_PLAN_AGE_MS;

/**
 * Decides once more, with the decider whose command it is, on an inventory that nobody else had a hand in. A command only
 * chooses among what comes out. Never rejects: without an inventory nothing goes.
 */
export async function ownPlan(command: Command, policy: Policy, own: OwnFactsSince): Promise<OwnPlan> {
  try {
    const inventory = await own.takeInventory(command.reclaim, own.lastActions());
    if (inventory.status !== 'complete') return nothingPlanned(command.reclaim, blind(problemOf(inventory)));
    const unmet = whyUnmet(inventory, own.diskHistory(), policy);
    return unmet === null ? planned(command, inventory, policy) : nothingPlanned(null, unmet);
  } catch (error) {
    return nothingPlanned(command.reclaim, blind(toFleetGcError(error).message));
  }
}

/** A command only tells of the readings with which its reclaim began. */
function whyUnmet(
  { reclaim, filesystems, takenAt }: CompleteInventory,
  history: DiskStats['history'],
  policy: Policy,
): Refusal | null {
  if (reclaim === null) return null;
  const why = whyNotMetLately(reclaim, { filesystems, history, nowMs: takenAt.sinceBootMs }, policy);
  return why === null ? null : { reason: 'kept-by-own-plan', message: why };
}

const planned = (command: Command, inventory: CompleteInventory, policy: Policy): OwnPlan =>
  planOf(inventory, DECIDED[command.kind](inventory, policy));

/** What the decider of each removal says now; of the first, why it keeps what it keeps. */
const DECIDED: Readonly<
  Record<RemovalKind, (inventory: CompleteInventory, policy: Policy) => readonly Decided[]>
> = {
  'image-removal': (inventory, policy) => [decideImages(inventory, policy)],
  'container-removal': (inventory, policy) => [
    decideContainers(inventory, policy),
    decideContainers(afterDeaths(inventory), policy),
  ],
};

/** Every container that is not running has died some time, after which some of its unit go at once (G23). */
const afterDeaths = (inventory: CompleteInventory): CompleteInventory => ({
  ...inventory,
  trigger: 'container-died',
  diedContainerIds: inventory.containers.filter(({ state }) => state !== 'running').map(({ id }) => id),
});

type Decided = Pick<
  ReturnType<typeof decideImages> | ReturnType<typeof decideContainers>,
  'outcome' | 'reason' | 'reclaim' | 'verdicts'
> & { readonly items: readonly CommandItem[] };

function planOf(inventory: CompleteInventory, decided: readonly Decided[]): OwnPlan {
  const going = new Map(
    decided.flatMap(({ outcome, items }) =>
      outcome === 'commanded' ? items.map((item) => [nameOf(item), item] as const) : [],
    ),
  );
  const [first] = decided;
  return {
    reclaim: first?.reclaim ?? null,
    itemOf: (named) => going.get(nameOf(named)) ?? keptBecause(named, inventory, first),
  };
}

const nameOf = ({ kind, id }: CommandItem): string => `${kind} ${id}`;

function keptBecause(
  { kind, id }: CommandItem,
  inventory: CompleteInventory,
  decided: Decided | undefined,
): Refusal {
  const position = idsIn(inventory, kind).indexOf(id);
  if (position < 0)
    return { reason: 'first-detected-later', message: 'it was not there when this node looked for itself' };
  const verdict = decided?.verdicts.find((one) => one.kind === kind && one.position === position);
  const by = verdict === undefined ? '' : ` by rule ${verdict.rule}`;
  const message = `this node keeps it now${by}, as it decides itself: ${decided?.reason ?? 'nothing was decided'}`;
  return { reason: 'kept-by-own-plan', message };
}

/** Nothing of the command goes, for one reason. */
const nothingPlanned = (reclaim: Reclaim | null, refusal: Refusal): OwnPlan => ({
  reclaim,
  itemOf: () => refusal,
});

const blind = (problem: string): Refusal => ({
  reason: 'runtime-unavailable',
  message: `this node cannot see for itself what may go, so nothing does: ${problem}`,
});

const problemOf = (inventory: Exclude<Inventory, CompleteInventory>): string =>
  inventory.status === 'incomplete'
    ? inventory.problems.map(({ message }) => message).join('; ')
    : 'it holds more than an inventory can tell';
