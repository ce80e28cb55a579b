import { namesIn, type ObjectNames } from '../../packages/decision/listed-objects.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { FleetEvent } from '../../schemas/events/topics.ts';
import { createNarrator, type Tale } from '../views/narration/narrator.ts';
import { taleLine } from '../views/narration/tale-line.ts';
import { decisionLine } from './decision-line.ts';

/** Tells people what happens on one node. */
export interface NodeTeller {
  /** What was on the log before: nothing is told of it, but names are known by it. */
  know(inventory: CompleteInventory): void;
  tell(event: FleetEvent): void;
}

type Print = (line: string) => void;

/** A line for each thing that happens. */
export function lineTeller(print: Print): NodeTeller {
  const narrator = createNarrator();
  const decisions = decisionTeller(print);
  return {
    know: (inventory) => {
      narrator.tell(inventory);
      decisions.know(inventory);
    },
    tell: (event) => {
      decisions.tell(event);
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

/** Decisions may be on older inventories, where deciders catch up. */
const KNOWN_INVENTORIES = 8;

/** What a decider said last is not said again, neither by itself nor by another. */
function decisionTeller(print: Print): NodeTeller {
  const lastOf = new Map<string, string | null>();
  let known: readonly (readonly [inventoryId: string, names: ObjectNames])[] = [];
  const know = (inventory: CompleteInventory): void => {
    known = [...known, [inventory.id, namesIn(inventory)] as const].slice(-KNOWN_INVENTORIES);
  };
  const tellOf = (decision: Decision): void => {
    const names = new Map(known).get(decision.input.id);
    const line = decisionLine(decision, names);
    if (line !== null && ![...lastOf.values()].includes(line)) print(line);
    lastOf.set(decision.decider.name, line);
  };
  return {
    know,
    tell: (event) => {
      if (event.type === 'fleetgc.node.decision') tellOf(event);
      if (event.type === 'fleetgc.node.inventory' && event.status === 'complete') know(event);
    },
  };
}

/** The decisions and results themselves, one JSON document a line. Inventories are large, and lie on the log. */
export const jsonTeller = (print: Print): NodeTeller => ({
  know: () => undefined,
  tell: (event) => {
    if (event.type !== 'fleetgc.node.inventory') print(JSON.stringify(event));
  },
});
