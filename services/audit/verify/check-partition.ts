import { canonicalJson } from '../../../packages/canonical/ids.ts';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord, type Rejection } from '../../../packages/pipeline/parse/parse-record.ts';
import {
  type RecordedEvent,
  type SubjectTopic,
  TOPICS_OF_SUBJECTS,
} from '../../../packages/pipeline/read-log.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import { onDecisions, type RecordedDecision, readOnDecisions } from '../events/recorded-decision.ts';
import { AnsweredCommands } from './commands/answered-commands.ts';
import { namesOfUnreadable, steadyContent } from './commands/command-account.ts';
import { SETTLED_MS } from './coverage.ts';
import { type DecidingAgain, decideAgain } from './decisions/decide-again.ts';
import { DecidedOutputs, type Effect } from './decisions/decided-outputs.ts';
import { decidedBy, EarlierDecisions, mayHaveOutputs } from './decisions/outputs-of-decisions.ts';
import { UndecidedMessages } from './decisions/undecided-messages.ts';
import { AnsweredOrders } from './reclaims/answered-orders.ts';
import { ExecutedReclaims, type OfReclaim } from './reclaims/executed-reclaims.ts';
import { type ReadRecord, RecordChecks } from './record-checks.ts';
import { RemovedByOthers } from './removed-by-others.ts';

const JUDGE_EVERY_MS = 60_000;

/**
 * Verifies one partition, record by record, in memory that does not grow with its length: `takeEarlier` what was read ahead of the
 * range, `take` the range itself, `finish`, `takeForLate` where that asks for it, and `end`.
 */
export class PartitionCheck {
  readonly #parts: DecidingAgain;
  readonly #records: RecordChecks;
  readonly #commands: AnsweredCommands;
  readonly #reclaims = new ExecutedReclaims();
  readonly #outputs: DecidedOutputs;
  readonly #orders: AnsweredOrders;
  readonly #earlierDecisions: EarlierDecisions;
  readonly #undecided: UndecidedMessages;
  readonly #removedByOthers: RemovedByOthers;
  #lastMs = 0;
  #judgedMs = 0;

  readonly #takers: Record<SubjectTopic, (record: LogRecord) => void | Promise<void>> = {
    diskStats: (record) => this.#takeDiskStats(record),
    inventory: (record) => this.#takeInventory(record),
    observe: (record) => this.#takeOrder(record),
    decisions: (record) => this.#takeOnDecisions(record),
    commands: (record) => this.#takeCommand(record),
    results: (record) => this.#takeResult(record),
    deadLetters: (record) => this.#takeDeadLetter(record),
  };

  constructor(parts: DecidingAgain) {
    const { findings, coverage, kept, beganAfter } = parts;
    this.#parts = parts;
    this.#records = new RecordChecks(findings);
    this.#commands = new AnsweredCommands(findings, { coverage, kept, beganAfter });
    const executed = (event: OfReclaim) => this.#reclaims.executed(event);
    this.#outputs = new DecidedOutputs({ findings, coverage, beganAfter, executed });
    this.#orders = new AnsweredOrders(findings, { coverage, beganAfter });
    this.#earlierDecisions = new EarlierDecisions(parts);
    this.#undecided = new UndecidedMessages(findings);
    this.#removedByOthers = new RemovedByOthers(findings);
  }

  /** A command, order or decision from before the range: what follows from it may lie in it. */
  takeEarlier({ topicId, record }: RecordedEvent): void {
    const order = topicId === 'observe' ? parseRecord('observe', record) : null;
    if (order?.ok) this.#orders.ordered(order.event, record);
    if (topicId === 'decisions') this.#takeEarlierDecision(record);
    if (topicId === 'commands') this.#takeEarlierCommand(record);
  }

  async take({ topicId, record }: RecordedEvent): Promise<void> {
    const { counts } = this.#parts.findings;
    counts.records++;
    counts.bytes += record.value?.length ?? 0;
    this.#lastMs = Math.max(this.#lastMs, record.timestampMs);
    this.#records.follow(record);
    const verified = TOPICS_OF_SUBJECTS.find((id) => id === topicId);
    if (verified !== undefined) await this.#takers[verified](record);
    if (this.#lastMs - this.#judgedMs >= JUDGE_EVERY_MS) this.#judge(this.#lastMs - SETTLED_MS, false);
  }

  /** Nothing more comes. Returns whether there are answers to commands that are older than those earlier ones. */
  finish(): boolean {
    this.#judge(Number.POSITIVE_INFINITY, true);
    return this.#commands.late.areThere();
  }

  /** Any command from before the range, for such answers. */
  takeForLate({ record }: RecordedEvent): void {
    const { late } = this.#commands;
    const parsed = parseRecord('commands', record);
    if (parsed.ok) late.commanded(parsed.event, record);
    else for (const id of namesOfUnreadable(record, parsed.rejection)) late.unreadable(id);
  }

  /** What is alone now stays so. */
  end(): void {
    this.#commands.late.end();
  }

  #judge(beforeMs: number, atEnd: boolean): void {
    this.#judgedMs = this.#lastMs;
    this.#outputs.judge({ beforeMs, atEnd });
    this.#commands.judge({ beforeMs, atEnd }, this.#lastMs);
    this.#undecided.judge({ beforeMs, atEnd });
    this.#orders.judge({ beforeMs, atEnd });
    this.#removedByOthers.judge({ beforeMs, atEnd });
  }

  /** `null` for a record that no consumer takes, of which it tells. */
  #read<Id extends TopicId>(topicId: Id, record: LogRecord): ReadRecord<Id> | null {
    const read = this.#records.read(topicId, record);
    if (read.ok) return read.event;
    this.#reject(topicId, record, read.rejection);
    return null;
  }

  #reject(topicId: TopicId, record: LogRecord, rejection: Rejection): void {
    this.#records.tellRejected(topicId, record, rejection);
    if (topicId === 'decisions' && rejection.cause === 'unknown-version') this.#orders.unreadDecision();
    if (topicId === 'commands') this.#commandUnreadable(record, rejection);
  }

  #commandUnreadable(record: LogRecord, rejection: Rejection): void {
    for (const id of namesOfUnreadable(record, rejection)) this.#commands.unreadable(id);
  }

  #takeDiskStats(record: LogRecord): void {
    const { findings, inputs } = this.#parts;
    findings.counts.diskStats++;
    this.#keep(record);
    const message = inputs.messageOf(record);
    if (message.ok) this.#records.tellDoubledMember(record, message.event);
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

  /** A message that is decided on. */
  #keep(record: LogRecord): void {
    this.#parts.inputs.keep(record);
    this.#undecided.arrived(record);
  }

  async #takeOrder(record: LogRecord): Promise<void> {
    const order = this.#read('observe', record);
    if (order === null || !(await this.#takeEffect(order))) return;
    this.#parts.findings.counts.orders++;
    this.#orders.ordered(order.event, record);
  }

  async #takeCommand(record: LogRecord): Promise<void> {
    const command = this.#read('commands', record);
    if (command === null || !(await this.#takeEffect(command))) return;
    this.#parts.findings.counts.commands++;
    this.#commands.commanded(command.event, record);
    this.#reclaims.commanded(command.event, record);
  }

  async #takeOnDecisions(record: LogRecord): Promise<void> {
    const json = this.#records.json(record);
    if (!json.ok) return this.#reject('decisions', record, json.rejection);
    const { event: value } = json;
    const found = onDecisions('node', record, value);
    if (found.kind === 'decision') await this.#takeDecision(found.decision);
    else if (found.kind === 'rejected') this.#reject('decisions', record, found.rejection);
    else await this.#takeEffect({ event: found.event, value, record });
  }

  async #takeDecision(decision: RecordedDecision): Promise<void> {
    const { head, record } = decision;
    this.#outputs.recorded(head, record);
    this.#undecided.decided(head);
    if (this.#records.isRepeated(head, record)) return;
    this.#parts.findings.counts.decisions++;
    if (head.outcome === 'ordered') this.#orders.decided(decision.value, record);
    const again = await decideAgain(decision, this.#parts);
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
    const result = this.#read('results', record);
    if (result === null) return;
    const { event, value } = result;
    switch (event.type) {
      case 'fleetgc.node.reclaim-continues':
        this.#keep(record);
        await this.#takeEffect({ event, value, record });
        break;
      case 'fleetgc.node.pressure-unrelieved':
        await this.#takeEffect({ event, value, record });
        break;
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
    counts.results++;
    this.#commands.answered(event, record);
    if (event.type !== 'fleetgc.node.object-result') return;
    if (event.result.outcome === 'removed') counts.removals++;
    this.#removedByOthers.answered(event, record);
  }

  #takeDeadLetter(record: LogRecord): void {
    const letter = this.#read('deadLetters', record)?.event;
    if (letter?.type === 'fleetgc.dead-letter') this.#undecided.givenUp(letter);
  }

  #takeEarlierCommand(record: LogRecord): void {
    const parsed = parseRecord('commands', record);
    if (parsed.ok) {
      this.#commands.commandedBefore(parsed.event, record);
      this.#reclaims.commanded(parsed.event, record);
    } else this.#commandUnreadable(record, parsed.rejection);
  }

  #takeEarlierDecision(record: LogRecord): void {
    if (!mayHaveOutputs(record)) return;
    const found = readOnDecisions('node', record);
    if (found.kind !== 'decision') return;
    this.#earlierDecisions.decided(found.decision);
    this.#orders.decided(found.decision.value, record);
  }
}
