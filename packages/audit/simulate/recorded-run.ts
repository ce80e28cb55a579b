import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Measured, ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { freedSpace } from '../../decision/freed-space.ts';
import { type ImageBack, ImagesPulledAgain } from '../events/images-pulled-again.ts';
import {
  type ComparedRun,
  type RegrettedImage,
  RemovalSums,
  type RunSums,
  Shortages,
} from './compared-run.ts';
import { createUsageTime } from './disk-use.ts';

/** What really became of a node. */
export class RecordedRun implements ComparedRun {
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
