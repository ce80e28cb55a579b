import { countedKind, namesIn, type ObjectNames } from '../../packages/decision/inventory-entries.ts';
import { type Activity, activityLine, createActivityReader } from '../../packages/documents/activity.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import type { Decision } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { type EventOf, type FleetEvent, TOPICS, type TopicId } from '../../schemas/events/topics.ts';

/** Prints what happens on one node, for people or as JSON. */
interface EventPrinter {
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

const MOST_NAMES = 3;

/**
 * What a decision means for the node, in one line; `null` where nothing follows from it, or what follows is told by the
 * node itself, or from the policies.
 */
export function decisionLine(decision: Decision, names: ObjectNames | undefined): string | null {
  const { decider, outcome, reason, notBelieved } = decision;
  switch (outcome) {
    case 'commanded':
      return `${decider.name} wants to remove ${choice(decision, names)}`;
    case 'dry-run':
      return `${decider.name} would remove ${choice(decision, names)}, but this is a dry run`;
    case 'no-policy':
      return 'no policy selects this node: everything stays';
    case 'not-believed':
      return `nothing can be decided: ${doubtText(notBelieved)}`;
    case 'too-costly':
      return `${decider.name} removes nothing: ${reason}`;
    case 'no-common-version':
      return `${decider.name} and this node have no version of commands in common: ${reason}`;
    case 'ordered':
    case 'nothing-to-do':
    case 'waits-for-containers':
    case 'unrelieved':
    case 'paused':
    case 'overtaken':
      return null;
  }
}

function doubtText([first, ...others]: Decision['notBelieved']): string {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `${first?.message ?? 'what the node reported is not believed'}${more}`;
}

/** `2 images (a, b), about 1.2 GB` */
function choice({ verdicts, estimatedBytes }: Decision, names: ObjectNames | undefined): string {
  const going = Map.groupBy(
    verdicts.filter(({ action }) => action === 'remove'),
    ({ kind }) => kind,
  );
  const groups = [...going].map(([kind, chosen]) => {
    const positions = chosen.map(({ position }) => position);
    return `${countedKind(positions.length, kind)}${listed(positions, names?.[kind])}`;
  });
  return `${groups.join(' and ')}${estimatedBytes > 0 ? `, about ${sizeText(BigInt(estimatedBytes))}` : ''}`;
}

/** ` (a, b and 2 more)`; nothing where nobody knows what they are called. */
function listed(positions: readonly number[], names: readonly string[] = []): string {
  const known = positions.flatMap((position) => names[position] ?? []);
  const shown = known.slice(0, MOST_NAMES);
  if (shown.length === 0) return '';
  const more = positions.length - shown.length;
  return ` (${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

const FOLLOWED = ['inventory', 'decisions', 'results'] as const satisfies readonly TopicId[];

interface Following {
  readonly log: LogReader;
  readonly printer: EventPrinter;
  /** Begins with what came at this time, by the log's clock. */
  readonly fromMs: number;
}

/** Inventories come every five minutes: what is decided on at first is one of these. */
const KNOWN_BEFORE_MS = 15 * 60_000;

/** Prints what comes to the event log, until the signal aborts. */
export async function follow({ log, printer, fromMs }: Following, signal: AbortSignal): Promise<void> {
  await learnNames({ log, printer, fromMs }, signal);
  const followTopic = async (topic: TopicId): Promise<void> => {
    for await (const event of eventsOf(log, { topic, fromMs }, signal)) printer.printEvent(event);
  };
  await Promise.all(FOLLOWED.map(followTopic));
}

/** After a crash the first decisions are on inventories from before it, and results on objects that are gone. */
async function learnNames({ log, printer, fromMs }: Following, signal: AbortSignal): Promise<void> {
  const from = { timestampMs: fromMs - KNOWN_BEFORE_MS };
  for await (const event of log.read({ topic: TOPICS.inventory.name, from, to: 'end' }, signal)) {
    if (event.kind !== 'record') continue;
    const parsed = parseRecord('inventory', event.record);
    if (parsed.ok && parsed.event.status === 'complete') printer.learnNames(parsed.event);
  }
}

/** What comes to a topic, as far as it can be read, until the signal aborts. */
export async function* eventsOf<Id extends TopicId>(
  log: Following['log'],
  { topic, fromMs }: { readonly topic: Id; readonly fromMs: number },
  signal: AbortSignal,
): AsyncGenerator<EventOf<Id>> {
  const request = { topic: TOPICS[topic].name, from: { timestampMs: fromMs }, to: 'forever' } as const;
  for await (const event of log.read(request, signal)) {
    if (signal.aborted) return;
    const parsed = event.kind === 'record' ? parseRecord(topic, event.record) : null;
    if (parsed?.ok) yield parsed.event;
  }
}

/** The time of day on this machine, for lines as they come. */
export const clockText = (): string => new Date().toTimeString().slice(0, 'hh:mm:ss'.length);
