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
import type { Measured, ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import { POOL_LABEL, selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { NodeSimulation, SimulationSums } from '../../../schemas/reports/audit-simulation.ts';
import { type FreedSpace, freedSpace } from '../../decision/freed-space.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';
import { type ImageBack, ImagesPulledAgain } from '../events/images-pulled-again.ts';
import {
  type ComparedRun,
  type Deciding,
  decideRemoval,
  type PlannedItem,
  type RegrettedImage,
  type RemovalDecider,
  RemovalSums,
  type RunSums,
  Shortages,
  type SimulationDeciders,
} from './compare.ts';
import { altered, keptEffect, SimulatedObjects, shiftBy } from './objects.ts';
import {
  createUsageTime,
  type Effect,
  imageEffect,
  type MeasuredOf,
  measuredEffect,
  SimulatedPressure,
  shiftedReadings,
} from './pressure.ts';

interface SimulatedRunParts {
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
class SimulatedRun implements ComparedRun {
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

/** What really became of a node. */
class RecordedRun implements ComparedRun {
  readonly #regretWindowMs: number;
  readonly #pulledAgain = new ImagesPulledAgain();
  readonly #usage = createUsageTime();
  readonly #removals = new RemovalSums();
  readonly #shortages = new Shortages();
  readonly #regretted: RegrettedImage[] = [];
  #filesystems: CompleteInventory['filesystems'] | null = null;
  #policy: Policy | null = null;

  constructor(regretWindowMs: number) {
    this.#regretWindowMs = regretWindowMs;
  }

  inventory(inventory: CompleteInventory, atMs: number, policy: Policy | null): void {
    for (const image of this.#pulledAgain.listed(inventory, atMs)) this.#pulled(image);
    this.#filesystems = inventory.filesystems;
    this.#policy = policy;
    this.#usage.at(atMs, inventory.filesystems.imagefs, policy);
    this.#shortages.inventory(inventory.filesystems);
  }

  /** What they led to is in the record. */
  diskStats(): void {}

  wentAway(result: ObjectResult, { measured, estimatedBytes }: Removed, atMs: number): void {
    if (measured !== null) this.#measuredNow(measured, atMs);
    this.#removals.add(result.object.kind, freedSpace(measured, estimatedBytes));
    if (result.object.kind === 'image') this.#pulledAgain.removed(result, atMs);
  }

  unrelieved({ reclaim }: PressureUnrelieved): void {
    this.#shortages.unrelieved(reclaim.target);
  }

  sums(): RunSums {
    return {
      ...this.#removals.totals(),
      guessed: 0,
      regretted: this.#regretted,
      unrelieved: this.#shortages.count,
      ...this.#usage.sums(),
      estimatedFromMs: null,
    };
  }

  #pulled({ imageId, name, sizeBytes, removedAtMs, seenAgainAtMs }: ImageBack): void {
    if (seenAgainAtMs - removedAtMs <= this.#regretWindowMs)
      this.#regretted.push({ imageId, name, sizeBytes, removedAtMs, neededAtMs: seenAgainAtMs });
  }

  #measuredNow({ filesystem, afterBytes }: Measured, atMs: number): void {
    const filesystems = this.#filesystems;
    const imagefs = filesystems?.imagefs ?? null;
    if (filesystems === null || imagefs === null || filesystems[filesystem]?.device !== imagefs.device)
      return;
    this.#filesystems = { ...filesystems, imagefs: { ...imagefs, availableBytes: afterBytes } };
    this.#usage.at(atMs, this.#filesystems.imagefs, this.#policy);
  }
}

/** What is compared: policies, and what happened or other policies. */
export interface Comparison {
  readonly policy: PolicySet;
  /** `null`: what happened. */
  readonly against: PolicySet | null;
  readonly regretWindowMs: number;
  readonly deciders: SimulationDeciders;
}

/** What came of one node. */
export interface ComparedNode {
  readonly node: NodeSimulation;
  readonly sides: { readonly policy: RunSums; readonly against: RunSums };
  /** Of its inventories. */
  readonly withoutDiskStats: number;
}

/** Disk statistics come once a minute while nothing changes; without any for so long, nobody knows of the past. */
const STATS_HOLD_MS = 5 * 60_000;

/** Replays what is on the log of one installation of a node, in its order, both ways. */
export function replayNode(comparison: Comparison, measuredOf: MeasuredOf) {
  const { policy, against, regretWindowMs, deciders } = comparison;
  const simulated = (policies: PolicySet): ComparedRun =>
    new SimulatedRun({ deciding: { deciders, policies }, regretWindowMs, measuredOf });
  const sides = {
    policy: simulated(policy),
    against: against === null ? new RecordedRun(regretWindowMs) : simulated(against),
  };
  const both = [sides.policy, sides.against];
  let last: CompleteInventory | null = null;
  let inventories = 0;
  let statsAtMs = Number.NEGATIVE_INFINITY;
  let withoutDiskStats = 0;

  return {
    inventory: (inventory: CompleteInventory, atMs: number): void => {
      last = inventory;
      inventories++;
      if (atMs - statsAtMs > STATS_HOLD_MS) withoutDiskStats++;
      for (const run of both) run.inventory(inventory, atMs, policyFor(policy, inventory));
    },
    diskStats: (stats: DiskStats, atMs: number): void => {
      statsAtMs = atMs;
      for (const run of both) run.diskStats(stats, atMs);
    },
    result: (event: EventOf<'results'>, atMs: number): void => {
      if (event.type === 'fleetgc.node.pressure-unrelieved') for (const run of both) run.unrelieved(event);
      if (event.type !== 'fleetgc.node.object-result' || event.result.outcome !== 'removed') return;
      for (const run of both) run.wentAway(event, event.result, atMs);
    },
    /** `null` where no complete inventory came. */
    compared: (): ComparedNode | null => {
      if (last === null) return null;
      const sums = { policy: sides.policy.sums(), against: sides.against.sums() };
      const node = { ...describe(last, { policy, against }), inventories, ...told(sums) };
      return { node, sides: sums, withoutDiskStats };
    },
  };
}

/** A recorded node that is run both ways. */
export type ReplayedNode = ReturnType<typeof replayNode>;

function describe(inventory: CompleteInventory, { policy, against }: Pick<Comparison, 'policy' | 'against'>) {
  const { cluster, node, nodeLabels } = inventory;
  return {
    cluster,
    node,
    pool: nodeLabels[POOL_LABEL] ?? null,
    policies: {
      policy: policyFor(policy, inventory)?.name ?? null,
      against: against === null ? null : (policyFor(against, inventory)?.name ?? null),
    },
    thresholdPercent: thresholdFor(policy, inventory),
  };
}

const told = ({ policy, against }: ComparedNode['sides']) => ({
  estimatedFromMs: { policy: policy.estimatedFromMs, against: against.estimatedFromMs },
  observedMs: policy.observedMs,
  unknownMs: policy.unknownMs,
  policy: sumsText(policy),
  against: sumsText(against),
});

const policyFor = (policies: PolicySet, inventory: CompleteInventory) => {
  const selection = selectPolicy(policies, inventory);
  return selection.kind === 'policy' ? selection.record.policy : null;
};

const thresholdFor = (policies: PolicySet, inventory: CompleteInventory): number | null =>
  policyFor(policies, inventory)?.imageGCHighThresholdPercent ?? null;

/** Estimates and measurements become one number only here: a simulation has hardly any of the latter, and both sides are compared. */
const sumsText = ({
  removed,
  measuredBytes,
  estimatedBytes,
  unknown,
  guessed,
  regretted,
  unrelieved,
  aboveMs,
  peakPercent,
}: RunSums): SimulationSums => ({
  removed,
  freedBytes: String(measuredBytes + estimatedBytes),
  unmeasured: unknown,
  guessed,
  regrets: regretted.length,
  unrelieved,
  aboveMs,
  peakPercent,
});
