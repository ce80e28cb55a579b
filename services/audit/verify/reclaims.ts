import type { Command } from '../../../schemas/command.ts';
import { nextOrderId, unrelievedId } from '../../shared/result-ids.ts';
import type { Effect } from './decided-outputs.ts';

/** Orders of a reclaim come within minutes; so many reclaims are remembered. */
const MOST_RECLAIMS = 5_000;

/** Remembers from which commands of a reclaim an executor may go on with it. */
export function createReclaims() {
  const commandIds = new Map<string, string[]>();
  return {
    commanded: ({ id, reclaim }: Command): void => {
      if (reclaim === null) return;
      commandIds.set(reclaim.id, [...(commandIds.get(reclaim.id) ?? []), id]);
      const [oldest] = commandIds.keys();
      if (commandIds.size > MOST_RECLAIMS && oldest !== undefined) commandIds.delete(oldest);
    },
    /** Whether an order or fact follows from a command of its reclaim, and not from a decision. */
    isOfExecutor: (event: Effect['event']): boolean => {
      if (event.type === 'fleetgc.node.command') return false;
      const { id, reclaim } = event;
      const ids = commandIds.get(reclaim.id) ?? [];
      return ids.some((command) => id === nextOrderId(command, reclaim) || id === unrelievedId(command));
    },
  };
}
