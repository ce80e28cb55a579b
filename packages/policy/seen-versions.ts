import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicyTopicRecord } from '../../schemas/policy/policy.ts';
import { type Following, REREAD_BACKOFF } from '../log/follow-topic.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { backoffMs } from '../process/backoff.ts';
import { toFleetGcError } from '../process/errors.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { keyOf } from '../records/parse/record-key.ts';
import { namesGeneration, provedGeneration } from '../records/trust/generation.ts';
import type { KeyRing } from '../records/trust/key-ring.ts';
import type { SeenGenerations } from '../records/trust/seen-generations.ts';
import type { Trust } from '../records/trust/trust.ts';
import { objectionToStating } from './may-state.ts';

const { name: TOPIC } = TOPICS.policyVersions;
/** Whoever may write there can write any number of them. */
const MOST_TOLD = 100;

interface SeenVersionsSettings extends Pick<Following, 'sources'> {
  readonly log: LogReader;
  readonly logger: Logger;
  readonly trust: Trust;
  /** What is learnt here. */
  readonly seen: SeenGenerations;
  /** Whose signature counts is known from then on. */
  readonly startsAfter: Promise<void>;
  /** Called each time that everything was learnt. */
  readonly onLearnt: () => void;
}

/**
 * Learns from `gc.policy-versions` which generations of policies, pauses and deletions there ever were, for a process that keeps
 * nothing of its own: so it misses what was put back or cut off while it did not run. A record that is not believed, or that its
 * signer may not write, is told of; it raises nothing, and nothing is ever lowered.
 */
export class SeenVersions implements AsyncDisposable {
  readonly #settings: SeenVersionsSettings;
  readonly #closing = new AbortController();
  readonly #learnt = Promise.withResolvers<void>();
  readonly #finished: Promise<void>;
  #pass = new LinkedController();
  #again = Promise.withResolvers<void>();
  #problem: string | null = `${TOPIC} is not read yet`;
  #toldUpTo = -1n;
  #told = 0;

  constructor(settings: SeenVersionsSettings) {
    this.#settings = settings;
    this.#finished = this.#learn();
  }

  /** Resolves when everything was learnt for the first time, or this was closed. */
  get learnt(): Promise<void> {
    return this.#learnt.promise;
  }

  /** Why not everything is known, in a sentence; `null` when it is. */
  problem(): string | null {
    return this.#problem;
  }

  /** Judges every record anew: whose signature counts has changed. */
  readAgain(): void {
    this.#pass.abort();
    this.#again.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#again.resolve();
    this.#learnt.resolve();
    await this.#finished;
  }

  async #learn(): Promise<void> {
    const { sources, startsAfter, onLearnt, logger } = this.#settings;
    await startsAfter;
    for (let failures = 0; !this.#closing.signal.aborted; ) {
      this.#again = Promise.withResolvers();
      using pass = new LinkedController(this.#closing.signal);
      this.#pass = pass;
      const failure = await this.#readOnce(pass.signal);
      if (pass.signal.aborted) continue;
      this.#problem = failure && `${TOPIC} cannot be read: ${failure}`;
      if (this.#problem !== null) {
        if (failures === 0) logger.warn({ topic: TOPIC }, this.#problem);
        failures += 1;
        await sources.wait(backoffMs(REREAD_BACKOFF, failures, sources.random), this.#closing.signal);
        continue;
      }
      failures = 0;
      this.#learnt.resolve();
      onLearnt();
      await this.#again.promise;
    }
  }

  /** Why it failed; `null` when the topic was read to its end. */
  async #readOnce(signal: AbortSignal): Promise<string | null> {
    const { log, trust, seen } = this.#settings;
    const onRefused = (record: LogRecord, why: string): void => this.#tellOf(record, why);
    try {
      seen.saw('policies', await believedGenerations(log, { trust, onRefused }, signal));
      return null;
    } catch (error) {
      return toFleetGcError(error).message;
    }
  }

  /** Each pass meets them again. */
  #tellOf({ offset }: LogRecord, why: string): void {
    if (offset <= this.#toldUpTo || this.#told >= MOST_TOLD) return;
    this.#toldUpTo = offset;
    this.#told += 1;
    this.#settings.logger.warn(
      { topic: TOPIC, offset: String(offset) },
      `${TOPIC}: its generation does not count: ${why}`,
    );
  }
}

interface Judging {
  readonly trust: Trust;
  /** Told of what names a generation that does not count, and why, in a sentence. */
  readonly onRefused: (record: LogRecord, why: string) => void;
}

/** For each record key of `gc.policies` the highest generation that whoever may say it gave to what stood there. */
export async function believedGenerations(
  log: LogReader,
  { trust, onRefused }: Judging,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const highest = new Map<string, number>();
  const take = (record: LogRecord): void => {
    const version = namesGeneration(record) ? believedVersion(record, trust) : null;
    if (typeof version === 'string') onRefused(record, version);
    else if (version !== null)
      highest.set(version.key, Math.max(version.generation, highest.get(version.key) ?? 0));
  };
  for await (const event of log.read({ topic: TOPIC, from: 'earliest', to: 'end' }, signal))
    if (event.kind === 'record') take(event.record);
  return highest;
}

interface BelievedVersion {
  /** Of the record on `gc.policies`. */
  readonly key: string;
  readonly generation: number;
}

/** Why it is not believed, in a sentence; `null` where nobody proved anything and nobody asks for that. */
function believedVersion(record: LogRecord, trust: Trust): BelievedVersion | string | null {
  const authentication = trust.authenticate('policyVersions', record);
  if (!authentication.ok) return authentication.distrust.message;
  const { principal } = authentication;
  if (principal.kind !== 'key' || principal.generation === null) return null;
  const stated = statedVersion(record);
  if (stated === null) return 'it is no policy, pause or deletion that can be read';
  return objectionToStating(principal, stated.event) ?? { key: stated.key, generation: principal.generation };
}

type StateTopicId = 'policyVersions' | 'policies';

/** What a record of `gc.policy-versions` says, and under which key of `gc.policies` it stands or stood. */
interface StatedVersion {
  readonly key: string;
  readonly event: PolicyTopicRecord;
}

/** `null` where it tells of a set of policies, or cannot be read. */
export function statedVersion(record: LogRecord): StatedVersion | null {
  const parsed = parseRecord('policyVersions', record);
  if (!parsed.ok || parsed.event.type === 'fleetgc.policy-set') return null;
  return { key: keyOf('policies', parsed.event), event: parsed.event };
}

/**
 * For each record key of `gc.policies` the highest generation that a key of the fleet ever gave to what stood there, be that key
 * good or not: what replaces it has to be higher for whoever believed it.
 */
export async function highestGenerations(
  log: LogReader,
  ring: KeyRing,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const highest = new Map<string, number>();
  const note = (topic: StateTopicId, record: LogRecord): void => {
    const generation = provedGeneration(ring, record);
    const key = generation === null ? null : stateKeyOf(topic, record);
    if (generation !== null && key !== null) highest.set(key, Math.max(generation, highest.get(key) ?? 0));
  };
  for (const topic of ['policyVersions', 'policies'] as const)
    for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' }, signal))
      if (event.kind === 'record') note(topic, event.record);
  return highest;
}

const stateKeyOf = (topic: StateTopicId, record: LogRecord): string | null =>
  topic === 'policies' ? record.key : (statedVersion(record)?.key ?? null);
