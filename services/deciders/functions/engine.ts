import type { LogRecord } from '../../../packages/log/port.ts';
import { createPeriodicYield } from '../../../packages/process/event-loop.ts';
import { act } from '../../../packages/records/act.ts';
import { readAlone } from '../../../packages/records/catching-up/slice-look-ahead.ts';
import type { FailedMessage } from '../../../packages/records/dead-letters/dead-letters.ts';
import { decide, type Handled, type Handling } from '../../../packages/records/decide.ts';
import { topicIdOf } from '../../../packages/records/parse/event-schemas.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import type { DecisionWriting } from '../../../packages/service/decision-writing.ts';
import type { FunctionCounts } from './function-metrics.ts';

interface EngineSettings {
  readonly writing: DecisionWriting;
  /** Whose messages count. */
  readonly trust: Trust;
  readonly counts: FunctionCounts;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/**
 * Decides on events, each by itself: parsed, believed and decided on by the functions of the consumer of the event log, so that the same
 * bytes give the same bytes. Nothing is passed over for what is newer, since nobody knows here what else there is.
 */
export class FunctionEngine {
  readonly #settings: EngineSettings;
  readonly #handling: Handling;
  readonly #read: ReturnType<typeof readAlone>;
  readonly #yieldToEventLoop: () => Promise<void>;

  constructor(settings: EngineSettings) {
    const { handlers, onOutputs, decisions } = settings.writing;
    this.#settings = settings;
    this.#handling = { handlers, onOutputs, publisher: decisions };
    this.#read = readAlone(parseBelieved(settings.trust));
    this.#yieldToEventLoop = createPeriodicYield(settings.monotonicNow);
  }

  /** Whether it can be believed by all that stands beside it. Throws as `decideOn`. */
  mayBeBelieved({ topic, headers }: LogRecord): boolean {
    return this.#settings.trust.objectionToHeaders(topicIdOf(topic), headers) === null;
  }

  /** Throws a `FleetGcError` with `retry` for what will pass, such as policies that cannot be read. */
  async decideOn(record: LogRecord): Promise<Handled> {
    this.#settings.writing.gate?.require();
    const handled = await decide(topicIdOf(record.topic), this.#read(record), this.#handling);
    this.#settings.counts.done(handled.failure?.cause ?? 'processed');
    await this.#yieldToEventLoop();
    return handled;
  }

  /** Brings what follows to the event log, record before command. Returns what the log can never take. Throws as `EventLog.publish`. */
  publish(handled: readonly Handled[]): Promise<readonly FailedMessage[]> {
    return act(handled, this.#settings.writing.decisions);
  }
}
