import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { eventType } from '../../schemas/events/envelope.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { DeciderName } from '../../schemas/events/object-kinds.ts';
import type { CommandResult } from '../../schemas/events/result.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import { deciderOf, mayBeTooCostly } from '../records/node-decisions.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import type { RecordedEvent } from '../records/read-log.ts';
import { type IsBelieved, readLatestFacts, type UnlocatedSubject } from './latest-facts.ts';
import { UNRELIEVED_FOR_MS } from './node-pressure.ts';
import { type NodeTrack, track } from './node-track.ts';
import { partitionsOf, scan } from './scan.ts';

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
  /** Those that were heard, and of which nothing else is known. */
  readonly unlocated: readonly UnlocatedSubject[];
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
  readonly isBelieved?: IsBelieved;
  /** Asked of each that was heard: others are left out. All are taken when not given. */
  readonly admits?: (key: string, heardMs: number) => boolean;
}

/** Read whole: each node that lives is heard, and two machines that take turns are seen. */
const NEWEST_MS = 3.5 * MINUTE_MS;

const PARTITIONS = partitionsOf('node');

/**
 * Who was heard in the last day, without reading all of it: the last minutes whole, and of those that are silent since the fact that
 * `gc.latest-facts` names. Ends early when `signal` aborts. A node that never published where its facts lie, as agents of releases before
 * this topic, is there only while it is heard.
 */
export async function readReportingNodes(
  needs: ReportingNodesNeeds,
  signal: AbortSignal,
): Promise<ReportingNodes> {
  const { log, nowMs, isBelieved = () => true, onProgress } = needs;
  const reading = new Reading(needs);
  const ranges = [{ fromMs: nowMs - NEWEST_MS, toMs: null }];
  await scan(
    log,
    { topics: ['diskStats'], partitions: PARTITIONS, ranges },
    ({ record }) => reading.take(record),
    signal,
  );
  onProgress(`${reading.records} records read, ${reading.nodes.size} nodes heard`);
  const heard = new Set(reading.nodes.keys());
  const isKnown = (key: string): boolean => heard.has(key) || needs.isKnown?.(key) === true;
  const asked = { log, fact: 'diskStats', fromMs: nowMs - DAY_MS, isKnown, isBelieved } as const;
  const unlocated = await readLatestFacts(asked, (record) => reading.take(record), signal);
  onProgress(`${reading.records} records read, ${reading.nodes.size} nodes heard`);
  return { nodes: reading.nodes, unreadable: reading.unreadable, unlocated };
}

class Reading {
  readonly nodes = new Map<string, ReportingNode>();
  unreadable = 0;
  records = 0;
  readonly #needs: ReportingNodesNeeds;

  constructor(needs: ReportingNodesNeeds) {
    this.#needs = needs;
  }

  take(record: LogRecord): void {
    const { isKnown, isBelieved, admits } = this.#needs;
    this.records += 1;
    if (record.key !== null && isKnown?.(record.key) === true) return;
    if (isBelieved?.('diskStats', record) === false) return;
    const parsed = parseRecord('diskStats', record);
    if (!parsed.ok) this.unreadable += 1;
    else if (admits?.(nodeKey(parsed.event), record.timestampMs) !== false) this.#note(parsed.event, record);
  }

  #note(stats: DiskStats, { offset, partition, timestampMs: loggedAtMs }: LogRecord): void {
    const key = nodeKey(stats);
    const { nodeInstance, takenAt } = stats;
    const before = this.nodes.get(key)?.track ?? null;
    if (before === null) this.#needs.onNode?.(stats);
    if (before !== null && loggedAtMs < before.last.loggedAtMs) return;
    const now = track(before, { nodeInstance, takenAt, loggedAtMs });
    this.nodes.set(key, { stats, partition, offset, track: now });
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
