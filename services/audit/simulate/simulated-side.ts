import { missed } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { atNextAction, MAX_RECLAIM_ROUNDS, type Reclaim } from '../../../schemas/events/reclaim.ts';
import { altered, shiftBy } from './altered-inventory.ts';
import { createUsageTime } from './disk-use.ts';
import type { MeasuredOf } from './measured-removals.ts';
import { createRemovalSums, createShortages, type Side } from './side.ts';
import { type Deciding, decideRemoval, type PlannedItem } from './simulated-decisions.ts';
import { createSimulatedObjects } from './simulated-objects.ts';
import { createSimulatedPressure } from './simulated-pressure.ts';
import { imageEffect, keptEffect, measuredBytes, measuredEffect, shiftedReadings } from './space-effects.ts';

export interface SimulatedSideParts {
  readonly deciding: Deciding;
  readonly regretWindowMs: number;
  readonly measuredOf: MeasuredOf;
}

/** A recorded inventory that the simulated node is at. */
interface Now {
  readonly recorded: CompleteInventory;
  readonly atMs: number;
}

/** What would have become of a node under other policies. */
export function createSimulatedSide({ deciding, regretWindowMs, measuredOf }: SimulatedSideParts): Side {
  const objects = createSimulatedObjects(regretWindowMs);
  const pressure = createSimulatedPressure(deciding);
  const usage = createUsageTime();
  const removals = createRemovalSums();
  const shortages = createShortages();
  let last: CompleteInventory | null = null;
  let guessed = 0;

  const asItIs = (recorded: CompleteInventory): CompleteInventory => altered(recorded, objects.alteration());

  const disksNow = (recorded: CompleteInventory): FilesystemReadings =>
    shiftedReadings(recorded.filesystems, shiftBy(objects.alteration(), recorded));

  const remove = (item: PlannedItem, { recorded, atMs }: Now): Done => {
    const object = objects.find(item);
    if (object === undefined) return { removed: 0, unmeasured: 0 };
    const measured = measuredOf(item);
    const bytes = item.estimatedBytes === undefined ? measuredBytes(measured) : BigInt(item.estimatedBytes);
    const effect =
      item.estimatedBytes === undefined
        ? measuredEffect(measured)
        : imageEffect(BigInt(item.estimatedBytes), recorded.filesystems);
    objects.remove(object, effect, { atMs, wallTimeMs: recorded.takenAt.wallTimeMs });
    removals.add(item.kind, bytes);
    return { removed: 1, unmeasured: effect === null ? 1 : 0 };
  };

  /** The node stops where it measures that it is enough. */
  const carryOut = (items: readonly PlannedItem[], reclaim: Reclaim | null, now: Now): Done => {
    let done: Done = { removed: 0, unmeasured: 0 };
    for (const item of items)
      if (reclaim === null || !isReached(reclaim, disksNow(now.recorded)))
        done = sum(done, remove(item, now));
    return done;
  };

  const step = (reclaim: Reclaim, now: Now): StepOutcome => {
    const what = reclaim.step === 'images' ? 'imageGc' : 'containerGc';
    const decision = decideRemoval(what, { ...asItIs(now.recorded), reclaim }, deciding);
    const done = carryOut(decision.items, reclaim, now);
    if (isGuess(reclaim)) guessed += done.removed;
    const isEnough = isReached(reclaim, disksNow(now.recorded));
    return { ...done, isReached: isEnough, toldUnrelieved: decision.unrelieved };
  };

  /** Without a reclaim each decides by itself, on the same inventory; images by age also beside a reclaim that has none. */
  const decideAlone = (reclaim: Reclaim | null, now: Now): void => {
    const inventory = { ...asItIs(now.recorded), reclaim };
    const alone = (['containerGc', 'imageGc'] as const).filter(
      (what) => reclaim === null || what === 'imageGc',
    );
    const decisions = alone.map((what) => decideRemoval(what, inventory, deciding));
    for (const { items } of decisions) carryOut(items, null, now);
  };

  return {
    look: (recorded, atMs, policy) => {
      const now = { recorded, atMs };
      last = recorded;
      objects.follow(recorded, atMs);
      const before = asItIs(recorded);
      usage.at(atMs, before.filesystems.imagefs, policy);
      shortages.look(before.filesystems);
      const reclaim = pressure.reclaimAt(before, atMs);
      if (!reclaim?.actions.includes('images')) decideAlone(reclaim, now);
      if (reclaim !== null && goThrough(reclaim, (at) => step(at, now))) shortages.unrelieved(reclaim.target);
      usage.at(atMs, disksNow(recorded).imagefs, policy);
      pressure.differsBy(shiftBy(objects.alteration(), recorded), recorded.takenAt);
    },
    diskStats: pressure.diskStats,
    wentAway: (result, removed, atMs) => {
      const object = objects.find(result.object);
      if (object === undefined || last === null) return;
      objects.wentAway(result, keptEffect(object, removed, last.filesystems), atMs);
    },
    unrelieved: () => undefined,
    sums: () => ({
      ...removals.sums(),
      guessed,
      unrelieved: shortages.count(),
      ...usage.sums(),
      ...objects.told(),
    }),
  };
}

const sum = (a: Done, b: Done): Done => ({
  removed: a.removed + b.removed,
  unmeasured: a.unmeasured + b.unmeasured,
});

const isReached = ({ target }: Reclaim, disks: FilesystemReadings): boolean => missed(target, disks) === null;

/** Sizes do not tell how many inodes an image frees (M13). */
const isGuess = ({ step, target }: Reclaim): boolean => step === 'images' && target.resource === 'inodesFree';

/** What became of the objects of a command. */
export interface Done {
  readonly removed: number;
  /** Of these, those of which nobody knows what they free. */
  readonly unmeasured: number;
}

export interface StepOutcome extends Done {
  readonly isReached: boolean;
  /** The decider said that nothing more can go. */
  readonly toldUnrelieved: boolean;
}

/** Goes through the steps of a reclaim; whether it ends above its target. */
export function goThrough(begun: Reclaim, take: (reclaim: Reclaim) => StepOutcome): boolean {
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
