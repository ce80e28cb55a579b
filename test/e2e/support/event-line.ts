import type { Decision } from '../../../schemas/events/decision.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { FollowedTopic } from './fleet/followed-topics.ts';

type FollowedEvent = EventOf<FollowedTopic>;

/** One event as one line, for whoever reads why a test failed. */
export function eventLine(topic: FollowedTopic, event: FollowedEvent): string {
  return `${timeOf(event)} ${'node' in event ? `${event.cluster}/${event.node}` : ''} ${topic}: ${textOf(event)}`;
}

function timeOf(event: FollowedEvent): string {
  if ('takenAt' in event) return new Date(event.takenAt.wallTimeMs).toISOString();
  return 'at' in event && typeof event.at === 'object' ? new Date(event.at.wallTimeMs).toISOString() : '';
}

function textOf(event: FollowedEvent): string {
  switch (event.type) {
    case 'fleetgc.node.disk-stats':
      return `imagefs ${JSON.stringify(event.filesystems.imagefs)}`;
    case 'fleetgc.node.inventory':
      return inventoryText(event);
    case 'fleetgc.node.observe':
    case 'fleetgc.node.reclaim-continues':
      return reclaimText(event.reclaim);
    case 'fleetgc.node.command':
      return `${event.kind} of ${event.items.map(({ id }) => id.slice(0, 19)).join(' ')}${reclaimText(event.reclaim)}`;
    case 'fleetgc.node.decision':
      return decisionText(event);
    case 'fleetgc.node.object-result':
    case 'fleetgc.node.command-result':
      return resultText(event);
    case 'fleetgc.node.removal-intent':
      return `about to remove ${event.object.kind} ${event.object.id.slice(0, 19)}`;
    case 'fleetgc.node.pass-failed':
      return `${event.problem}: ${event.message}`;
    case 'fleetgc.node.pressure-unrelieved':
      return `pressure unrelieved ${JSON.stringify(event.holders)}`;
    default:
      return letterText(event);
  }
}

function inventoryText(event: Inventory): string {
  const what =
    event.status === 'complete'
      ? `${event.images.length} images, ${event.containers.length} containers, ${event.sandboxes.length} sandboxes, pods ${event.pods.map(({ uid, state }) => `${uid.slice(0, 8)} ${state}`).join(' ')}`
      : event.status;
  return `${event.trigger}: ${what}${reclaimText(event.reclaim)}`;
}

const decisionText = ({ decider, outcome, reason, reclaim }: Decision): string =>
  `${decider.name} ${outcome}: ${reason}${reclaimText(reclaim)}`;

function resultText(event: ObjectResult | CommandResult): string {
  const what = 'object' in event ? `${event.object.kind} ${event.object.id.slice(0, 19)}` : event.kind;
  return `${what} ${JSON.stringify(event.result)}`;
}

const letterText = (event: EventOf<'deadLetters'>): string => JSON.stringify(event);

const reclaimText = (reclaim: Reclaim | null): string =>
  reclaim === null ? '' : ` (${reclaim.id.slice(0, 16)} ${reclaim.step} ${reclaim.round})`;
