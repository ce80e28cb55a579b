import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Disk } from './disk.ts';
import type { Faults } from './faults.ts';
import type { Registry } from './registry.ts';

/** What every part of a simulated runtime works with. */
export interface RuntimeParts {
  /** Distinguishes the ids of one node from those of another. */
  readonly name: string;
  readonly clock: NodeClock;
  readonly disk: Disk;
  readonly faults: Faults;
  readonly registry: Registry;
  /** The image that sandboxes run on. */
  readonly sandboxImage: string;
  /** Bytes of all logs, which share the disk. */
  readonly logBytes: () => bigint;
}

export const nowNs = ({ clock }: Pick<RuntimeParts, 'clock'>): bigint =>
  BigInt(clock.now().wallTimeMs) * 1_000_000n;

/** Ids as runtimes make them, 64 hexadecimal digits, but the same in every run. */
export function idsFor(name: string): (kind: string) => string {
  let count = 0;
  return (kind) => {
    count += 1;
    return sha256Hex(`${name}/${kind}/${count}`);
  };
}
