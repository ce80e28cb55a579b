import { z } from 'zod';
import type { FixedFile } from '../files/fixed-file.ts';

/** Topics of state whose records have generations. */
export type StateTopic = 'keys' | 'policies';

const Generations = z.record(z.string(), z.int().nonnegative());
export const SeenFile = z.object({ version: z.literal(1), keys: Generations, policies: Generations });
export type SeenFile = z.infer<typeof SeenFile>;

/** The file of a process that keeps them, and the room it needs: some 2,000 keys and policies. */
export const SEEN_GENERATIONS_FILE = { name: 'generations.json', bytes: 256 * 1024 } as const;

/**
 * The highest generation that was seen of each record of a topic of state. What lies there later with a lower one, or not
 * at all, was put back or cut off, also where that happened while nobody looked.
 */
export class SeenGenerations {
  readonly #file: Pick<FixedFile<SeenFile>, 'read' | 'write'> | null;
  readonly #onUnwritable: (error: unknown) => void;
  readonly #seen: Readonly<Record<StateTopic, Map<string, number>>>;

  /** Without a file they are known for as long as the process runs. Throws `STATE_UNREADABLE`. */
  constructor(
    file: Pick<FixedFile<SeenFile>, 'read' | 'write'> | null = null,
    onUnwritable: (error: unknown) => void = () => undefined,
  ) {
    this.#file = file;
    this.#onUnwritable = onUnwritable;
    const { keys = {}, policies = {} } = file?.read() ?? {};
    this.#seen = { keys: new Map(Object.entries(keys)), policies: new Map(Object.entries(policies)) };
  }

  /** 0 where none was seen. */
  of(topic: StateTopic, key: string): number {
    return this.#seen[topic].get(key) ?? 0;
  }

  keys(topic: StateTopic): readonly string[] {
    return [...this.#seen[topic].keys()];
  }

  saw(topic: StateTopic, generations: ReadonlyMap<string, number>): void {
    const higher = [...generations].filter(([key, generation]) => generation > this.of(topic, key));
    if (higher.length === 0) return;
    for (const [key, generation] of higher) this.#seen[topic].set(key, generation);
    this.#keep();
  }

  /** What cannot be kept is known all the same while the process runs. */
  #keep(): void {
    const { keys, policies } = this.#seen;
    try {
      this.#file?.write({
        version: 1,
        keys: Object.fromEntries(keys),
        policies: Object.fromEntries(policies),
      });
    } catch (error) {
      this.#onUnwritable(error);
    }
  }
}
