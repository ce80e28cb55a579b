import type { Decision } from '../../schemas/events/decision.ts';
import type { MessageReference } from '../../schemas/events/decision-parts.ts';
import type { DiskStatsHead } from '../../schemas/events/disk-stats.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Inventory, InventoryHead } from '../../schemas/events/inventory.ts';
import { OBSERVE_LIFETIME_MS } from '../../schemas/events/observe.ts';
import type { Reclaim } from '../../schemas/events/reclaim.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../schemas/events/subject-headers.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { Conclusion } from './conclusion.ts';
import type { DecidedOutputs, Input } from './handler.ts';
import { decisionOutputs } from './record.ts';

/** The beginning of an event that can be passed over. */
export type EventHead = InventoryHead | DiskStatsHead;

/** What is asked of a message that overtakes another one: it was read whole. */
export type NewerEvent = NewerInventory | DiskStatsHead;
type NewerInventory = InventoryHead & Pick<Inventory, 'status'>;

/**
 * Whether a message that lies later on the log makes a decision on an older one needless: whatever could follow from the older one
 * also follows from the newer, or would be refused by now. What is not certain is decided on.
 */
export function overtakes(newer: NewerEvent, older: EventHead): boolean {
  if (!isOfOneInstallation(newer, older)) return false;
  if (newer.type === 'fleetgc.node.disk-stats')
    return older.type === newer.type && laterMs(newer, older) > OBSERVE_LIFETIME_MS;
  return older.type === newer.type && isNewerLook(newer, older);
}

const isNewerLook = (newer: NewerInventory, older: InventoryHead): boolean =>
  newer.status === 'complete' &&
  laterMs(newer, older) > 0 &&
  isSamePart(newer.reclaim, older.reclaim) &&
  (older.trigger !== 'container-died' || areCommandsExpired(newer, older));

/** Only the inventory that tells of a death lets go what goes right after it (G23), for as long as a node may obey it. */
const areCommandsExpired = (newer: InventoryHead, older: InventoryHead): boolean =>
  laterMs(newer, older) >= MAX_COMMAND_LIFETIME_MS;

const isOfOneInstallation = (newer: NodeIdentity, older: NodeIdentity): boolean =>
  newer.cluster === older.cluster && newer.node === older.node && newer.nodeInstance === older.nodeInstance;

type Taken = Pick<InventoryHead, 'takenAt'>;

/** By the time since one boot: an old message that was put back lies later on the log, and was not taken later. */
function laterMs({ takenAt: newer }: Taken, { takenAt: older }: Taken): number {
  return newer.bootId === older.bootId ? newer.sinceBootMs - older.sinceBootMs : 0;
}

/** What answers an order is overtaken by nothing but another answer to the same: else a reclaim would stand still. */
const isSamePart = (newer: Reclaim | null, older: Reclaim | null): boolean =>
  newer?.id === older?.id && newer?.step === older?.step && newer?.round === older?.round;

/** The beginning of a message, and the newer one for which it is passed over. */
export interface OvertakenInput extends Input<EventHead> {
  readonly overtakenBy: MessageReference;
}

/** An overtaken message in; the record that says so out, and nothing else. */
export const overtakenHandler =
  (decider: Decision['decider'], policies: () => Pick<PolicySet, 'hash'>) =>
  ({ overtakenBy, ...input }: OvertakenInput): DecidedOutputs =>
    decisionOutputs(
      { decider, input, policies: policies(), record: null, overtakenBy },
      passedOver(input.event),
      null,
    );

const REASONS: Readonly<Record<EventHead['type'], string>> = {
  'fleetgc.node.inventory': 'a newer look was already there',
  'fleetgc.node.disk-stats': 'a newer reading was already there',
};

const passedOver = (event: EventHead): Conclusion => ({
  outcome: 'overtaken',
  reason: REASONS[event.type],
  notBelieved: [],
  verdicts: [],
  estimatedBytes: 0,
  reclaim: 'reclaim' in event ? event.reclaim : null,
});
