import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import type { RecordedEvent } from '../../../packages/pipeline/read-log.ts';
import { isNodeKey } from '../../../schemas/events/identity.ts';
import type { TopicId } from '../../../schemas/events/topics.ts';
import type { AskedName } from './asked-name.ts';
import { askableNames } from './near-names.ts';
import { nodeOfKey, type WatchedNode } from './node-state.ts';
import { meansNode, type NodeWatch, watchNode } from './node-watch.ts';
import type { Subject } from './subjects.ts';
import { createWaiting } from './waiting.ts';

export type NodeFilter = (node: WatchedNode) => boolean;

/** What the records of one partition told. */
export interface Watched {
  readonly subjects: readonly Subject[];
  /** What else could have been asked for; gathered where nothing was found. */
  readonly names: ReadonlySet<string>;
  readonly records: number;
  readonly unreadable: number;
  readonly firstRecordMs: number | null;
  readonly lastRecordMs: number | null;
}

export interface PartitionWatch {
  readonly tell: (recorded: RecordedEvent) => void;
  readonly finish: () => Watched;
}

interface Options {
  /** Whether near names are still of use: nothing was found elsewhere. */
  readonly gatherNames: () => boolean;
}

/** Reads the records of one partition, and parses only those that can concern what the name means. */
export function createPartitionWatch(
  asked: AskedName,
  filter: NodeFilter,
  { gatherNames }: Options,
): PartitionWatch {
  const nodes = new Map<string, WatchedKey>();
  const counts = createCounts();
  const waiting = createWaiting();
  const keyOf = (node: WatchedNode): WatchedKey => {
    const key = `${node.cluster}/${node.node}`;
    const known = nodes.get(key) ?? { node, watch: watchNode(asked, node), inventories: [] };
    nodes.set(key, known);
    return known;
  };
  const tellKnown = (known: WatchedKey, { topicId, record }: RecordedEvent): void => {
    if (!concerns(topicId, record, known, asked)) {
      if (topicId === 'inventory' && isComplete(record)) known.watch.passOver();
      return;
    }
    const parsed = parseRecord(topicId, record);
    if (parsed.ok) waiting.tell(known.watch, parsed.event, record);
    else counts.countUnreadable();
  };
  return {
    tell: (recorded) => {
      const { topicId, record } = recorded;
      if (topicId === 'inventory') waiting.passed(record.offset);
      const node = nodeOf(record, filter);
      if (node === null) return;
      counts.count(record);
      const known = keyOf(node);
      if (gatherNames() && topicId === 'inventory')
        known.inventories = [known.inventories[0] ?? record, record];
      tellKnown(known, recorded);
    },
    finish: () => {
      waiting.release();
      const subjects = [...nodes.values()].flatMap(({ watch }) => watch.subjects());
      const names = gatherNames() && subjects.length === 0 ? namesOn([...nodes.values()], asked) : [];
      return { subjects, names: new Set(names), ...counts.counted() };
    },
  };
}

function createCounts() {
  let records = 0;
  let unreadable = 0;
  let firstRecordMs: number | null = null;
  let lastRecordMs: number | null = null;
  return {
    count: ({ timestampMs }: LogRecord): void => {
      records += 1;
      firstRecordMs ??= timestampMs;
      lastRecordMs = timestampMs;
    },
    countUnreadable: (): void => {
      unreadable += 1;
    },
    counted: () => ({ records, unreadable, firstRecordMs, lastRecordMs }),
  };
}

interface WatchedKey {
  readonly node: WatchedNode;
  readonly watch: NodeWatch;
  /** The first and the last, for near names. */
  inventories: readonly LogRecord[];
}

function nodeOf({ key }: LogRecord, filter: NodeFilter): WatchedNode | null {
  if (key === null || !isNodeKey(key)) return null;
  const node = nodeOfKey(key);
  return filter(node) ? node : null;
}

/**
 * Whether a record can say anything of what is meant. Inventories are most of the log, so those are left unparsed in
 * which no name of it stands, while nothing of it is there that could be missing. An escaped letter could hide a name.
 */
function concerns(
  topicId: TopicId,
  { value }: LogRecord,
  { node, watch }: WatchedKey,
  asked: AskedName,
): boolean {
  if (meansNode(asked, node) || value === null) return true;
  if (topicId === 'decisions') return watch.isFound();
  if (watch.isThere() || value.includes('\\u')) return true;
  return [...asked.needles, ...watch.ids()].some((needle) => value.includes(needle));
}

/** As the agent writes it; told of an inventory that nobody parsed. */
const isComplete = ({ value }: LogRecord): boolean => value?.includes('"status":"complete"') ?? false;

function namesOn(nodes: readonly WatchedKey[], asked: AskedName): string[] {
  return nodes.flatMap(({ node, inventories }) => [
    ...inventories.flatMap((record) => namesListed(record, asked)),
    ...(asked.kind === null || asked.kind === 'node' ? [node.node] : []),
  ]);
}

function namesListed(record: LogRecord, asked: AskedName): string[] {
  const parsed = parseRecord('inventory', record);
  return parsed.ok && parsed.event.status === 'complete' ? askableNames(parsed.event, asked) : [];
}
