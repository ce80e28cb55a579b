import { namesIn, type ObjectNames } from '../../packages/decision/inventory-entries.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { FleetEvent } from '../../schemas/events/topics.ts';
import { jsonLine } from '../framework/printable-documents.ts';
import { activityLine } from '../views/activity/activity-line.ts';
import { type Activity, createActivityReader } from '../views/activity/activity-reader.ts';
import { decisionLine } from './decision-line.ts';

/** Prints what happens on one node, for people or as JSON. */
export interface EventPrinter {
  /** What was on the log before: nothing of it is printed, but it gives names to ids. */
  learnNames(inventory: CompleteInventory): void;
  printEvent(event: FleetEvent): void;
}

type Print = (line: string) => void;

/** A line for each event that people are to see. */
export function linePrinter(print: Print): EventPrinter {
  const reader = createActivityReader();
  const decisions = decisionPrinter(print);
  return {
    learnNames: (inventory) => {
      reader.activitiesIn(inventory);
      decisions.learnNames(inventory);
    },
    printEvent: (event) => {
      decisions.printEvent(event);
      const lines = [...reader.activitiesIn(event).map(lineOf), refusalLine(event)];
      for (const line of lines) if (line !== null) print(line);
    },
  };
}

/** With a policy in dry-run a reclaim begins as well, and makes no room. */
const lineOf = (activity: Activity): string | null =>
  activity.kind === 'reclaim'
    ? `disk at ${activity.reading} (threshold ${activity.threshold}): looking for what can go`
    : activityLine(activity);

const refusalLine = (event: FleetEvent): string | null =>
  event.type === 'fleetgc.node.command-result' && event.result.outcome === 'refused'
    ? `a command was refused: ${event.result.message}`
    : null;

/** Decisions may be on older inventories, where deciders catch up. */
const KNOWN_INVENTORIES = 8;

/** What a decider said last is not said again, neither by itself nor by another. */
function decisionPrinter(print: Print): EventPrinter {
  const lastOf = new Map<string, string | null>();
  let known: readonly (readonly [inventoryId: string, names: ObjectNames])[] = [];
  const learnNames = (inventory: CompleteInventory): void => {
    known = [...known, [inventory.id, namesIn(inventory)] as const].slice(-KNOWN_INVENTORIES);
  };
  const printDecision = (decision: Decision): void => {
    const names = new Map(known).get(decision.input.id);
    const line = decisionLine(decision, names);
    if (line !== null && ![...lastOf.values()].includes(line)) print(line);
    lastOf.set(decision.decider.name, line);
  };
  return {
    learnNames,
    printEvent: (event) => {
      if (event.type === 'fleetgc.node.decision') printDecision(event);
      if (event.type === 'fleetgc.node.inventory' && event.status === 'complete') learnNames(event);
    },
  };
}

/** The decisions and results themselves, one JSON document a line. Inventories are large, and lie on the log. */
export const jsonPrinter = (print: Print): EventPrinter => ({
  learnNames: () => undefined,
  printEvent: (event) => {
    if (event.type !== 'fleetgc.node.inventory') print(jsonLine(event));
  },
});
