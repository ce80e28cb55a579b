import type { LogRecord } from '../../log/port.ts';
import type { RecordedEvent } from '../../records/read-log.ts';
import { TRUST_OFF } from '../../records/trust/trust.ts';
import { type TopicTakers, takeByTopic } from '../events/reading.ts';
import { RecordReader } from '../events/record-reader.ts';
import type { AnsweredClusterCommands } from './clusters/answered-cluster-commands.ts';
import type { AnsweredCommands } from './commands/answered-commands.ts';
import { namesOfUnreadable } from './commands/command-account.ts';
import type { EarlierCause } from './coverage.ts';
import { type EarlierDecisions, mayHaveOutputs } from './decisions/outputs-of-decisions.ts';
import type { AnsweredOrders } from './reclaims/answered-orders.ts';
import type { ExecutedReclaims } from './reclaims/executed-reclaims.ts';

/** Whoever has to know causes from before the range. */
export interface EarlierRecordsParts {
  readonly decisions: EarlierDecisions;
  readonly orders: AnsweredOrders;
  readonly commands: AnsweredCommands;
  readonly reclaims: ExecutedReclaims;
  readonly clusterCommands: AnsweredClusterCommands;
}

/** Takes what lies before the range, of which effects may lie in it. It is not verified, so nothing is told of it. */
export class EarlierRecords {
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
