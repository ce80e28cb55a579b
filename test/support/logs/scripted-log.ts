import {
  type DeathCount,
  type EventLog,
  type LogPosition,
  type LogRecord,
  type OutgoingRecord,
  type ReadEvent,
  type ReadRequest,
  type SliceHandler,
  type Subscription,
  type SubscriptionState,
  UNCOUNTED,
} from '../../../packages/log/port.ts';
import { madeUpPositions } from './made-up-positions.ts';

/** One reading of a topic, fed by the test. */
export class ScriptedReading {
  readonly request: ReadRequest;
  private readonly queue: (
    | ReadEvent
    | { readonly kind: 'failure'; readonly error: unknown }
    | { readonly kind: 'end' }
  )[] = [];
  private wake: () => void = () => undefined;

  constructor(request: ReadRequest) {
    this.request = request;
  }

  records(...records: readonly LogRecord[]): this {
    return this.add(...records.map((record) => ({ kind: 'record', record }) as const));
  }

  caughtUp(): this {
    return this.add({ kind: 'caught-up' });
  }

  stillCaughtUp(): this {
    return this.add({ kind: 'still-caught-up' });
  }

  fail(error: unknown): this {
    return this.add({ kind: 'failure', error });
  }

  end(): this {
    return this.add({ kind: 'end' });
  }

  private add(...events: typeof this.queue): this {
    this.queue.push(...events);
    this.wake();
    return this;
  }

  async *events(signal: AbortSignal | undefined): AsyncGenerator<ReadEvent, void> {
    signal?.addEventListener('abort', () => this.wake());
    while (!signal?.aborted) {
      const next = this.queue.shift();
      if (next === undefined)
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      else if (next.kind === 'failure') throw next.error;
      else if (next.kind === 'end') return;
      else yield next;
    }
  }
}

/** An event log that does what the test says, for failures that a real one gives only by luck. */
export class ScriptedLog implements EventLog {
  /** What was published, one list a publish. */
  readonly published: (readonly OutgoingRecord[])[] = [];
  readonly readings: ScriptedReading[] = [];
  subscription: Subscription | null = null;
  connected = true;
  state: SubscriptionState = { joined: true, lag: new Map(), assigned: [], problem: null };
  /** Called before a publish is taken; throws to refuse it. */
  beforePublish: (records: readonly OutgoingRecord[]) => void = () => undefined;
  private handle: SliceHandler = async () => undefined;

  async publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> {
    this.beforePublish(records);
    this.published.push(records);
    return madeUpPositions(records);
  }

  async subscribe(subscription: Subscription, handle: SliceHandler) {
    this.subscription = subscription;
    this.handle = handle;
    const stop = async (): Promise<void> => undefined;
    return { state: () => this.state, stop, finished: Promise.resolve(), [Symbol.asyncDispose]: stop };
  }

  /** Hands a slice to the subscribed handler; resolves when it is acknowledged, rejects when it is not. */
  deliver(
    records: readonly LogRecord[],
    signal: AbortSignal = new AbortController().signal,
    inHand: DeathCount = UNCOUNTED,
  ): Promise<void> {
    return this.handle(records, signal, inHand);
  }

  read(request: ReadRequest, signal?: AbortSignal): AsyncIterable<ReadEvent> {
    const reading = new ScriptedReading(request);
    this.readings.push(reading);
    return reading.events(signal);
  }

  async createTopics() {
    return [];
  }

  async checkTopics() {
    return [];
  }

  async servers() {
    return [];
  }

  async groups() {
    return [];
  }

  health() {
    return { connected: this.connected, problem: this.connected ? null : 'no broker answers' };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
