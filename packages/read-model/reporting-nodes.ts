import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { eventType } from '../../schemas/events/envelope.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { DeciderName } from '../../schemas/events/object-kinds.ts';
import type { CommandResult } from '../../schemas/events/result.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { deciderOf, mayBeTooCostly } from '../records/node-decisions.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { firstRecord, type RecordedEvent, readPartition, type TimeRange } from '../records/read-log.ts';
import { UNRELIEVED_FOR_MS } from './node-pressure.ts';
import { type NodeTrack, track } from './node-track.ts';
import { beside, partitionsOf, scan } from './scan.ts';

/** A node as its newest disk statistics tell it. */
export interface ReportingNode {
  readonly stats: DiskStats;
  readonly track: NodeTrack;
  readonly partition: number;
  /** Of its newest statistics. */
  readonly offset: bigint;
}

interface ReportingNodes {
  /** By `<cluster>/<node>`. */
  readonly nodes: ReadonlyMap<string, ReportingNode>;
  readonly unreadable: number;
}

export interface ReportingNodesNeeds {
  readonly log: LogReader;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly onProgress: (line: string) => void;
  /** Told of each node as soon as it is heard. */
  readonly onNode?: (stats: DiskStats) => void;
  /** By `<cluster>/<node>`: nodes that whoever asks has heard already. They are left out. */
  readonly isKnown?: (key: string) => boolean;
  /** Asked of each record that is looked at: others say nothing. All are believed when not given. */
  readonly isBelieved?: (record: LogRecord) => boolean;
  /** Asked of each that was heard: others are left out. All are taken when not given. */
  readonly admits?: (key: string, heardMs: number) => boolean;
}

/** Every node publishes at least once a minute: in a window of this length each that lives is heard. */
const WINDOW_MS = 1.5 * MINUTE_MS;
/** Read whole, and long enough to see two machines take turns. */
const NEWEST_MS = 3.5 * MINUTE_MS;
/** Where nodes that are silent now are looked for; the topic keeps a day. */
const EARLIER_MS = [15 * MINUTE_MS, HOUR_MS, 4 * HOUR_MS, 12 * HOUR_MS, 23.75 * HOUR_MS];
/** Where nobody was heard in any window, this far apart at most: who lived between two windows is found there. */
const SWEEP_MS = 10 * MINUTE_MS;
/** Of so many silent nodes the exact moment is looked up. */
const MOST_DATED = 30;

const PARTITIONS = partitionsOf('node');

/**
 * Who was heard in the last day, without reading all of it: the last minutes whole, and of the time before a window here and
 * there. So a node that lived between two windows may be missed where others share its partition; a partition in which
 * somebody was heard is never taken for empty. Ends early when `signal` aborts.
 */
export async function readReportingNodes(
  needs: ReportingNodesNeeds,
  signal: AbortSignal,
): Promise<ReportingNodes> {
  const reading = new Reading(needs, signal);
  await reading.window({ fromMs: needs.nowMs - NEWEST_MS, toMs: null });
  const silentSinceMs = new Map<string, number>();
  let laterMs = needs.nowMs - NEWEST_MS;
  for (const agoMs of EARLIER_MS) {
    const fromMs = needs.nowMs - agoMs;
    for (const key of await reading.window({ fromMs, toMs: fromMs + WINDOW_MS }))
      silentSinceMs.set(key, laterMs);
    laterMs = fromMs;
  }
  for (const key of await reading.sweep({ fromMs: needs.nowMs - DAY_MS, toMs: needs.nowMs - NEWEST_MS }))
    silentSinceMs.set(key, needs.nowMs - NEWEST_MS);
  const silent = [...silentSinceMs].slice(0, MOST_DATED);
  await beside(silent, ([key, atMs]) => reading.date(key, atMs));
  return { nodes: reading.nodes, unreadable: reading.unreadable };
}

class Reading {
  readonly nodes = new Map<string, ReportingNode>();
  unreadable = 0;
  #records = 0;
  /** Partitions in which somebody was heard. */
  readonly #loud = new Set<number>();
  readonly #needs: ReportingNodesNeeds;
  readonly #signal: AbortSignal;

  constructor(needs: ReportingNodesNeeds, signal: AbortSignal) {
    this.#needs = needs;
    this.#signal = signal;
  }

  /** Hears those that were not heard in a later window; resolves to their keys. */
  async window(range: TimeRange): Promise<readonly string[]> {
    return await this.#newNodes(PARTITIONS, (partition, isNew) => this.#readWindow(partition, range, isNew));
  }

  /** As `window`, of partitions in which nobody was heard yet: from record to record, so that what is empty costs nothing. */
  async sweep(range: { readonly fromMs: number; readonly toMs: number }): Promise<readonly string[]> {
    const quiet = PARTITIONS.filter((partition) => !this.#loud.has(partition));
    return await this.#newNodes(quiet, async (partition, isNew) => {
      let fromMs = await this.#firstMs(partition, range.fromMs);
      while (fromMs !== null && fromMs < range.toMs) {
        await this.#readWindow(partition, { fromMs, toMs: fromMs + WINDOW_MS }, isNew);
        fromMs = await this.#firstMs(partition, fromMs + SWEEP_MS);
      }
    });
  }

  async #newNodes(
    partitions: readonly number[],
    hear: (partition: number, isNew: (key: string) => boolean) => Promise<void>,
  ): Promise<readonly string[]> {
    const known = new Set(this.nodes.keys());
    const isNew = (key: string): boolean => !known.has(key);
    await beside(partitions, (partition) => hear(partition, isNew));
    this.#needs.onProgress(`${this.#records} records read, ${this.nodes.size} nodes heard`);
    return [...this.nodes.keys()].filter(isNew);
  }

  /** When the first record at or after a time came; `null` when none did. */
  async #firstMs(partition: number, fromMs: number): Promise<number | null> {
    const request = { topic: TOPICS.diskStats.name, partition, from: { timestampMs: fromMs } } as const;
    return (await firstRecord(this.#needs.log, request, this.#signal))?.timestampMs ?? null;
  }

  /** When a node fell silent, by halves: it was heard, and was not any more at `silentMs`. */
  async date(key: string, silentMs: number): Promise<void> {
    const node = this.nodes.get(key);
    let untilMs = silentMs;
    for (
      let heardMs = this.#lastReportMs(key);
      node && untilMs - heardMs > WINDOW_MS && !this.#signal.aborted;
    ) {
      const fromMs = Math.floor((heardMs + untilMs) / 2);
      await this.#readWindow(node.partition, { fromMs, toMs: fromMs + WINDOW_MS }, (heard) => heard === key);
      if (this.#lastReportMs(key) === heardMs) untilMs = fromMs;
      heardMs = this.#lastReportMs(key);
    }
    if (node)
      await this.#readWindow(
        node.partition,
        { fromMs: this.#lastReportMs(key), toMs: untilMs + WINDOW_MS },
        (heard) => heard === key,
      );
  }

  #lastReportMs(key: string): number {
    return this.nodes.get(key)?.track.last.loggedAtMs ?? 0;
  }

  async #readWindow(partition: number, range: TimeRange, isWanted: (key: string) => boolean): Promise<void> {
    const reading = { topics: ['diskStats'], partition, range } as const;
    for await (const { record } of readPartition(this.#needs.log, reading, this.#signal)) {
      this.#records++;
      if (this.#isKnown(record.key, partition) || !isWanted(record.key ?? '')) continue;
      if (this.#needs.isBelieved?.(record) !== false) this.#take(record);
    }
  }

  #take(record: LogRecord): void {
    const parsed = parseRecord('diskStats', record);
    if (!parsed.ok) this.unreadable++;
    else if (this.#needs.admits?.(nodeKey(parsed.event), record.timestampMs) !== false)
      this.#note(parsed.event, record);
  }

  #isKnown(key: string | null, partition: number): boolean {
    const isKnown = key !== null && this.#needs.isKnown?.(key) === true;
    if (isKnown) this.#loud.add(partition);
    return isKnown;
  }

  #note(stats: DiskStats, { partition, offset, timestampMs: loggedAtMs }: LogRecord): void {
    const key = nodeKey(stats);
    const { nodeInstance, takenAt } = stats;
    this.#loud.add(partition);
    const before = this.nodes.get(key)?.track ?? null;
    if (before === null) this.#needs.onNode?.(stats);
    if (before !== null && loggedAtMs < before.last.loggedAtMs) return;
    this.nodes.set(key, {
      stats,
      partition,
      offset,
      track: track(before, { nodeInstance, takenAt, loggedAtMs }),
    });
  }
}

/** Of all records but these nothing is parsed: decisions are the largest part of a log. */
const UNRELIEVED = 'fleetgc.node.pressure-unrelieved.v1';

interface Range {
  /** Where the nodes under pressure report: of no other partition anything is read. */
  readonly partitions: readonly number[];
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** When a reclaim of the last minutes ended above its target, by `<cluster>/<node>`: epoch milliseconds by the log's clock. */
export async function readUnrelieved(
  log: LogReader,
  { partitions, nowMs }: Range,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const ranges = [{ fromMs: nowMs - UNRELIEVED_FOR_MS, toMs: null }];
  const take = ({ topicId, record }: RecordedEvent): void => {
    if (record.headers.ce_type !== UNRELIEVED) return;
    const parsed = parseRecord(topicId, record);
    if (!parsed.ok || parsed.event.type !== 'fleetgc.node.pressure-unrelieved') return;
    const key = nodeKey(parsed.event);
    found.set(key, Math.max(record.timestampMs, found.get(key) ?? 0));
  };
  await scan(log, { topics: ['results', 'decisions'], partitions, ranges }, take, signal);
  return found;
}

const HELD_LOOK_BACK_MS = 15 * MINUTE_MS;

/**
 * Why the last command of the last minutes was refused as `held`, by `<cluster>/<node>`. Of a node that nobody commanded
 * meanwhile the log tells nothing.
 */
export async function readHeldNodes(
  log: LogReader,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const held = new Map<string, string>();
  const ranges = [{ fromMs: nowMs - HELD_LOOK_BACK_MS, toMs: null }];
  const take = ({ record }: RecordedEvent): void => {
    const parsed = parseRecord('results', record);
    if (parsed.ok && parsed.event.type === 'fleetgc.node.command-result') note(held, parsed.event);
  };
  await scan(log, { topics: ['results'], partitions: PARTITIONS, ranges }, take, signal);
  return held;
}

function note(held: Map<string, string>, reported: CommandResult): void {
  const { result } = reported;
  if (result.outcome === 'refused' && result.reason === 'held')
    held.set(nodeKey(reported), result.message.replaceAll(/\s+/g, ' '));
  else held.delete(nodeKey(reported));
}

/** A node sends an inventory every five minutes, on which every service decides. */
const DECISIONS_LOOK_BACK_MS = 7 * MINUTE_MS;
const DECISION = eventType({ type: 'fleetgc.node.decision', version: 1 });

/** Deciders whose last decision of the last minutes was too costly, by `<cluster>/<node>`. Of other decisions nothing is parsed. */
export async function readTooCostlyNodes(
  log: LogReader,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ReadonlySet<DeciderName>>> {
  const found = new Map<string, Set<DeciderName>>();
  const ranges = [{ fromMs: nowMs - DECISIONS_LOOK_BACK_MS, toMs: null }];
  const take = ({ record }: RecordedEvent): void => {
    const { key, headers } = record;
    const decider = deciderOf(record);
    if (key === null || decider === undefined || headers.ce_type !== DECISION) return;
    if (isTooCostly(record)) found.set(key, (found.get(key) ?? new Set()).add(decider));
    else found.get(key)?.delete(decider);
  };
  await scan(log, { topics: ['decisions'], partitions: PARTITIONS, ranges }, take, signal);
  return new Map([...found].filter(([, deciders]) => deciders.size > 0));
}

function isTooCostly(record: LogRecord): boolean {
  if (!mayBeTooCostly(record)) return false;
  const parsed = parseRecord('decisions', record);
  return parsed.ok && parsed.event.type === 'fleetgc.node.decision' && parsed.event.outcome === 'too-costly';
}
