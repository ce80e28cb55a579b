import { onTestFinished } from 'vitest';
import type { LogPosition, LogPublisher, OutgoingRecord } from '../../../../../packages/log/port.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../../packages/process/system-sources.ts';
import type { TrustChoice } from '../../../../../packages/records/trust/process-trust.ts';
import type { DecisionFunction } from '../../../../../services/deciders/functions/decision-function.ts';
import {
  type FunctionProcess,
  openWithoutTopics,
} from '../../../../../services/deciders/functions/open-function.ts';
import type {
  DocumentSource,
  Look,
} from '../../../../../services/deciders/functions/policies/document-source.ts';
import { logLines } from '../../../../support/log-lines.ts';
import { madeUpPositions } from '../../../../support/logs/made-up-positions.ts';

/** A place where a test puts documents. */
export class ScriptedSource implements DocumentSource {
  readonly name = 'a test';
  readonly everyMs = 0;
  #look: Look;

  constructor(first: Buffer | Look) {
    this.#look = Buffer.isBuffer(first) ? { kind: 'bytes', bytes: first } : first;
  }

  put(next: Buffer | Look): void {
    this.#look = Buffer.isBuffer(next) ? { kind: 'bytes', bytes: next } : next;
  }

  forget(): void {}

  async look(): Promise<Look> {
    return this.#look;
  }
}

interface Opening {
  readonly source?: DocumentSource | null;
  readonly trust?: TrustChoice;
  readonly maxAgeMs?: number;
  /** What is published lands here; to the caller when not given. */
  readonly log?: LogPublisher | null;
  readonly kafkaPrefix?: string;
  readonly now?: () => number;
  readonly monotonicNow?: () => number;
}

export interface TestFunction extends FunctionProcess {
  readonly lines: readonly string[];
}

export async function openTestFunction(
  decider: DecisionFunction,
  opening: Opening = {},
): Promise<TestFunction> {
  const {
    source = null,
    trust = { kind: 'off' },
    maxAgeMs = 86_400_000,
    log = null,
    kafkaPrefix = '',
    now = Date.now,
    monotonicNow = systemSources.monotonicNow,
  } = opening;
  const destination = logLines();
  const process = await openWithoutTopics(
    {
      decider,
      document: source && { source, maxAgeMs },
      trust,
      log,
      kafkaPrefix,
      metrics: createMetrics(),
      logger: createLogger({ service: 'test', level: 'info' }, destination),
      sources: { ...systemSources, now, monotonicNow },
    },
    new AbortController().signal,
  );
  onTestFinished(() => process[Symbol.asyncDispose]());
  return { ...process, lines: destination.lines };
}

/** Keeps what is published, in its order. */
export class KeptLog implements LogPublisher {
  readonly records: OutgoingRecord[] = [];
  failure: Error | null = null;

  async publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> {
    if (this.failure !== null) throw this.failure;
    this.records.push(...records);
    return madeUpPositions(records);
  }
}
