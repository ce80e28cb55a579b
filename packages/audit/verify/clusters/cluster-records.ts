import type { TopicAbout } from '../../../../schemas/events/topics.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { Rejection } from '../../../records/parse/parse-record.ts';
import type { TopicTakers } from '../../events/reading.ts';
import type { RecordReader } from '../../events/record-reader.ts';
import { namesOfUnreadable } from '../commands/command-account.ts';
import type { Coverages } from '../coverage.ts';
import type { Effect } from '../decisions/decided-outputs.ts';
import type { Findings } from '../findings.ts';
import type { RecordChecks } from '../record-checks.ts';
import { AnsweredClusterCommands } from './answered-cluster-commands.ts';
import { steadyContent } from './cluster-answers.ts';

/** What the verification of a partition lends. */
export interface ClusterRecordsParts {
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
export type ClusterTopic = Exclude<TopicAbout<'cluster'>, 'clusterDecisions'>;

/** What is said about clusters in one partition, beside decisions. */
export class ClusterRecords {
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
    if (result === null || !records.isNew(result.event, record, steadyContent(result.event))) return;
    if (result.event.type !== 'fleetgc.cluster.command-intent') findings.counts.results++;
    this.commands.answered(result.event, record);
    if (result.event.type !== 'fleetgc.cluster.object-results') return;
    findings.counts.removals += result.event.objects.filter(
      ({ result: { outcome } }) => outcome === 'removed',
    ).length;
  }
}
