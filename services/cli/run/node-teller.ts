import type { Decision } from '../../../schemas/decision.ts';
import type { FleetEvent } from '../../../schemas/topics.ts';
import { namesIn, type ObjectNames } from '../../shared/decision/object-names.ts';
import { createNarrator, type Tale } from '../telling/narrator.ts';
import { taleLine } from '../telling/tale-line.ts';
import { decisionLine } from './decision-line.ts';

/** Tells people what happens on one node. */
export interface NodeTeller {
  tell(event: FleetEvent): void;
}

type Print = (line: string) => void;

/** A line for each thing that happens. */
export function lineTeller(print: Print): NodeTeller {
  const narrator = createNarrator();
  const tellDecision = decisionTeller(print);
  return {
    tell: (event) => {
      tellDecision(event);
      const lines = [...narrator.tell(event).map(lineOf), refusalLine(event)];
      for (const line of lines) if (line !== null) print(line);
    },
  };
}

/** With a policy in dry-run a reclaim begins as well, and makes no room. */
const lineOf = (tale: Tale): string | null =>
  tale.kind === 'reclaim'
    ? `disk at ${tale.reading} (threshold ${tale.threshold}): looking for what can go`
    : taleLine(tale);

const refusalLine = (event: FleetEvent): string | null =>
  event.type === 'fleetgc.node.command-result' && event.result.outcome === 'refused'
    ? `a command was refused: ${event.result.message}`
    : null;

/** What a decider said last is not said again, neither by itself nor by another. */
function decisionTeller(print: Print): (event: FleetEvent) => void {
  const lastOf = new Map<string, string | null>();
  let latest: { readonly inventoryId: string; readonly names: ObjectNames } | null = null;
  const tellOf = (decision: Decision): void => {
    const names = latest?.inventoryId === decision.input.id ? latest.names : undefined;
    const line = decisionLine(decision, names);
    if (line !== null && ![...lastOf.values()].includes(line)) print(line);
    lastOf.set(decision.decider.name, line);
  };
  return (event) => {
    if (event.type === 'fleetgc.node.decision') tellOf(event);
    if (event.type === 'fleetgc.node.inventory' && event.status === 'complete')
      latest = { inventoryId: event.id, names: namesIn(event) };
  };
}

/** The decisions and results themselves, one JSON document a line. Inventories are large, and lie on the log. */
export const jsonTeller = (print: Print): NodeTeller => ({
  tell: (event) => {
    if (event.type !== 'fleetgc.node.inventory') print(JSON.stringify(event));
  },
});
