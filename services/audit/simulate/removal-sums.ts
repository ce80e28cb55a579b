import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { RemovedCounts } from '../../../schemas/reports/audit-simulation.ts';

const COUNTED_AS: Readonly<Record<ObjectKind, keyof RemovedCounts>> = {
  image: 'images',
  container: 'containers',
  sandbox: 'sandboxes',
  'pod-log-directory': 'logs',
  'log-symlink': 'logs',
};

export const NOTHING_REMOVED: RemovedCounts = { images: 0, containers: 0, sandboxes: 0, logs: 0 };

export interface RemovalSums {
  readonly removed: RemovedCounts;
  readonly freedBytes: bigint;
  /** Of the removed, those of which nobody knows what they free. */
  readonly unmeasured: number;
}

/** Adds up what went, by kind. */
export function createRemovalSums() {
  let removed = NOTHING_REMOVED;
  let freedBytes = 0n;
  let unmeasured = 0;
  return {
    add: (kind: ObjectKind, bytes: bigint | null): void => {
      const counted = COUNTED_AS[kind];
      removed = { ...removed, [counted]: removed[counted] + 1 };
      if (bytes === null) unmeasured++;
      else freedBytes += bytes;
    },
    sums: (): RemovalSums => ({ removed, freedBytes, unmeasured }),
  };
}
