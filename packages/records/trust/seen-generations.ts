import { z } from 'zod';
import { sha256Hex } from '../../canonical/ids.ts';
import type { FixedFile } from '../../files/fixed-file.ts';
import { MINUTE_MS } from '../../process/durations.ts';

/** Topics of state whose records have generations. */
export type StateTopic = 'keys' | 'policies';

const Generations = z.record(z.string(), z.int().nonnegative());
export const SeenFile = z.object({
  version: z.literal(3),
  /** By what a root said of a key: see `KeyRing.said`. */
  keys: Generations,
  /** By `seenName`. */
  policies: Generations,
  /** Epoch milliseconds; see `passed`. */
  passedMs: z.int().nonnegative(),
});
export type SeenFile = z.infer<typeof SeenFile>;

/** The file of a process that keeps them, and the room it needs: some 10,000 keys and policies. */
export const SEEN_GENERATIONS_FILE = { name: 'generations.json', bytes: 1024 * 1024 } as const;
/** The same of an agent that runs apart: a file has one writer. */
export const AGENT_GENERATIONS_FILE = { ...SEEN_GENERATIONS_FILE, name: 'agent-generations.json' } as const;

/** The key of a pause may be as long as a message: one alone would leave no room for all others. */
const MOST_NAME_CHARACTERS = 200;
const BEGINNING_CHARACTERS = 100;

/** By what a record key of `gc.policies` is known here. */
export const seenName = (key: string): string =>
  key.length <= MOST_NAME_CHARACTERS
    ? key
    : `${key.slice(0, BEGINNING_CHARACTERS).toWellFormed()}… sha256 ${sha256Hex(key)}`;

/** A file is not written for less of a step than this: that much time is forgotten at most. */
const STEP_MS = MINUTE_MS;

/**
 * The highest generation that was seen of each record of a topic of state. What lies there later with a lower one, or not
 * at all, was put back or cut off, also where that happened while nobody looked. And the latest
 * moment that is proved to have passed: a clock that was set back does not make a key good again that ended before it.
 */
export class SeenGenerations {
  readonly #file: Pick<FixedFile<SeenFile>, 'read' | 'write'> | null;
  readonly #onUnwritable: (error: unknown) => void;
  readonly #seen: Readonly<Record<StateTopic, Map<string, number>>>;
  #passedMs: number;
  #keptMs: number;
  #isTooMuch = false;

  /** Without a file they are known for as long as the process runs. Throws `STATE_UNREADABLE`. */
  constructor(
    file: Pick<FixedFile<SeenFile>, 'read' | 'write'> | null = null,
    onUnwritable: (error: unknown) => void = () => undefined,
  ) {
    this.#file = file;
    this.#onUnwritable = onUnwritable;
    const { keys = {}, policies = {}, passedMs = 0 } = file?.read() ?? {};
    this.#passedMs = passedMs;
    this.#keptMs = passedMs;
    this.#seen = { keys: new Map(Object.entries(keys)), policies: new Map(Object.entries(policies)) };
  }

  /** The latest moment that is proved to have passed, in epoch milliseconds: it is not earlier now, whatever a clock says. */
  get passedMs(): number {
    return this.#passedMs;
  }

  /** To be told of moments that two clocks agree to have passed, of which the process or a key of the fleet has one. */
  passed(atMs: number): void {
    this.#passedMs = Math.max(this.#passedMs, atMs);
    if (this.#passedMs - this.#keptMs >= STEP_MS) this.#keep();
  }

  /** Why nobody may rely on it that what was seen is known after a restart, in a sentence; `null` when one may. */
  problem(): string | null {
    return this.#isTooMuch
      ? `more keys, policies and pauses were seen than ${SEEN_GENERATIONS_FILE.name} has room for: a restart would forget what came last, a revocation perhaps. End pauses that nobody needs; docs/operating/keys.md says what else helps`
      : null;
  }

  /** 0 where none was seen. */
  of(topic: StateTopic, key: string): number {
    return this.#seen[topic].get(seenName(key)) ?? 0;
  }

  /** By `seenName`. */
  keys(topic: StateTopic): readonly string[] {
    return [...this.#seen[topic].keys()];
  }

  saw(topic: StateTopic, generations: ReadonlyMap<string, number>): void {
    const higher = [...generations].filter(([key, generation]) => generation > this.of(topic, key));
    if (higher.length === 0) return;
    for (const [key, generation] of higher) this.#seen[topic].set(seenName(key), generation);
    this.#keep();
  }

  /** For what does no harm when it is put back. */
  forget(topic: StateTopic, names: readonly string[]): void {
    const known = names.map(seenName).filter((name) => this.#seen[topic].delete(name));
    if (known.length > 0) this.#keep();
  }

  /** What cannot be kept is known all the same while the process runs. */
  #keep(): void {
    if (this.#file === null) return;
    const { keys, policies } = this.#seen;
    const value: SeenFile = {
      version: 3,
      keys: Object.fromEntries(keys),
      policies: Object.fromEntries(policies),
      passedMs: this.#passedMs,
    };
    this.#keptMs = this.#passedMs;
    try {
      this.#file.write(value);
      this.#isTooMuch = false;
    } catch (error) {
      // A disk that fails stops nobody: then the journal is kept in memory alone, too.
      this.#isTooMuch = Buffer.byteLength(JSON.stringify(value)) > SEEN_GENERATIONS_FILE.bytes;
      this.#onUnwritable(error);
    }
  }
}
