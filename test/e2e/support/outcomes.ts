import type { Decision } from '../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import { ofKind } from '../../fixtures/verdicts.ts';
import type { FleetLog } from './fleet/fleet-log.ts';

/** What became of the objects that were commanded on a node, in order. */
export const objectResults = (log: FleetLog, node: string): ObjectResult[] =>
  log
    .events('results')
    .filter((event): event is ObjectResult => event.type === 'fleetgc.node.object-result')
    .filter((event) => event.node === node);

/** Ids of the objects that were removed on a node, in the order in which they went. */
export const removedIds = (log: FleetLog, node: string): string[] =>
  objectResults(log, node)
    .filter(({ result }) => result.outcome === 'removed')
    .map(({ object }) => object.id);

/** The end of a command on a node that reached its target. */
export const commandAtTarget = (log: FleetLog, node: string): Promise<FleetEvent> =>
  log.waitFor(
    'results',
    'a command that reached its target',
    (event) =>
      event.type === 'fleetgc.node.command-result' &&
      event.node === node &&
      event.result.outcome === 'done' &&
      event.result.targetReached === true,
  );

/** The decisions of one decider about a node, or about all, in order. */
export const decisionsOf = (
  log: FleetLog,
  decider: Decision['decider']['name'],
  node: string | null = null,
): Decision[] =>
  log
    .events('decisions')
    .filter((event): event is Decision => event.type === 'fleetgc.node.decision')
    .filter((event) => (node === null || event.node === node) && event.decider.name === decider);

/** The inventory that a decision was made on. */
export function inventoryOf(log: FleetLog, { input }: Decision): CompleteInventory {
  const found = log.events('inventory').find(({ id }) => id === input.id);
  if (found?.status === 'complete') return found;
  throw new Error(`the inventory ${input.id} was not seen, or is not complete`);
}

/** By image id, the rule by which a decision keeps it or lets it go. */
export function imageRules(log: FleetLog, decision: Decision): Record<string, string> {
  const { images } = inventoryOf(log, decision);
  return Object.fromEntries(
    ofKind(decision.verdicts, 'image').map(({ position, rule }) => [images[position]?.id, rule]),
  );
}

/** What container-gc decided on inventories of a node that were taken after that time. */
export function containerDecisionsSince(log: FleetLog, node: string, sinceMs: number): Decision[] {
  const inventories = log.events('inventory').filter(({ takenAt }) => takenAt.wallTimeMs > sinceMs);
  const ids = new Set(inventories.map(({ id }) => id));
  return decisionsOf(log, 'container-gc', node).filter(({ input }) => ids.has(input.id));
}

/** Ids of all containers of those pods that were ever in an inventory of the node. */
export const containersSeen = (log: FleetLog, node: string, podUids: ReadonlySet<string>): Set<string> =>
  new Set(
    log
      .events('inventory')
      .filter((event) => event.status === 'complete')
      .filter((event) => event.node === node)
      .flatMap(({ containers }) => containers)
      .filter(({ pod }) => pod !== null && podUids.has(pod.uid))
      .map(({ id }) => id),
  );

/** What image-gc decided since the node's agent was started last, and how long that had run then. */
export function imageDecisionsSinceStart(
  log: FleetLog,
  node: string,
): readonly { readonly decision: Decision; readonly agentRanMs: number }[] {
  const decided = decisionsOf(log, 'image-gc', node).map((decision) => {
    const { takenAt, agentStartedAt } = inventoryOf(log, decision);
    const startedMs = agentStartedAt.sinceBootMs;
    return { decision, startedMs, agentRanMs: takenAt.sinceBootMs - startedMs };
  });
  return decided.filter(({ startedMs }) => startedMs === decided.at(-1)?.startedMs);
}

/**
 * What container-gc first decided about the containers of a pod when its inventory told that all of the pod, which still
 * exists, had ended; `null` while it did not.
 */
export function verdictsOnEnded(log: FleetLog, node: string, podUid: string): readonly string[] | null {
  for (const decision of decisionsOf(log, 'container-gc', node)) {
    const { pods, containers } = inventoryOf(log, decision);
    if (
      !pods.some(
        ({ uid, state, runtimeRemovable }) => uid === podUid && state === 'known' && runtimeRemovable,
      )
    )
      continue;
    return ofKind(decision.verdicts, 'container')
      .filter(({ position }) => containers[position]?.pod?.uid === podUid)
      .map(({ action }) => action);
  }
  return null;
}

/** By image id, the rule of the last image-gc decision that commanded. */
export function commandedRules(log: FleetLog, node: string): Record<string, string> {
  const decision = decisionsOf(log, 'image-gc', node).findLast(({ outcome }) => outcome === 'commanded');
  if (!decision) throw new Error(`image-gc commanded nothing on ${node}`);
  return imageRules(log, decision);
}
