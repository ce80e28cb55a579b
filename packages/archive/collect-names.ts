import { isNodeKey } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { FleetEvent, TopicId, TopicName } from '../../schemas/events/topics.ts';
import type { LogRecord } from '../log/port.ts';
import { parseRecord, topicIdOf } from '../records/parse/parse-record.ts';
import type { RecordedEvent } from '../records/read-log.ts';
import { objectsIn, podNamesIn } from './inventory-objects.ts';
import {
  encodeNames,
  type FoundNames,
  type NameLine,
  type NameLines,
  type PartSearch,
  type Span,
  type Spans,
  searchNames,
} from './names.ts';

/** Topics whose records tell what became of something, so that an archive has an index of their names. */
export const NAMED_TOPICS = ['inventory', 'decisions', 'commands', 'results'] as const satisfies TopicId[];

export const isNamedTopic = (topic: TopicName): boolean =>
  NAMED_TOPICS.some((topicId) => topicId === topicIdOf(topic));

/** Gathers the names in the records of one file. */
interface NameCollector {
  add(record: LogRecord): void;
  lines(): NameLines;
}

/** Names without where they stand. */
type Named = NameLine extends infer Line ? (Line extends NameLine ? Omit<Line, 'on'> : never) : never;

interface Spread {
  readonly named: Named;
  readonly on: Map<string, Span>;
}

export function collectNames(): NameCollector {
  const written = new Set<string>();
  const unread = new Set<string>();
  const looked = new Map<string, Span>();
  const names = new Map<string, Spread>();
  let base: bigint | null = null;
  return {
    add: (record) => {
      const { key, offset, timestampMs } = record;
      base ??= offset;
      if (key === null || !isNodeKey(key)) return;
      const number = Number(offset - base);
      const note = (on: Map<string, Span>): void =>
        void on.set(key, reaching(on.get(key), number, timestampMs));
      written.add(key);
      const read = readNames(record);
      if (read === null) unread.add(key);
      if (read?.isLook) note(looked);
      for (const named of read?.names ?? []) note(spreadOf(names, named).on);
    },
    lines: () => ({
      nodes: { written: [...written].toSorted(), unread: [...unread].toSorted(), looked: spansOf(looked) },
      lines: [...names.values()].map(({ named, on }) => ({ ...named, on: spansOf(on) })),
    }),
  };
}

const spansOf = (on: ReadonlyMap<string, Span>): Spans => Object.fromEntries(on);

const reaching = (span: Span | undefined, number: number, timeMs: number): Span =>
  span === undefined ? [number, number, timeMs, timeMs] : [span[0], number, span[2], timeMs];

function spreadOf(names: Map<string, Spread>, named: Named): Spread {
  const key = JSON.stringify(named);
  const spread = names.get(key) ?? { named, on: new Map() };
  names.set(key, spread);
  return spread;
}

interface ReadNames {
  readonly isLook: boolean;
  readonly names: Iterable<Named>;
}

/** `null` for a record that cannot be read. What a decision names its inventory lists. */
function readNames(record: LogRecord): ReadNames | null {
  const topicId = topicIdOf(record.topic);
  if (topicId === 'decisions') return record.value === null ? null : { isLook: false, names: [] };
  const parsed = parseRecord(topicId, record);
  if (!parsed.ok) return null;
  const { event } = parsed;
  return event.type === 'fleetgc.node.inventory' && event.status === 'complete'
    ? { isLook: true, names: listedIn(event) }
    : { isLook: false, names: actedIn(event) };
}

function listedIn(inventory: CompleteInventory): Named[] {
  const podNames = podNamesIn(inventory);
  const objects = objectsIn(inventory, podNames);
  const pods = new Set(objects.flatMap(({ podUid }) => (podUid === null || podUid === '' ? [] : [podUid])));
  return [
    ...objects.flatMap(({ object: { kind, id, name }, position }): Named[] => {
      if (kind === 'node' || kind === 'pod') return [];
      return [{ kind, id, name, ...(kind === 'image' && imageNames(inventory, position)) }];
    }),
    ...[...pods].map((id) => ({ kind: 'pod', id, name: podNames.get(id) ?? '' }) as const),
  ];
}

function imageNames({ images }: CompleteInventory, position: number) {
  const { repoTags = [], repoDigests = [] } = images[position] ?? {};
  return { repoTags, repoDigests };
}

function* actedIn(event: FleetEvent): Iterable<Named> {
  if (event.type === 'fleetgc.node.command')
    for (const { kind, id } of event.items) yield { kind, id, outcome: null };
  if (event.type === 'fleetgc.node.object-result')
    yield { kind: event.object.kind, id: event.object.id, outcome: event.result.outcome };
}

/**
 * What the index of a file would say of these nodes if the file had only those records that lie in the range. Of other nodes it
 * says too much, as before.
 */
export async function namesInRange(
  file: FoundNames,
  recorded: AsyncIterable<RecordedEvent>,
  { keys, texts }: Pick<PartSearch, 'keys' | 'texts'>,
): Promise<FoundNames> {
  const names = collectNames();
  for await (const { record } of recorded) names.add(record);
  const { nodes, lines } = searchNames(encodeNames(names.lines()), texts);
  const { written, unread, looked } = file.nodes;
  const ofOthers = (key: string): boolean => !keys.has(key);
  const others = Object.entries(looked).filter(([key]) => ofOthers(key));
  return {
    ...file,
    isCut: false,
    lines,
    nodes: {
      written,
      unread: [...unread.filter(ofOthers), ...nodes.unread],
      looked: { ...Object.fromEntries(others), ...nodes.looked },
    },
  };
}
