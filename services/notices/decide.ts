import type { FleetEvent } from '../../schemas/events/topics.ts';
import type { Known, Notice, Told } from './notice.ts';
import { ofCandidates, ofCensus, ofClusterCommandResult, ofObjectResults } from './told/of-clusters.ts';
import { ofDeadLetter, ofRedrive } from './told/of-dead-letters.ts';
import { ofCommandResult, ofDecision, ofOrder, ofPassFailed, ofUnrelieved } from './told/of-nodes.ts';
import { ofPolicies } from './told/of-policies.ts';

/** What an event of the log has people told, whoever wants to hear of it. `atMs`: when the log took it. */
export function noticesOf(event: FleetEvent, atMs: number, known: Known): readonly Notice[] {
  const told: Told = { id: event.id, atMs };
  switch (event.type) {
    case 'fleetgc.node.observe':
      return ofOrder(event, told);
    case 'fleetgc.node.command-result':
      return ofCommandResult(event, told);
    case 'fleetgc.node.pass-failed':
      return ofPassFailed(event, told);
    case 'fleetgc.node.decision':
      return ofDecision(event, told);
    case 'fleetgc.node.pressure-unrelieved':
      return ofUnrelieved(event, told);
    case 'fleetgc.cluster.command-result':
      return ofClusterCommandResult(event, told);
    case 'fleetgc.cluster.object-results':
      return ofObjectResults(event, told, known);
    case 'fleetgc.cluster.ownership':
    case 'fleetgc.cluster.pods':
    case 'fleetgc.cluster.expiry':
      return ofCandidates(event, told, known);
    case 'fleetgc.cluster.census':
      return ofCensus(event, told, known);
    case 'fleetgc.pause':
    case 'fleetgc.approval':
    case 'fleetgc.policy-deletion':
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return ofPolicies(event, told);
    case 'fleetgc.dead-letter':
      return [ofDeadLetter(event, told)];
    case 'fleetgc.dead-letter-redrive':
      return [ofRedrive(event, told)];
    default:
      return [];
  }
}
