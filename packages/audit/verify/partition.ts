import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import { canonicalJson } from '../../canonical/ids.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { createPeriodicYield } from '../../process/event-loop.ts';
import type { Rejection } from '../../records/parse/parse-record.ts';
import {
  firstRecord,
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
import { type DecidingAgain, decideAgain, provedByText, type Redecided, tellProved } from './decisions.ts';
import { createCollector, type Findings, type Found } from './findings.ts';
import { HeadedDecisions } from './headed-decisions.ts';
import { Inputs } from './inputs.ts';
import { LocatedFacts } from './latest-facts.ts';
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

/** What the verification of every partition of a log has in common. */
interface VerifierParts {
  readonly log: LogReader;
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
    const { log, range, headed } = parts;
    const { fromMs, toMs } = range;
    const findings = createCollector();
    const read = async (
      topics: readonly TopicId[],
      time: TimeRange,
      take: (event: RecordedEvent) => void | Promise<void>,
    ): Promise<void> => {
      for await (const event of readPartition(log, { topics, partition, range: time }, signal))
        await take(event);
    };
    // 1. What the log still keeps: what is missing from before that may have been deleted.
    const coverages = await coveragesIn(parts, partition, signal);
    const inputs = new Inputs(log, partition, { signal });
    const check = new PartitionCheck({ ...parts, ...coverages, inputs, findings });
    // Asked before decisions are read, so that all that heads name are there.
    const heads = (await headed?.(partition, performance.now() - openedMs, signal)) ?? [];
    const headedDecisions = new Map<TopicName, HeadedDecisions>(
      heads.map((of) => [TOPICS[of.topicId].name, new HeadedDecisions(of, findings)]),
    );
    const takeAroundRange = ({ record }: RecordedEvent): void =>
      headedDecisions.get(record.topic)?.take(record, false);
    const progress = tellNowAndThen(parts, onProgress);
    const yieldToEventLoop = createPeriodicYield(() => performance.now());
    try {
      if (fromMs !== null) {
        // 2. Causes from so long before the range that their effects may lie in it.
        for (const topicId of EARLIER_CAUSES)
          await read([topicId], rightBefore(fromMs, AHEAD_MS[topicId]), (event) => check.takeEarlier(event));
        // 3. Decisions from before it, for heads that name some in it together with these.
        if (headedDecisions.size > 0) await read(DECISIONS, rightBefore(fromMs, AROUND_MS), takeAroundRange);
      }
      // 4. The range, record by record.
      await read(TOPICS_OF_SUBJECTS, range, async (event) => {
        const { record } = event;
        findings.passed(record.timestampMs);
        headedDecisions.get(record.topic)?.take(record, true);
        await check.take(event);
        await yieldToEventLoop();
        progress(record.timestampMs, findings.counts.records);
      });
      // 5. All earlier commands, if there are answers that are later than those of step 2.
      const isLate = check.finish();
      if (isLate && fromMs !== null)
        await read(['commands'], { fromMs: null, toMs: fromMs }, (event) => check.takeForLate(event));
      // 6. Decisions from behind the range, for the same heads.
      if (toMs !== null && headedDecisions.size > 0)
        await read(DECISIONS, { fromMs: toMs, toMs: toMs + AROUND_MS }, takeAroundRange);
    } finally {
      await inputs.close();
    }
    // 7. What is alone now stays so.
    check.end();
    for (const decisions of headedDecisions.values()) decisions.finish();
    return findings.found();
  };
}

const DECISIONS: readonly TopicId[] = Object.values(DECISION_TOPICS);

const rightBefore = (fromMs: number, aheadMs: number): TimeRange => ({
  fromMs: Math.max(0, fromMs - aheadMs),
  toMs: fromMs,
});

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
 * Verifies one partition, record by record, in memory that does not grow with its length. Messages that are decided on are parsed by
 * `Inputs` alone: whether they are events is for the decider of their time to say.
 */
class PartitionCheck {
  readonly #parts: DecidingAgain;
  readonly #records: RecordChecks;
  readonly #commands: AnsweredCommands;
  readonly #reclaims = new ExecutedReclaims();
  readonly #outputs: DecidedOutputs;
  readonly #orders: AnsweredOrders;
  readonly #earlierDecisions: EarlierDecisions;
  readonly #undecided: UndecidedMessages;
  readonly #removedByOthers: RemovedByOthers;
  readonly #locatedFacts: LocatedFacts;
  readonly #clusterCommands: AnsweredClusterCommands;
  #lastMs = 0;
  #judgedMs = 0;

  /** What each record of the range is. */
  readonly #takers: TopicTakers<SubjectTopic, void | Promise<void>> = {
    diskStats: (record) => {
      this.#parts.findings.counts.diskStats++;
      this.#locatedFacts.fact('diskStats', record);
      this.#takeInput(record);
    },
    inventory: (record) => this.#takeInventory(record),
    observe: (record) => this.#takeOrder(record),
    decisions: (record) => this.#takeOnDecisions(record),
    commands: (record) => this.#takeCommand(record),
    results: (record) => this.#takeResult(record),
    clusterOwnership: (record) => this.#takeClusterFact(record),
    clusterExpiry: (record) => this.#takeClusterFact(record),
    clusterPods: (record) => this.#takeClusterFact(record),
    clusterDecisions: (record) => this.#takeOnDecisions(record),
    clusterCommands: (record) => this.#takeClusterCommand(record),
    clusterResults: (record) => this.#takeClusterResult(record),
    // Nobody decides on these two: they have to be what they say, and that is all.
    clusterRemoved: (record) => void this.#reader.read('clusterRemoved', record),
    clusterCensus: (record) => {
      this.#locatedFacts.fact('clusterCensus', record);
      this.#reader.read('clusterCensus', record);
    },
    latestFacts: (record) => this.#locatedFacts.position(record),
    deadLetters: (record) => this.#takeDeadLetter(record),
  };

  /** What lies before the range is not verified, so nothing is told of it. */
  readonly #earlierTakers: TopicTakers<EarlierCause, void> = {
    observe: (record) => this.#takeEarlierOrder(record),
    decisions: (record) => {
      if (mayHaveOutputs(record)) this.#takeEarlierDecision(record);
    },
    commands: (record) => this.#takeEarlierCommand(record),
    clusterDecisions: (record) => this.#takeEarlierDecision(record),
    clusterCommands: (record) => this.#takeEarlierClusterCommand(record),
  };

  readonly #reader = new RecordReader(
    {
      onJson: (record, value) => this.#records.tellDoubledMember(record, value),
      onRefused: (topicId, record, rejection) => {
        this.#records.tellRejected(topicId, record, rejection);
        if (topicId === 'decisions' && rejection.cause === 'unknown-version') this.#orders.unreadDecision();
        this.#noteUnreadable(topicId, record, rejection);
      },
    },
    TRUST_OFF,
  );

  readonly #earlierReader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: (topicId, record, rejection) => this.#noteUnreadable(topicId, record, rejection),
    },
    TRUST_OFF,
  );

  readonly #lateReader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: (_topicId, record, rejection) => {
        for (const id of namesOfUnreadable(record, rejection)) this.#commands.late.unreadable(id);
      },
    },
    TRUST_OFF,
  );

  constructor(parts: DecidingAgain & Pick<VerifierParts, 'range' | 'deletes'>) {
    const { findings } = parts;
    this.#parts = parts;
    this.#records = new RecordChecks(findings);
    this.#commands = new AnsweredCommands(findings, parts);
    this.#clusterCommands = new AnsweredClusterCommands(findings, parts);
    this.#outputs = new DecidedOutputs(findings, parts, (event) => this.#reclaims.executed(event));
    this.#orders = new AnsweredOrders(findings, parts);
    this.#earlierDecisions = new EarlierDecisions(parts);
    this.#undecided = new UndecidedMessages(findings);
    this.#removedByOthers = new RemovedByOthers(findings);
    this.#locatedFacts = new LocatedFacts(parts);
  }

  /** A cause from before the range: what follows from it may lie in it. */
  takeEarlier(recorded: RecordedEvent): void {
    takeByTopic(this.#earlierTakers, recorded);
  }

  #takeEarlierOrder(record: LogRecord): void {
    const order = this.#earlierReader.read('observe', record);
    if (order !== null) this.#orders.ordered(order.event, record);
  }

  #takeEarlierDecision(record: LogRecord): void {
    const found = this.#earlierReader.onDecisions(record);
    if (found?.kind !== 'decision') return;
    const { decision } = found;
    this.#earlierDecisions.decided(decision);
    if (decision.subject.kind === 'node') this.#orders.decided(decision.value, record);
  }

  #takeEarlierCommand(record: LogRecord): void {
    const command = this.#earlierReader.read('commands', record);
    if (command === null) return;
    this.#commands.commandedBefore(command.event, record);
    this.#reclaims.commanded(command.event, record);
  }

  #takeEarlierClusterCommand(record: LogRecord): void {
    const command = this.#earlierReader.read('clusterCommands', record);
    if (command !== null) this.#clusterCommands.commanded(command.event, record, true);
  }

  async take(recorded: RecordedEvent): Promise<void> {
    const { record } = recorded;
    const { counts } = this.#parts.findings;
    counts.records++;
    counts.bytes += record.value?.length ?? 0;
    this.#lastMs = Math.max(this.#lastMs, record.timestampMs);
    this.#records.follow(recorded);
    await takeByTopic(this.#takers, recorded);
    if (this.#lastMs - this.#judgedMs >= JUDGE_EVERY_MS) this.#judge(this.#lastMs - SETTLED_MS, false);
  }

  /** The range is read. Returns whether there are answers to commands that are older than the earlier ones. */
  finish(): boolean {
    this.#judge(Number.POSITIVE_INFINITY, true);
    return this.#commands.late.areThere();
  }

  /** Any command from before the range, for answers that are later than what is taken otherwise. */
  takeForLate({ record }: RecordedEvent): void {
    const command = this.#lateReader.read('commands', record);
    if (command !== null) this.#commands.late.commanded(command.event, record);
  }

  /** Nothing more comes. */
  end(): void {
    this.#commands.late.end();
  }

  #judge(beforeMs: number, atEnd: boolean): void {
    this.#judgedMs = this.#lastMs;
    this.#outputs.judge({ beforeMs, atEnd });
    this.#commands.judge({ beforeMs, atEnd }, this.#lastMs);
    this.#clusterCommands.judge({ beforeMs, atEnd }, this.#lastMs);
    this.#undecided.judge({ beforeMs, atEnd });
    this.#orders.judge({ beforeMs, atEnd });
    this.#removedByOthers.judge({ beforeMs, atEnd });
    this.#locatedFacts.judge({ beforeMs, atEnd });
  }

  /** What is on a topic of commands and none: executors answer it by these ids. */
  #noteUnreadable(topicId: TopicId, record: LogRecord, rejection: Rejection): void {
    const answered = { commands: this.#commands, clusterCommands: this.#clusterCommands };
    if (topicId !== 'commands' && topicId !== 'clusterCommands') return;
    for (const id of namesOfUnreadable(record, rejection)) answered[topicId].unreadable(id);
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

  #takeClusterFact(record: LogRecord): void {
    this.#clusterCommands.heard(record);
    this.#takeInput(record);
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

  async #takeClusterCommand(record: LogRecord): Promise<void> {
    const command = this.#reader.read('clusterCommands', record);
    if (command === null || !(await this.#takeEffect(command))) return;
    this.#parts.findings.counts.commands++;
    this.#clusterCommands.commanded(command.event, record);
  }

  /** Decided again from its text where that is enough; else what is wrong with it is told. */
  async #takeOnDecisions(record: LogRecord): Promise<void> {
    const proved = await provedByText(record, this.#parts);
    if (proved !== null) {
      const { decision, again } = proved;
      if (this.#isRepeated(decision)) return;
      tellProved(decision, this.#parts);
      this.#giving(decision, again);
      return;
    }
    const found = this.#reader.onDecisions(record);
    if (found === null) return;
    if (found.kind !== 'decision') await this.#takeEffect({ event: found.event, value: found.value, record });
    else if (!this.#isRepeated(found.decision))
      this.#giving(found.decision, await decideAgain(found.decision, this.#parts));
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

  /** Whether it is there for the first time; then it is matched with what was decided. */
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

  #takeClusterResult(record: LogRecord): void {
    const { counts } = this.#parts.findings;
    const result = this.#reader.read('clusterResults', record);
    if (result === null) return;
    const { event } = result;
    if (!this.#records.isNew(event, record, steadyClusterContent(event))) return;
    if (event.type !== 'fleetgc.cluster.command-intent') counts.results++;
    this.#clusterCommands.answered(event, record);
    if (event.type !== 'fleetgc.cluster.object-results') return;
    counts.removals += event.objects.filter(({ result: { outcome } }) => outcome === 'removed').length;
  }

  #takeDeadLetter(record: LogRecord): void {
    const letter = this.#reader.read('deadLetters', record)?.event;
    if (letter?.type === 'fleetgc.dead-letter') this.#undecided.givenUp(letter);
  }
}

/**
 * Tells what is wrong with the records of one partition, one by one, whatever they are about. Other audits do not ask it: they sum
 * up what consumers took, while `verify` has to find what nobody may have written, and what is missing.
 */
class RecordChecks {
  readonly #findings: Findings;
  /** The last record of each topic. */
  readonly #last = new Map<string, LogRecord>();
  readonly #repetitions = new ComparedRepetitions();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /**
   * Follows the offsets of each topic: where some are left out, records are missing that nobody can say anything of. Compaction leaves
   * offsets out, and that is no loss.
   */
  follow({ topicId, record }: RecordedEvent): void {
    if (TOPICS[topicId].compacted) return;
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
