import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { REMOVALS, RemovalKind } from '../../../schemas/events/object-kinds.ts';
import {
  atNextAction,
  MAX_RECLAIM_ROUNDS,
  type Reclaim,
  type ReclaimAction,
} from '../../../schemas/events/reclaim.ts';
import type { ObjectResult, Removed } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type FreedSpace, freedSpace } from '../../decision/freed-space.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';
import { altered, shiftBy } from './altered-inventory.ts';
import { type ComparedRun, RemovalSums, type RunSums, Shortages } from './compared-run.ts';
import { createUsageTime } from './disk-use.ts';
import type { MeasuredOf } from './measured-removals.ts';
import {
  type Deciding,
  decideRemoval,
  type PlannedItem,
  type RemovalDecider,
} from './simulated-decisions.ts';
import { SimulatedObjects } from './simulated-objects.ts';
import { SimulatedPressure } from './simulated-pressure.ts';
import { type Effect, imageEffect, keptEffect, measuredEffect, shiftedReadings } from './space-effects.ts';

export interface SimulatedRunParts {
  readonly deciding: Deciding;
  readonly regretWindowMs: number;
  readonly measuredOf: MeasuredOf;
}

/** Who decides in which step of a reclaim. */
const DECIDES_IN: Readonly<Record<ReclaimAction, RemovalDecider>> = {
  containers: 'container-gc',
  images: 'image-gc',
};

/** A recorded inventory that the simulated node is at. */
interface Now {
  readonly recorded: CompleteInventory;
  readonly atMs: number;
}

/** What would have become of a node under other policies. */
export class SimulatedRun implements ComparedRun {
  readonly #deciding: Deciding;
  readonly #measuredOf: MeasuredOf;
  readonly #objects: SimulatedObjects;
  readonly #pressure: SimulatedPressure;
  readonly #usage = createUsageTime();
  readonly #removals = new RemovalSums();
  readonly #shortages = new Shortages();
  #last: CompleteInventory | null = null;
  #guessed = 0;

  constructor({ deciding, regretWindowMs, measuredOf }: SimulatedRunParts) {
    this.#deciding = deciding;
    this.#measuredOf = measuredOf;
    this.#objects = new SimulatedObjects(regretWindowMs);
    this.#pressure = new SimulatedPressure(deciding);
  }

  inventory(recorded: CompleteInventory, atMs: number, policy: Policy | null): void {
    const now = { recorded, atMs };
    this.#last = recorded;
    this.#objects.follow(recorded, atMs);
    const before = this.#asItIs(recorded);
    this.#usage.at(atMs, before.filesystems.imagefs, policy);
    this.#shortages.inventory(before.filesystems);
    const reclaim = this.#pressure.reclaimAt(before, atMs);
    if (!reclaim?.actions.includes('images')) this.#decideAlone(reclaim, now);
    if (reclaim !== null && goThrough(reclaim, (at) => this.#step(at, now)))
      this.#shortages.unrelieved(reclaim.target);
    this.#usage.at(atMs, this.#disksNow(recorded).imagefs, policy);
    this.#pressure.differsBy(shiftBy(this.#objects.alteration(), recorded), recorded.takenAt);
  }

  diskStats(stats: DiskStats, atMs: number): void {
    this.#pressure.diskStats(stats, atMs);
  }

  wentAway(result: ObjectResult, removed: Removed, atMs: number): void {
    const object = this.#objects.find(result.object);
    if (object === undefined || this.#last === null) return;
    this.#objects.wentAway(result, keptEffect(object, removed, this.#last.filesystems), atMs);
  }

  /** Whether a reclaim misses its target is simulated too. */
  unrelieved(): void {}

  sums(): RunSums {
    return {
      ...this.#removals.totals(),
      guessed: this.#guessed,
      unrelieved: this.#shortages.count,
      ...this.#usage.sums(),
      ...this.#objects.told(),
    };
  }

  #asItIs(recorded: CompleteInventory): CompleteInventory {
    return altered(recorded, this.#objects.alteration());
  }

  #disksNow(recorded: CompleteInventory): FilesystemReadings {
    return shiftedReadings(recorded.filesystems, shiftBy(this.#objects.alteration(), recorded));
  }

  #step(reclaim: Reclaim, now: Now): StepOutcome {
    const decision = decideRemoval(
      DECIDES_IN[reclaim.step],
      { ...this.#asItIs(now.recorded), reclaim },
      this.#deciding,
    );
    const done = this.#carryOut(decision.items, reclaim, now);
    if (isGuess(reclaim)) this.#guessed += done.removed;
    const isEnough = isReached(reclaim, this.#disksNow(now.recorded));
    return { ...done, isReached: isEnough, toldUnrelieved: decision.unrelieved };
  }

  /** Without a reclaim each decides by itself, on the same inventory; images by age also beside a reclaim that has none. */
  #decideAlone(reclaim: Reclaim | null, now: Now): void {
    const inventory = { ...this.#asItIs(now.recorded), reclaim };
    const alone = RemovalKind.options
      .map((kind) => REMOVALS[kind].decider)
      .filter((decider) => reclaim === null || decider === 'image-gc');
    const decisions = alone.map((decider) => decideRemoval(decider, inventory, this.#deciding));
    for (const { items } of decisions) this.#carryOut(items, null, now);
  }

  /** The node stops where it measures that it is enough. */
  #carryOut(items: readonly PlannedItem[], reclaim: Reclaim | null, now: Now): Done {
    let done: Done = { removed: 0, unmeasured: 0 };
    for (const item of items)
      if (reclaim === null || !isReached(reclaim, this.#disksNow(now.recorded)))
        done = sum(done, this.#remove(item, now));
    return done;
  }

  #remove(item: PlannedItem, { recorded, atMs }: Now): Done {
    const object = this.#objects.find(item);
    if (object === undefined) return { removed: 0, unmeasured: 0 };
    const { freed, effect } = this.#expected(item, recorded);
    this.#objects.remove(object, effect, { atMs, wallTimeMs: recorded.takenAt.wallTimeMs });
    this.#removals.add(item.kind, freed);
    return { removed: 1, unmeasured: effect === null ? 1 : 0 };
  }

  /** Of an image as the plan estimates it; of the rest as the real node measured it. */
  #expected(item: PlannedItem, { filesystems }: CompleteInventory): ExpectedRemoval {
    if (item.estimatedBytes === undefined) {
      const freed = freedSpace(this.#measuredOf(item), null);
      return { freed, effect: measuredEffect(freed) };
    }
    return {
      freed: freedSpace(null, item.estimatedBytes),
      effect: imageEffect(BigInt(item.estimatedBytes), filesystems),
    };
  }
}

/** What a removal would free; `effect` is `null` where nobody knows. */
interface ExpectedRemoval {
  readonly freed: FreedSpace;
  readonly effect: Effect | null;
}

const sum = (a: Done, b: Done): Done => ({
  removed: a.removed + b.removed,
  unmeasured: a.unmeasured + b.unmeasured,
});

const isReached = ({ target }: Reclaim, disks: FilesystemReadings): boolean => missed(target, disks) === null;

/** Sizes do not tell how many inodes an image frees (M13). */
const isGuess = ({ step, target }: Reclaim): boolean => step === 'images' && target.resource === 'inodesFree';

/** What became of the objects of a command. */
interface Done {
  readonly removed: number;
  /** Of these, those of which nobody knows what they free. */
  readonly unmeasured: number;
}

interface StepOutcome extends Done {
  readonly isReached: boolean;
  /** The decider said that nothing more can go. */
  readonly toldUnrelieved: boolean;
}

/** Goes through the steps of a reclaim; whether it misses its target. */
function goThrough(begun: Reclaim, take: (reclaim: Reclaim) => StepOutcome): boolean {
  let unmeasured = 0;
  let reclaim = begun;
  for (;;) {
    const outcome = take(reclaim);
    unmeasured += outcome.unmeasured;
    if (outcome.isReached || outcome.toldUnrelieved) return outcome.toldUnrelieved;
    const next = following(reclaim, outcome.removed > 0);
    // With effects that nobody knows it may have been enough.
    if (next === null) return outcome.removed > 0 && unmeasured === 0;
    reclaim = next;
  }
}

/** As the executor and the deciders have it: images in rounds while these remove something, then the next action. */
const following = (reclaim: Reclaim, mayHelp: boolean): Reclaim | null =>
  reclaim.step === 'images' && mayHelp && reclaim.round < MAX_RECLAIM_ROUNDS
    ? { ...reclaim, round: reclaim.round + 1 }
    : atNextAction(reclaim);
