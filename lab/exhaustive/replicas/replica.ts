import { decider } from '../../../packages/deciders/image-gc/decider.ts';
import { type EventLog, type LogRecord, type SliceHandler, UNCOUNTED } from '../../../packages/log/port.ts';
import { serveSlices } from '../../../packages/log/subscription.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { startDecisionService } from '../../../packages/service/decision-service.ts';
import { policySet } from '../../../test/fixtures/policy.ts';
import { AGREEING_POLICY } from '../../../test/services/node/executor/support/agreeing-inventory.ts';
import { countedIds, NOW_MS } from '../../../test/support/logs/log-record.ts';
import { madeUpPositions } from '../../../test/support/logs/made-up-positions.ts';
import { NO_METRICS, SILENT } from '../../../test/support/silent.ts';
import { Waits } from '../waits.ts';
import type { Partition } from './partition.ts';

/** Of one slice. */
const MOST_RECORDS = 2;
const POLICIES = policySet(AGREEING_POLICY.policy);
const CONTEXT = { logger: SILENT, now: () => NOW_MS, random: () => 0, newId: () => 'id' };

export const unreachable = (): FleetGcError => new FleetGcError('LOG_UNREACHABLE', 'no broker answers');

/** One replica of image-gc, on a log whose every answer is a move. */
export class Replica {
  readonly name: string;
  readonly waits = new Waits();
  readonly #partition: Partition;
  readonly #over = new AbortController();
  /** What it has in mind while it has nothing in hand. */
  readonly memory: {
    /** The next record that it reads. */
    position: number;
    /** Of so many inputs none was new. */
    foundNothingOf: number | null;
    /** The first publish is that of the set of policies, which is told once. */
    hasPublished: boolean;
  } = { position: 0, foundNothingOf: null, hasPublished: false };
  #handle: SliceHandler = async () => undefined;

  constructor(name: string, partition: Partition) {
    this.name = name;
    this.#partition = partition;
    // Its decider is loaded by then: a move must not find that nothing is subscribed yet.
    void startDecisionService(decider, {
      log: this.#log(),
      policies: () => POLICIES,
      trust: TRUST_OFF,
      signer: UNSIGNED,
      heads: null,
      logger: SILENT,
      metrics: NO_METRICS,
      ids: countedIds(),
      now: () => NOW_MS,
      monotonicNow: () => NOW_MS,
    });
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Learns that the partition is another one's. */
  lose(): void {
    this.#over.abort();
  }

  /** Serves the partition from what is committed, as long as it believes to have it. */
  async serve(): Promise<void> {
    const { signal } = this.#over;
    await this.#ask('assignment', () => {
      this.memory.position = this.#partition.committed;
    });
    while (!signal.aborted) {
      // What fails comes again: the back-off is a move of its own, since the loop's own takes time from the machine.
      await serveSlices(this.#source(), {
        handle: this.#handle,
        over: signal,
        ending: signal,
        problems: { set: () => undefined, clear: () => undefined, latest: () => null },
        context: CONTEXT,
        isFinal: () => true,
      }).catch(() => undefined);
      if (!signal.aborted) await this.#ask('wait', () => undefined);
    }
  }

  #source() {
    return {
      name: 'gc.node.inventory/0',
      peek: () => this.#ask('fetch', () => this.#next()),
      deathCount: () => UNCOUNTED,
      done: (records: readonly LogRecord[]) =>
        this.waits.request(this.name, 'commit', () => this.#commit(this.memory.position + records.length)),
    };
  }

  #next(): readonly LogRecord[] {
    const { inputs, arrived } = this.#partition;
    const { position } = this.memory;
    this.memory.foundNothingOf = position < arrived ? null : arrived;
    return inputs.slice(position, Math.min(arrived, position + MOST_RECORDS));
  }

  /** The coordinator takes nothing from who has the partition no longer, which is how that one learns of it. */
  #commit(offset: number): void {
    if (this.#partition.owner !== this.name) {
      this.lose();
      throw unreachable();
    }
    this.#partition.commit(offset);
    this.memory.position = offset;
  }

  #ask<T>(name: string, read: () => T): Promise<T> {
    return this.waits.ask(this.name, name, read);
  }

  #log(): EventLog {
    const stop = async (): Promise<void> => undefined;
    return {
      publish: async (records) => {
        await this.waits.request(this.name, 'publish', () => this.#partition.append(records));
        this.memory.hasPublished = true;
        return madeUpPositions(records);
      },
      subscribe: async (_, handle) => {
        this.#handle = handle;
        const state = { joined: true, lag: new Map(), assigned: [], problem: null };
        return {
          state: () => state,
          stop,
          finished: new Promise(() => undefined),
          [Symbol.asyncDispose]: stop,
        };
      },
      read: () => {
        throw new Error('so short a partition is not looked through');
      },
      createTopics: async () => [],
      checkTopics: async () => [],
      servers: async () => [],
      groups: async () => [],
      health: () => ({ connected: true, problem: null }),
      [Symbol.asyncDispose]: stop,
    };
  }
}
