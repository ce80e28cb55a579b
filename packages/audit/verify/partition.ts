import {
  type EventOf,
  TOPICS,
  type TopicAbout,
  type TopicId,
  type TopicName,
} from '../../../schemas/events/topics.ts';
import { canonicalJson } from '../../canonical/ids.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { createPeriodicYield } from '../../process/event-loop.ts';
import type { Rejection } from '../../records/parse/parse-record.ts';
import {
  firstRecord,
  type PartitionReading,
  type RecordedEvent,
  readPartition,
  type SubjectTopic,
  type TimeRange,
  TOPICS_OF_SUBJECTS,
} from '../../records/read-log.ts';
import { TRUST_OFF } from '../../records/trust/trust.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import { placeOf } from '../events/log-position.ts';
import { type TopicTakers, takeByTopic } from '../events/reading.ts';
import {
  ComparedRepetitions,
  doubledMember,
  doubledText,
  messageName,
  RecordReader,
} from '../events/record-reader.ts';

import { DECISION_TOPICS, type RecordedDecision } from '../events/recorded-decision.ts';

import type { PoliciesInForce } from '../policies/policies-in-force.ts';
import type { PolicyHistory } from '../policies/policy-history.ts';
import { AnsweredClusterCommands, steadyClusterContent } from './cluster-commands.ts';
import { AnsweredCommands, namesOfUnreadable, steadyContent } from './commands.ts';
import {
  AHEAD_MS,
  AROUND_MS,
  type Coverages,
  coverageOf,
  EARLIER_CAUSES,
  type EarlierCause,
  SETTLED_MS,
} from './coverage.ts';
import type { DecisionHeads } from './decision-heads.ts';
import {
  type DecidingAgain,
  decideAgain,
  type ProvedDecision,
  provedByText,
  type Redecided,
  tellProved,
} from './decisions.ts';
import { createCollector, type Findings, type Found } from './findings.ts';
import { HeadedDecisions } from './headed-decisions.ts';
import { Inputs } from './inputs.ts';
import {
  DecidedOutputs,
  decidedBy,
  EarlierDecisions,
  type Effect,
  mayHaveOutputs,
  UndecidedMessages,
} from './outputs.ts';
import { AnsweredOrders, ExecutedReclaims, type OfReclaim } from './reclaims.ts';
import { RemovedByOthers } from './removals.ts';

/** How much of a partition was read. */
export interface PartitionProgress {
  readonly records: number;
  /** The part of its time that went by, from 0 to 1. */
  readonly part: number;
}

/** Verifies one partition, wherever that happens. */
export type PartitionVerifier = (
  partition: number,
  onProgress: (progress: PartitionProgress) => void,
  signal: AbortSignal,
) => Promise<Found>;

interface VerifierParts {
  readonly log: Pick<EventLog, 'read'>;
  readonly policies: PolicyHistory;
  readonly inForce: PoliciesInForce;
  readonly findDecider: (name: string, version: string) => Promise<FrozenDecider | null>;
  readonly range: TimeRange;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** Whether retention deletes from this log; from an archive nothing goes, however old it is. */
  readonly deletes: boolean;
  /** What signed heads say of decisions; `null` where nobody asks. */
  readonly headed: DecisionHeads | null;
}

/**
 * Verifies partitions of a log in this thread. Not by `readNodes`, as other audits read: a partition is gone through up to three
 * times, each record may wait for another reading, and a range that begins late needs causes from before it.
 */
export function createVerifier(parts: VerifierParts): PartitionVerifier {
  const openedMs = performance.now();
  return async (partition, onProgress, signal) => {
    const { log, range, headed, ...others } = parts;
    const findings = createCollector();
    const coverages = await coveragesIn(parts, partition, signal);
    const inputs = new Inputs(log, partition, { signal });
    const check = new PartitionCheck({ ...others, ...coverages, inputs, findings });
    const heads = await headed?.(partition, performance.now() - openedMs, signal);
    const headedDecisions = new Map<TopicName, HeadedDecisions>(
      (heads ?? []).map((of) => [TOPICS[of.topicId].name, new HeadedDecisions({ ...of, findings })] as const),
    );
    const takeHeaded = ({ record }: RecordedEvent, isAsked: boolean): void =>
      headedDecisions.get(record.topic)?.take(record, isAsked);
    const progress = tellNowAndThen(parts, onProgress);
    const yieldToEventLoop = createPeriodicYield(() => performance.now());
    const take = async (event: RecordedEvent): Promise<void> => {
      findings.passed(event.record.timestampMs);
      takeHeaded(event, true);
      await check.take(event);
      await yieldToEventLoop();
      progress(event.record.timestampMs, findings.counts.records);
    };
    const readAll = async (reading: PartitionReading, each: (event: RecordedEvent) => unknown) => {
      for await (const event of readPartition(log, reading, signal)) await each(event);
    };
    const readDecisions = (reading: PartitionReading) =>
      headedDecisions.size > 0 && readAll(reading, (event) => takeHeaded(event, false));
    try {
      for (const topicId of EARLIER_CAUSES)
        await readAll(rightBefore(range, { topicId, partition }), (event) => check.earlier.take(event));
      await readDecisions(decisionsBefore(range, partition));
      await readAll({ topics: TOPICS_OF_SUBJECTS, partition, range }, take);
      const isLate = check.finish();
      if (isLate)
        await readAll(allEarlierCommands(range, partition), (event) => check.earlier.takeForLate(event));
      await readDecisions(decisionsBehind(range, partition));
    } finally {
      await inputs.close();
    }
    check.end();
    for (const decisions of headedDecisions.values()) decisions.finish();
    return findings.found();
  };
}

/** Where nothing is deleted any more, each topic begins where it was first archived, and that is looked at. */
async function coveragesIn(
  { log, range, nowMs, deletes }: VerifierParts,
  partition: number,
  signal: AbortSignal,
): Promise<Coverages> {
  const keptSinceMs: Partial<Record<TopicId, number>> = {};
  const beganMs: Partial<Record<TopicId, number>> = {};
  for (const topicId of TOPICS_OF_SUBJECTS) {
    const request = { topic: TOPICS[topicId].name, partition, from: 'earliest' } as const;
    const oldest = await firstRecord(log, request, signal);
    if (oldest === null) continue;
    if (oldest.offset === 0n) beganMs[topicId] = oldest.timestampMs;
    else if (topicId === 'inventory' || !deletes) keptSinceMs[topicId] = oldest.timestampMs;
  }
  const facts = { keptSinceMs, deletesAtMs: deletes ? nowMs : null };
  const whole = { fromMs: null, toMs: null };
  return {
    coverage: coverageOf({ ...facts, range }),
    kept: coverageOf({ ...facts, range: whole }),
    beganAfter: (topicId, timestampMs) => (beganMs[topicId] ?? Number.NEGATIVE_INFINITY) > timestampMs,
  };
}

/** Causes so long before the range that their effects may lie in it; none where there is no limit. */
const rightBefore = (
  { fromMs }: TimeRange,
  { topicId, partition }: { readonly topicId: EarlierCause; readonly partition: number },
): PartitionReading => ({
  topics: fromMs === null ? [] : [topicId],
  partition,
  range: { fromMs: Math.max(0, (fromMs ?? 0) - AHEAD_MS[topicId]), toMs: fromMs },
});

const DECISIONS: readonly TopicId[] = Object.values(DECISION_TOPICS);

/** Decisions about a range, for the heads that name some in it together with these. */
const decisionsBefore = ({ fromMs }: TimeRange, partition: number): PartitionReading => ({
  topics: fromMs === null ? [] : DECISIONS,
  partition,
  range: { fromMs: Math.max(0, (fromMs ?? 0) - AROUND_MS), toMs: fromMs },
});

const decisionsBehind = ({ toMs }: TimeRange, partition: number): PartitionReading => ({
  topics: toMs === null ? [] : DECISIONS,
  partition,
  range: { fromMs: toMs, toMs: (toMs ?? 0) + AROUND_MS },
});

/** All commands that lie before the range. */
const allEarlierCommands = ({ fromMs }: TimeRange, partition: number): PartitionReading => ({
  topics: fromMs === null ? [] : ['commands'],
  partition,
  range: { fromMs: null, toMs: fromMs },
});

const PROGRESS_EVERY_RECORDS = 200;

function tellNowAndThen({ range, nowMs }: VerifierParts, onProgress: (progress: PartitionProgress) => void) {
  let firstMs: number | null = null;
  return (timestampMs: number, records: number): void => {
    firstMs ??= timestampMs;
    if (records % PROGRESS_EVERY_RECORDS !== 0) return;
    const span = Math.max(1, (range.toMs ?? nowMs) - firstMs);
    onProgress({ records, part: Math.min(1, Math.max(0, (timestampMs - firstMs) / span)) });
  };
}

const JUDGE_EVERY_MS = 60_000;

/**
 * Verifies one partition, record by record, in memory that does not grow with its length: `earlier.take` what was read ahead of
 * the range, `take` the range itself, `finish`, `earlier.takeForLate` where that asks for it, and `end`. It is no `PartitionTaker`: to decide
 * again may take another reading of the log, and causes from before the range are read, but not verified. Messages that are decided
 * on are parsed by `Inputs` alone: whether they are events is for the decider of their time to say.
 */
class PartitionCheck {
  /** What follows from causes before the range may lie in it. */
  readonly earlier: EarlierRecords;
  readonly #parts: DecidingAgain;
  readonly #records: RecordChecks;
  readonly #commands: AnsweredCommands;
  readonly #reclaims = new ExecutedReclaims();
  readonly #outputs: DecidedOutputs;
  readonly #orders: AnsweredOrders;
  readonly #earlierDecisions: EarlierDecisions;
  readonly #undecided: UndecidedMessages;
  readonly #removedByOthers: RemovedByOthers;
  readonly #clusters: ClusterRecords;
  #lastMs = 0;
  #judgedMs = 0;

  readonly #takers: TopicTakers<Exclude<SubjectTopic, ClusterTopic>, void | Promise<void>> = {
    diskStats: (record) => {
      this.#parts.findings.counts.diskStats++;
      this.#takeInput(record);
    },
    inventory: (record) => this.#takeInventory(record),
    observe: (record) => this.#takeOrder(record),
    decisions: (record) => this.#takeOnDecisions(record),
    commands: (record) => this.#takeCommand(record),
    results: (record) => this.#takeResult(record),
    clusterDecisions: (record) => this.#takeOnDecisions(record),
    deadLetters: (record) => this.#takeDeadLetter(record),
  };

  readonly #reader = new RecordReader(
    {
      onJson: (record, value) => this.#records.tellDoubledMember(record, value),
      onRefused: (topicId, record, rejection) => this.#refused(topicId, record, rejection),
    },
    TRUST_OFF,
  );

  constructor(parts: DecidingAgain) {
    const { findings, coverage, kept, beganAfter } = parts;
    this.#parts = parts;
    this.#records = new RecordChecks(findings);
    this.#commands = new AnsweredCommands(findings, { coverage, kept, beganAfter });
    const executed = (event: OfReclaim) => this.#reclaims.executed(event);
    this.#outputs = new DecidedOutputs({ findings, coverage, beganAfter, executed });
    this.#orders = new AnsweredOrders(findings, { coverage, beganAfter });
    this.#earlierDecisions = new EarlierDecisions(parts);
    this.#clusters = new ClusterRecords({
      findings,
      coverages: parts,
      records: this.#records,
      reader: this.#reader,
      takeInput: (record) => this.#takeInput(record),
      takeEffect: (effect) => this.#takeEffect(effect),
    });
    this.earlier = new EarlierRecords({
      decisions: this.#earlierDecisions,
      orders: this.#orders,
      commands: this.#commands,
      reclaims: this.#reclaims,
      clusterCommands: this.#clusters.commands,
    });
    this.#undecided = new UndecidedMessages(findings);
    this.#removedByOthers = new RemovedByOthers(findings);
  }

  async take(recorded: RecordedEvent): Promise<void> {
    const { record } = recorded;
    const { counts } = this.#parts.findings;
    counts.records++;
    counts.bytes += record.value?.length ?? 0;
    this.#lastMs = Math.max(this.#lastMs, record.timestampMs);
    this.#records.follow(record);
    await takeByTopic(this.#takers, recorded);
    await takeByTopic(this.#clusters.takers, recorded);
    if (this.#lastMs - this.#judgedMs >= JUDGE_EVERY_MS) this.#judge(this.#lastMs - SETTLED_MS, false);
  }

  /** Nothing more comes. Returns whether there are answers to commands that are older than those earlier ones. */
  finish(): boolean {
    this.#judge(Number.POSITIVE_INFINITY, true);
    return this.#commands.late.areThere();
  }

  /** What is alone now stays so. */
  end(): void {
    this.#commands.late.end();
  }

  #judge(beforeMs: number, atEnd: boolean): void {
    this.#judgedMs = this.#lastMs;
    this.#outputs.judge({ beforeMs, atEnd });
    this.#commands.judge({ beforeMs, atEnd }, this.#lastMs);
    this.#clusters.commands.judge({ beforeMs, atEnd }, this.#lastMs);
    this.#undecided.judge({ beforeMs, atEnd });
    this.#orders.judge({ beforeMs, atEnd });
    this.#removedByOthers.judge({ beforeMs, atEnd });
  }

  #refused(topicId: TopicId, record: LogRecord, rejection: Rejection): void {
    this.#records.tellRejected(topicId, record, rejection);
    if (topicId === 'decisions' && rejection.cause === 'unknown-version') this.#orders.unreadDecision();
    if (topicId === 'clusterCommands') this.#clusters.refused(record, rejection);
    if (topicId !== 'commands') return;
    for (const id of namesOfUnreadable(record, rejection)) this.#commands.unreadable(id);
  }

  #takeInventory(record: LogRecord): void {
    const { findings, inputs } = this.#parts;
    findings.counts.inventories++;
    this.#commands.heard(record);
    this.#keep(record);
    const message = inputs.messageOf(record);
    if (!message.ok) return;
    this.#records.tellDoubledMember(record, message.event);
    this.#removedByOthers.listed(message.event, record);
    this.#orders.listed(message.event, record);
  }

  #takeInput(record: LogRecord): void {
    this.#keep(record);
    const message = this.#parts.inputs.messageOf(record);
    if (message.ok) this.#records.tellDoubledMember(record, message.event);
  }

  /** A message that is decided on. */
  #keep(record: LogRecord): void {
    this.#parts.inputs.keep(record);
    this.#undecided.arrived(record);
  }

  async #takeOrder(record: LogRecord): Promise<void> {
    const order = this.#reader.read('observe', record);
    if (order === null || !(await this.#takeEffect(order))) return;
    this.#parts.findings.counts.orders++;
    this.#orders.ordered(order.event, record);
  }

  async #takeCommand(record: LogRecord): Promise<void> {
    const command = this.#reader.read('commands', record);
    if (command === null || !(await this.#takeEffect(command))) return;
    this.#parts.findings.counts.commands++;
    this.#commands.commanded(command.event, record);
    this.#reclaims.commanded(command.event, record);
  }

  async #takeOnDecisions(record: LogRecord): Promise<void> {
    const proved = await provedByText(record, this.#parts);
    if (proved !== null) return this.#takeProved(proved);
    const found = this.#reader.onDecisions(record);
    if (found?.kind === 'decision') await this.#takeDecision(found.decision);
    else if (found !== null) await this.#takeEffect({ event: found.event, value: found.value, record });
  }

  #takeProved({ decision, again }: ProvedDecision): void {
    if (this.#isRepeated(decision)) return;
    tellProved(decision, this.#parts);
    this.#giving(decision, again);
  }

  async #takeDecision(decision: RecordedDecision): Promise<void> {
    if (!this.#isRepeated(decision)) this.#giving(decision, await decideAgain(decision, this.#parts));
  }

  #isRepeated({ head, record, value }: RecordedDecision): boolean {
    this.#outputs.recorded(head, record);
    this.#undecided.decided(head);
    if (this.#records.isRepeated(head, record)) return true;
    this.#parts.findings.counts.decisions++;
    if (head.outcome === 'ordered') this.#orders.decided(value, record);
    return false;
  }

  #giving(decision: RecordedDecision, again: Redecided): void {
    for (const decided of decidedBy(decision, again, this.#parts.inputs)) this.#outputs.decided(decided);
  }

  async #takeEffect(effect: Effect): Promise<boolean> {
    if (!this.#records.isNew(effect.event, effect.record, canonicalJson(effect.value))) return false;
    for (const decided of await this.#earlierDecisions.giving(effect.event.id))
      this.#outputs.decided(decided);
    this.#outputs.sent(effect);
    return true;
  }

  async #takeResult(record: LogRecord): Promise<void> {
    const result = this.#reader.read('results', record);
    if (result === null) return;
    const { event, value } = result;
    switch (event.type) {
      case 'fleetgc.node.reclaim-continues':
      case 'fleetgc.node.pressure-unrelieved':
        if (event.type === 'fleetgc.node.reclaim-continues') this.#keep(record);
        await this.#takeEffect({ event, value, record });
        break;
      case 'fleetgc.node.removal-intent':
      case 'fleetgc.node.object-result':
      case 'fleetgc.node.command-result':
      case 'fleetgc.node.pass-failed':
        this.#takeAnswer(event, value, record);
        break;
    }
  }

  #takeAnswer(event: Exclude<EventOf<'results'>, OfReclaim>, value: unknown, record: LogRecord): void {
    const { counts } = this.#parts.findings;
    if (!this.#records.isNew(event, record, steadyContent(event, value))) return;
    if (event.type !== 'fleetgc.node.removal-intent') counts.results++;
    this.#commands.answered(event, record);
    if (event.type !== 'fleetgc.node.object-result') return;
    if (event.result.outcome === 'removed') counts.removals++;
    this.#removedByOthers.answered(event, record);
  }

  #takeDeadLetter(record: LogRecord): void {
    const letter = this.#reader.read('deadLetters', record)?.event;
    if (letter?.type === 'fleetgc.dead-letter') this.#undecided.givenUp(letter);
  }
}

/** Whoever has to know causes from before the range. */
interface EarlierRecordsParts {
  readonly decisions: EarlierDecisions;
  readonly orders: AnsweredOrders;
  readonly commands: AnsweredCommands;
  readonly reclaims: ExecutedReclaims;
  readonly clusterCommands: AnsweredClusterCommands;
}

/** Takes what lies before the range, of which effects may lie in it. It is not verified, so nothing is told of it. */
class EarlierRecords {
  readonly #parts: EarlierRecordsParts;

  readonly #takers: TopicTakers<EarlierCause, void> = {
    observe: (record) => this.#takeOrder(record),
    decisions: (record) => this.#takeDecision(record),
    commands: (record) => this.#takeCommand(record),
    clusterDecisions: (record) => this.#takeClusterDecision(record),
    clusterCommands: (record) => this.#takeClusterCommand(record),
  };

  readonly #reader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: (topicId, record, rejection) => {
        const commands = { commands: this.#parts.commands, clusterCommands: this.#parts.clusterCommands };
        if (topicId !== 'commands' && topicId !== 'clusterCommands') return;
        for (const id of namesOfUnreadable(record, rejection)) commands[topicId].unreadable(id);
      },
    },
    TRUST_OFF,
  );

  readonly #lateReader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: (_topicId, record, rejection) => {
        for (const id of namesOfUnreadable(record, rejection)) this.#parts.commands.late.unreadable(id);
      },
    },
    TRUST_OFF,
  );

  constructor(parts: EarlierRecordsParts) {
    this.#parts = parts;
  }

  take(recorded: RecordedEvent): void {
    takeByTopic(this.#takers, recorded);
  }

  /** Any command, for answers that are later than what is taken otherwise. */
  takeForLate({ record }: RecordedEvent): void {
    const command = this.#lateReader.read('commands', record);
    if (command !== null) this.#parts.commands.late.commanded(command.event, record);
  }

  #takeOrder(record: LogRecord): void {
    const order = this.#reader.read('observe', record);
    if (order !== null) this.#parts.orders.ordered(order.event, record);
  }

  #takeCommand(record: LogRecord): void {
    const command = this.#reader.read('commands', record);
    if (command === null) return;
    this.#parts.commands.commandedBefore(command.event, record);
    this.#parts.reclaims.commanded(command.event, record);
  }

  #takeClusterCommand(record: LogRecord): void {
    const command = this.#reader.read('clusterCommands', record);
    if (command !== null) this.#parts.clusterCommands.commanded(command.event, record, true);
  }

  #takeClusterDecision(record: LogRecord): void {
    const found = this.#reader.onDecisions(record);
    if (found?.kind === 'decision') this.#parts.decisions.decided(found.decision);
  }

  #takeDecision(record: LogRecord): void {
    const found = mayHaveOutputs(record) ? this.#reader.onDecisions(record) : null;
    if (found?.kind !== 'decision') return;
    this.#parts.decisions.decided(found.decision);
    this.#parts.orders.decided(found.decision.value, record);
  }
}

/**
 * Tells what is wrong with the records of one partition, one by one, whatever they are about. Other audits do not ask it: they sum
 * up what consumers took, while `verify` has to find what nobody may have written, and what is missing.
 */
export class RecordChecks {
  readonly #findings: Findings;
  /** The last record of each topic. */
  readonly #last = new Map<string, LogRecord>();
  readonly #repetitions = new ComparedRepetitions();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** Follows the offsets of each topic: where some are left out, records are missing that nobody can say anything of. */
  follow(record: LogRecord): void {
    const before = this.#last.get(record.topic);
    this.#last.set(record.topic, record);
    if (before === undefined || record.offset <= before.offset + 1n) return;
    const missing = record.offset - before.offset - 1n;
    this.#findings.gap({
      kind: 'records-missing',
      message: `${missing} records of ${record.topic} are missing between two that are there`,
      node: null,
      places: [placeOf(before), placeOf(record)],
    });
  }

  /** Tells of a record that has a member twice: JSON.parse takes the last of them, and other readers the first. */
  tellDoubledMember(record: LogRecord, parsed: unknown): void {
    const name = record.value === null ? null : doubledMember(record.value, parsed);
    if (name === null) return;
    this.#findings.deviation({
      kind: 'doubled-member',
      message: doubledText(name),
      node: record.key,
      places: [placeOf(record)],
    });
  }

  /** Tells of a record that no consumer takes. */
  tellRejected(topicId: TopicId, record: LogRecord, { cause, message }: Rejection): void {
    const found = { node: record.key, places: [placeOf(record)] };
    const refused = `no consumer of ${TOPICS[topicId].name} takes it: ${message}`;
    if (cause === 'unknown-version') this.#findings.gap({ kind: 'unknown-version', message, ...found });
    else this.#findings.deviation({ kind: 'unreadable', message: refused, ...found });
  }

  /** Whether it lay there before, as it is now. */
  isRepeated(event: { readonly id: string }, record: LogRecord): boolean {
    const { kind } = this.#repetitions.sighting(messageName(event, record), record);
    if (kind === 'same') this.#findings.counts.duplicates++;
    return kind === 'same';
  }

  /** Whether it is there for the first time; tells of another content. */
  isNew(event: { readonly id: string }, record: LogRecord, content: string): boolean {
    const sighting = this.#repetitions.sighting(messageName(event, record), record, content);
    if (sighting.kind === 'same') this.#findings.counts.duplicates++;
    if (sighting.kind === 'other')
      this.#findings.deviation({
        kind: 'id-reused',
        message: `two records have the id ${event.id} and different contents`,
        node: record.key,
        places: [placeOf(record), sighting.before],
      });
    return sighting.kind === 'first';
  }
}

/** What the verification of a partition lends. */
interface ClusterRecordsParts {
  readonly findings: Findings;
  readonly coverages: Coverages;
  readonly records: RecordChecks;
  readonly reader: RecordReader;
  /** Takes a message that is decided on. */
  readonly takeInput: (record: LogRecord) => void;
  /** Whether it is there for the first time. */
  readonly takeEffect: (effect: Effect) => Promise<boolean>;
}

/** Topics that it takes. */
type ClusterTopic = Exclude<TopicAbout<'cluster'>, 'clusterDecisions'>;

/** What is said about clusters in one partition, beside decisions. */
class ClusterRecords {
  readonly commands: AnsweredClusterCommands;
  readonly #parts: ClusterRecordsParts;

  readonly takers: TopicTakers<ClusterTopic, void | Promise<void>> = {
    clusterOwnership: (record) => this.#takeFact(record),
    clusterExpiry: (record) => this.#takeFact(record),
    clusterPods: (record) => this.#takeFact(record),
    clusterCommands: (record) => this.#takeCommand(record),
    clusterResults: (record) => this.#takeResult(record),
    // Nobody decides on these two: they have to be what they say, and that is all.
    clusterRemoved: (record) => void this.#parts.reader.read('clusterRemoved', record),
    clusterCensus: (record) => void this.#parts.reader.read('clusterCensus', record),
  };

  constructor(parts: ClusterRecordsParts) {
    this.#parts = parts;
    this.commands = new AnsweredClusterCommands(parts.findings, parts.coverages);
  }

  /** What is on the topic of commands and none. */
  refused(record: LogRecord, rejection: Rejection): void {
    for (const id of namesOfUnreadable(record, rejection)) this.commands.unreadable(id);
  }

  #takeFact(record: LogRecord): void {
    this.commands.heard(record);
    this.#parts.takeInput(record);
  }

  async #takeCommand(record: LogRecord): Promise<void> {
    const command = this.#parts.reader.read('clusterCommands', record);
    if (command === null || !(await this.#parts.takeEffect(command))) return;
    this.#parts.findings.counts.commands++;
    this.commands.commanded(command.event, record);
  }

  #takeResult(record: LogRecord): void {
    const { reader, records, findings } = this.#parts;
    const result = reader.read('clusterResults', record);
    if (result === null || !records.isNew(result.event, record, steadyClusterContent(result.event))) return;
    if (result.event.type !== 'fleetgc.cluster.command-intent') findings.counts.results++;
    this.commands.answered(result.event, record);
    if (result.event.type !== 'fleetgc.cluster.object-results') return;
    findings.counts.removals += result.event.objects.filter(
      ({ result: { outcome } }) => outcome === 'removed',
    ).length;
  }
}
