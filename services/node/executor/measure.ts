import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { FilesystemName, FilesystemReading, Resource } from '../../../schemas/events/filesystem.ts';
import { OBJECT_KINDS, REMOVALS } from '../../../schemas/events/object-kinds.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { Measured } from '../../../schemas/events/result.ts';

/**
 * Space becomes free some time after a removal returned; so long is waited for it.
 * @limit Time that the disk is measured after a removal. `SETTLES_WITHIN_MS` depends on it.
 */
export const SETTLE_MS = 2_000;
const POLL_MS = 50;
/** If fewer bytes than this share of an image's counted size became free, something else wrote meanwhile, in percent. */
const NOISE_PERCENT = 1n;

/** What a filesystem had free at one moment; `null` when that cannot be had or cannot be true. */
export interface Reading {
  readonly availableBytes: bigint;
  readonly inodesFree: bigint | null;
}

/** More available than there is counts as all of it (D4); no capacity as no reading (D5, K11). */
function believable(reading: FilesystemReading | null): Reading | null {
  if (reading === null || reading.capacityBytes === null || reading.availableBytes === null) return null;
  const capacity = BigInt(reading.capacityBytes);
  const available = BigInt(reading.availableBytes);
  if (capacity === 0n) return null;
  return {
    availableBytes: available < capacity ? available : capacity,
    inodesFree: reading.inodesFree === null ? null : BigInt(reading.inodesFree),
  };
}

/** `null` when there is no reading to tell by. */
export function isReached({ resource, atLeast }: ReclaimTarget, reading: Reading | null): boolean | null {
  const value = reading?.[resource] ?? null;
  return value === null ? null : value >= BigInt(atLeast);
}

/** What is missing to the target of a command; 0 where it has none, wants inodes, or nobody knows. */
export function missingBytes({ reclaim }: Command, reading: Reading | null): number {
  if (reclaim === null || reading === null || reclaim.target.resource !== 'availableBytes') return 0;
  return Math.max(0, Number(BigInt(reclaim.target.atLeast) - reading.availableBytes));
}

/** What a removal is expected to do to the filesystem. */
interface Expectation {
  readonly filesystem: FilesystemName;
  /** `null`: nobody waits for a target, one reading is enough. */
  readonly target: ReclaimTarget | null;
  readonly before: Reading | null;
  /** What the plan counted it with that was removed; 0 when nobody did. */
  readonly estimatedBytes: bigint;
  /** 0: take the reading as it is. */
  readonly waitMs: number;
}

/** Reads what filesystems have free. */
export class Gauge {
  readonly #filesystems: FilesystemReader;
  readonly #clock: NodeClock;
  readonly #sleep: Sleep;

  constructor(filesystems: FilesystemReader, clock: NodeClock, sleep: Sleep) {
    this.#filesystems = filesystems;
    this.#clock = clock;
    this.#sleep = sleep;
  }

  async read(name: FilesystemName): Promise<Reading | null> {
    return believable((await this.#filesystems.read())[name]);
  }

  /**
   * Reads the filesystem after a removal (M7, M21): at once, and again until the target is reached, what it wants has grown
   * and stands still, or `waitMs` have passed.
   */
  async settled(expected: Expectation, signal: AbortSignal): Promise<Reading | null> {
    const startMs = this.#clock.now().sinceBootMs;
    let reading = await this.read(expected.filesystem);
    let last: Reading | null = null;
    while (!isSettled(expected, reading, last)) {
      if (signal.aborted || this.#clock.now().sinceBootMs - startMs >= expected.waitMs) break;
      await this.#sleep(POLL_MS, signal);
      last = reading;
      reading = await this.read(expected.filesystem);
    }
    return reading;
  }
}

function isSettled(
  { target, before, estimatedBytes }: Expectation,
  reading: Reading | null,
  last: Reading | null,
): boolean {
  if (target === null || reading === null || before === null || isReached(target, reading)) return true;
  const { resource } = target;
  const [free, freeBefore] = [reading[resource], before[resource]];
  if (free === null || freeBefore === null) return true;
  return free - freeBefore > noise(resource, estimatedBytes) && last?.[resource] === free;
}

/** Sizes do not tell how many inodes an image frees (M13). */
function noise(resource: Resource, estimatedBytes: bigint): bigint {
  switch (resource) {
    case 'availableBytes':
      return (estimatedBytes * NOISE_PERCENT) / 100n;
    case 'inodesFree':
      return 0n;
  }
}

/** Where a command has its effect: on its target, or where its objects lie. */
export function measuredFilesystem({ reclaim, kind, items }: Command): FilesystemName {
  if (reclaim !== null) return reclaim.target.filesystem;
  const [first = REMOVALS[kind].filesystem, ...others] = new Set(
    items.map((item) => OBJECT_KINDS[item.kind].filesystem),
  );
  return others.length === 0 ? first : REMOVALS[kind].filesystem;
}

/** `null` unless both readings could be had. */
export function measuredBetween(
  command: Command,
  before: Reading | null,
  after: Reading | null,
): Measured | null {
  if (before === null || after === null) return null;
  return {
    filesystem: measuredFilesystem(command),
    beforeBytes: String(before.availableBytes),
    afterBytes: String(after.availableBytes),
  };
}
