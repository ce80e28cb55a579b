import type { TopicName } from '../../schemas/events/topics.ts';
import { backoffMs, type RetryBackoff } from '../process/backoff.ts';
import { toFleetGcError } from '../process/errors.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { untilAborted } from '../process/loops.ts';
import type { EventLog, LogReader, LogRecord } from './port.ts';

/**
 * How long what a topic has shown may be relied on after the log last told that this is all. It is also within this time that a
 * pass over the topic has to come to its end.
 * @limit Age at which policies and keys become stale without confirmation by the event log. Keep it above `FOLLOWING_WAIT_MS`.
 */
export const FRESH_MS = 30_000;

/** Before a topic of state is read again after a failure. */
export const REREAD_BACKOFF: RetryBackoff = { firstMs: 200, mostMs: 10_000 };

/** What becomes of the records of a topic that is read whole, again and again: each pass begins with nothing. */
export interface TopicFollower {
  begin(): void;
  /** `rewound` when the offset is not after the last one of the pass: then this is another topic than before. */
  take(record: LogRecord): 'taken' | 'rewound';
  /** All that lay there when the pass began was taken; it goes on with what comes. */
  caughtUp(): void;
  /** After that, again and again: all that has come by now was taken. */
  stillCaughtUp?(): void;
  /** The pass ended by a failure; another one begins soon. */
  fail(message: string): void;
}

export interface Following {
  readonly log: LogReader & Pick<EventLog, 'health'>;
  readonly topic: TopicName;
  /** What lies there, in the plural, as sentences for people name it. */
  readonly what: string;
  /** How often it is read from its start again; `null`: only when the log says that something happened. */
  readonly recheckMs: number | null;
  /** What the first pass waits for; nothing when not given. */
  readonly startsAfter?: Promise<void> | undefined;
  readonly sources: {
    /** Milliseconds of a clock that does not jump. */
    readonly now: () => number;
    /** 0 <= number < 1. */
    readonly random: () => number;
    /** Resolves after `ms`, or when the signal aborts. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  };
}

/** Follows a topic of state from its start. */
export class FollowedTopic implements AsyncDisposable {
  readonly #following: Following;
  readonly #follower: TopicFollower;
  readonly #closing = new AbortController();
  readonly #finished: Promise<void>;
  #pass = new LinkedController();
  /** Why the last pass failed. */
  #failure: string | null = null;
  /** When it was last sure that the topic holds nothing else; `null`: never yet. */
  #wholeAtMs: number | null = null;

  constructor(following: Following, follower: TopicFollower) {
    this.#following = following;
    this.#follower = follower;
    this.#finished = this.#follow();
  }

  /** Why nobody may rely on what the topic has shown, in a sentence; `null` when one may. */
  problem(): string | null {
    const { log, topic, what, sources } = this.#following;
    if (this.#failure !== null) return `${what} cannot be read: ${this.#failure}`;
    if (this.#wholeAtMs === null) return `the ${what} are not read yet`;
    const { connected, problem } = log.health(topic);
    if (!connected) return `${what} cannot be followed: ${problem ?? 'the event log is not connected'}`;
    return sources.now() - this.#wholeAtMs > FRESH_MS
      ? `the ${what} may be out of date: for more than ${FRESH_MS / 1000} s the event log has not told whether ${topic} holds newer ones`
      : null;
  }

  /** Ends the pass under way and begins another. */
  readAgain(): void {
    this.#pass.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#finished;
  }

  async #follow(): Promise<void> {
    const { sources, startsAfter } = this.#following;
    const closing = this.#closing.signal;
    // Who closes it need not wait for that: it may never come.
    if (startsAfter !== undefined) await Promise.race([startsAfter, untilAborted(closing)]);
    for (let failures = 0; !closing.aborted; ) {
      const beganAtMs = sources.now();
      const failure = await this.#readOnce();
      if (failure === null) continue;
      this.#failure = failure;
      this.#follower.fail(failure);
      failures = sources.now() - beganAtMs > REREAD_BACKOFF.mostMs ? 0 : failures + 1;
      await sources.wait(backoffMs(REREAD_BACKOFF, failures, sources.random), closing);
    }
  }

  /** One pass over the topic from its start. `null` when it is time for another, else why it failed. */
  async #readOnce(): Promise<string | null> {
    const { recheckMs, sources } = this.#following;
    this.#pass = new LinkedController(this.#closing.signal);
    const ending = this.#pass;
    const { signal } = ending;
    // A pass is not ended before it has shown everything, however long that takes.
    const recheck = (): void => {
      if (recheckMs !== null) void sources.wait(recheckMs, signal).then(() => ending.abort());
    };
    try {
      return await this.#readRecords(signal, recheck);
    } catch (error) {
      return toFleetGcError(error).message;
    } finally {
      ending.abort();
    }
  }

  /** `null` when the signal ended it; else why it ended. */
  async #readRecords(signal: AbortSignal, onCaughtUp: () => void): Promise<string | null> {
    const { log, topic } = this.#following;
    this.#follower.begin();
    for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal)) {
      if (signal.aborted) return null;
      if (event.kind === 'record') {
        if (this.#follower.take(event.record) === 'rewound') return `${topic} began again: it was recreated`;
      } else this.#noteWhole(event.kind, onCaughtUp);
    }
    return signal.aborted ? null : `the log ended the reading of ${topic}`;
  }

  /** Everything that lay there was taken. */
  #noteWhole(kind: 'caught-up' | 'still-caught-up', onCaughtUp: () => void): void {
    this.#wholeAtMs = this.#following.sources.now();
    if (kind === 'still-caught-up') {
      this.#follower.stillCaughtUp?.();
      return;
    }
    this.#failure = null;
    this.#follower.caughtUp();
    onCaughtUp();
  }
}
