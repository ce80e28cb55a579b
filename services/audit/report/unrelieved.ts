import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../../schemas/events/result.ts';
import type { UnrelievedNode } from '../../../schemas/reports/audit-report.ts';

/** Nodes that could not be relieved, each with what held its space the last time. */
export function createUnrelieved() {
  const nodes = new Map<string, UnrelievedNode>();
  return {
    add: (event: PressureUnrelieved, atMs: number): void => {
      const key = nodeKey(event);
      const { cluster, node, holders, reclaim } = event;
      const before = nodes.get(key);
      const reclaims = (before?.reclaims ?? 0) + 1;
      if (before !== undefined && before.lastAtMs > atMs) nodes.set(key, { ...before, reclaims });
      else nodes.set(key, { cluster, node, reclaims, lastAtMs: atMs, signal: reclaim.cause.signal, holders });
    },
    /** The most often short of space first. */
    all: (): UnrelievedNode[] => [...nodes.values()].toSorted((a, b) => b.reclaims - a.reclaims),
  };
}
