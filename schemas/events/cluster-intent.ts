import { z } from 'zod';
import { MAX_CLUSTER_COMMAND_ITEMS } from './cluster-command.ts';
import { ClusterInstant } from './cluster-objects.ts';
import { orderedObject } from './cluster-result.ts';
import { EventId } from './event-id.ts';
import { ABOUT, MAX_COMMAND_LIFETIME_MS, resultHeader } from './subject-headers.ts';

/** An object that an executor may change from now on. */
export const IntendedObject = z.object(orderedObject);
export type IntendedObject = z.infer<typeof IntendedObject>;

/**
 * Fact: an executor begins with the objects of a command. The event log acknowledges it before the first write of the command, so that
 * whatever happens to the executor, the log names what it may have changed. A large command has several.
 */
export const ClusterCommandIntent = z.object({
  type: z.literal('fleetgc.cluster.command-intent'),
  ...resultHeader(ABOUT.cluster),
  decisionId: EventId,
  /** Names the process that wrote it; its results bear the same name. */
  executor: EventId,
  /** Of the command: after `takenAt` plus `lifetimeMs` no executor begins a write for it. */
  takenAt: ClusterInstant,
  lifetimeMs: z.int().positive().max(MAX_COMMAND_LIFETIME_MS),
  objects: z.array(IntendedObject).min(1).max(MAX_CLUSTER_COMMAND_ITEMS),
});
export type ClusterCommandIntent = z.infer<typeof ClusterCommandIntent>;
