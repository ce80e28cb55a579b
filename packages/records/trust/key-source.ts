import type { Logger } from 'pino';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { FollowedTopic, type Following, type TopicFollower } from '../../log/follow-topic.ts';
import type { EventLog, LogReader, LogRecord } from '../../log/port.ts';
import { KeyRing } from './key-ring.ts';
import type { SeenGenerations } from './seen-generations.ts';
import { VerifiedSignatures } from './signature.ts';
import { keyIn } from './statement-generations.ts';

/** Whoever may write there can write any number of them. */
const MOST_TOLD = 100;
const MOST_NAMED = 20;

interface KeySourceSettings extends Pick<Following, 'recheckMs' | 'sources'> {
  readonly log: LogReader & Pick<EventLog, 'health'>;
  readonly logger: Logger;
  readonly roots: TrustRoots;
  readonly seen: SeenGenerations;
}

/** Follows `gc.keys`: what the roots say of keys now. */
export class KeySource implements AsyncDisposable {
  readonly #logger: Logger;
  readonly #roots: TrustRoots;
  readonly #followed: FollowedTopic;
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly #verified = new VerifiedSignatures();
  readonly #listeners: (() => void)[] = [];
  /** As of the last pass that came to its end, and what came since. */
  #ring: KeyRing;
  #reading: KeyRing;
  #lastOffset = -1n;
  #toldUpTo = -1n;
  #told = 0;
  readonly #seen: SeenGenerations;
  #isCurrent = false;
  #failure: string | null = null;
  /** What was said of keys, by root, and is not there now. */
  #lost: readonly string[] = [];
  /** What was said by roots that are none here. */
  #ofOthers: readonly string[] = [];
  /** Whether everybody knows of all that was taken. */
  #settled = true;

  constructor({ log, logger, roots, seen, recheckMs, sources }: KeySourceSettings) {
    this.#logger = logger;
    this.#roots = roots;
    this.#seen = seen;
    this.#ring = new KeyRing(roots, this.#verified);
    this.#reading = this.#ring;
    this.#followed = new FollowedTopic(
      { log, topic: TOPICS.keys.name, what: 'keys', recheckMs, sources },
      this.#follower(),
    );
  }

  /** What is known. While it is not known to be all, `problem` says so. */
  ring(): KeyRing {
    return this.#ring;
  }

  /** Resolves when the topic was read to its end for the first time, or the source was closed. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  /** Told of each change of what is known. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Why nobody may rely on it, in a sentence; `null` when one may. */
  problem(): string | null {
    return this.#followed.problem() ?? this.#seen.problem() ?? this.#lossProblem();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#caughtUp.resolve();
    await this.#followed[Symbol.asyncDispose]();
  }

  #follower(): TopicFollower {
    return {
      begin: () => {
        this.#reading = new KeyRing(this.#roots, this.#verified);
        this.#lastOffset = -1n;
        this.#isCurrent = false;
      },
      take: (record) => this.#take(record),
      caughtUp: () => {
        this.#isCurrent = true;
        this.#failure = null;
        this.#settle();
        this.#caughtUp.resolve();
      },
      // The ring knows each statement at once. What follows from all of them together is told once, however many came together.
      stillCaughtUp: () => {
        if (!this.#settled) this.#settle();
      },
      fail: (message) => {
        if (this.#failure !== message)
          this.#logger.warn({ topic: TOPICS.keys.name }, `keys cannot be read: ${message}`);
        this.#failure = message;
      },
    };
  }

  #take(record: LogRecord): 'taken' | 'rewound' {
    if (record.offset <= this.#lastOffset) return 'rewound';
    this.#lastOffset = record.offset;
    const added = this.#reading.add(record);
    if (added.kind === 'refused') this.#tellOf(record, added.why);
    if (added.kind === 'changed') this.#changed();
    return 'taken';
  }

  /** Each pass meets them again. */
  #tellOf({ offset }: LogRecord, why: string): void {
    if (offset <= this.#toldUpTo || this.#told >= MOST_TOLD) return;
    this.#toldUpTo = offset;
    this.#told += 1;
    this.#logger.warn({ topic: TOPICS.keys.name, offset: String(offset) }, `gc.keys: no statement: ${why}`);
  }

  /** What roots of this fleet said is there, or lost already; what others said may matter from now on. */
  #changed(): void {
    this.#settled = false;
    if (this.#isCurrent) this.#lost = this.#lostOf([...new Set([...this.#lost, ...this.#ofOthers])]);
  }

  /** What a root took back stays taken back, though the topic says no more of it: until it does, nothing is relied on. */
  #settle(): void {
    this.#settled = true;
    const names = this.#seen.keys('keys');
    this.#lost = this.#lostOf(names);
    this.#ofOthers = names.filter((name) => !this.#reading.isOfRoot(name));
    this.#seen.saw('keys', this.#reading.said);
    this.#seen.passed(this.#reading.latestStatementMs);
    const loss = this.#lossProblem();
    if (loss !== null) this.#logger.error({ topic: TOPICS.keys.name }, loss);
    this.#ring = this.#reading;
    for (const listener of this.#listeners) listener();
  }

  #lostOf(names: readonly string[]): readonly string[] {
    return names.filter((name) => !this.#reading.stillSays(name, this.#seen.of('keys', name)));
  }

  #lossProblem(): string | null {
    if (this.#lost.length === 0) return null;
    const keys = [...new Set(this.#lost.map(keyIn))];
    const more = keys.length - MOST_NAMED;
    const named = `${keys.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return `gc.keys no longer holds all that was said of ${named}: the topic was recreated or cut off, or the file of roots has changed. Publish the statements about these keys again ("fleetgc keys publish"), or make new ones`;
  }
}

/** A record of `gc.keys` that no root of this fleet made. It changes nothing. */
interface UnreadableStatement {
  readonly offset: string;
  readonly key: string | null;
  readonly why: string;
}

/** What lies on `gc.keys` now. */
export interface StoredKeys {
  readonly ring: KeyRing;
  readonly unreadable: readonly UnreadableStatement[];
  /** Whether the topic has all of its records from its first offset on, so that no earlier statement is missing. */
  readonly isWhole: boolean;
}

/** Whoever may write there can write any number of them, and with any keys. */
const MOST_UNREADABLE = 1_000;
const MOST_KEY_CHARACTERS = 200;

/** Reads the topic to its end. */
export async function readKeys(log: LogReader, roots: TrustRoots, signal: AbortSignal): Promise<StoredKeys> {
  const ring = new KeyRing(roots);
  const unreadable: UnreadableStatement[] = [];
  let next = 0n;
  let isWhole = true;
  const request = { topic: TOPICS.keys.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    const { offset, key } = event.record;
    isWhole &&= offset === next;
    next = offset + 1n;
    const added = ring.add(event.record);
    if (added.kind === 'refused' && unreadable.length < MOST_UNREADABLE)
      unreadable.push({ offset: String(offset), key: key && shortened(key), why: added.why });
  }
  return { ring, unreadable, isWhole };
}

const shortened = (key: string): string =>
  key.length <= MOST_KEY_CHARACTERS ? key : `${key.slice(0, MOST_KEY_CHARACTERS)}…`.toWellFormed();
