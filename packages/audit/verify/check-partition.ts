import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { canonicalJson } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import type { Rejection } from '../../records/parse/parse-record.ts';
import type { RecordedEvent, SubjectTopic } from '../../records/read-log.ts';
import { TRUST_OFF } from '../../records/trust/trust.ts';
import { type TopicTakers, takeByTopic } from '../events/reading.ts';
import { RecordReader } from '../events/record-reader.ts';
import type { RecordedDecision } from '../events/recorded-decision.ts';
import { ClusterRecords, type ClusterTopic } from './clusters/cluster-records.ts';
import { AnsweredCommands } from './commands/answered-commands.ts';
import { namesOfUnreadable, steadyContent } from './commands/command-account.ts';
import { SETTLED_MS } from './coverage.ts';
import { type DecidingAgain, decideAgain, type Redecided, tellProved } from './decisions/decide-again.ts';
import { DecidedOutputs, type Effect } from './decisions/decided-outputs.ts';
import { type ProvedDecision, provedByText } from './decisions/decided-text.ts';
import { decidedBy, EarlierDecisions } from './decisions/outputs-of-decisions.ts';
import { UndecidedMessages } from './decisions/undecided-messages.ts';
import { EarlierRecords } from './earlier-records.ts';
import { AnsweredOrders } from './reclaims/answered-orders.ts';
import { ExecutedReclaims, type OfReclaim } from './reclaims/executed-reclaims.ts';
import { RecordChecks } from './record-checks.ts';
import { RemovedByOthers } from './removed-by-others.ts';

const JUDGE_EVERY_MS = 60_000;

/**
 * Verifies one partition, record by record, in memory that does not grow with its length: `earlier.take` what was read ahead of
 * the range, `take` the range itself, `finish`, `earlier.takeForLate` where that asks for it, and `end`. It is no `PartitionTaker`: to decide
 * again may take another reading of the log, and causes from before the range are read, but not verified. Messages that are decided
 * on are parsed by `Inputs` alone: whether they are events is for the decider of their time to say.
 */
export class PartitionCheck {
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
