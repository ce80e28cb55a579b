import { METADATA_FORM } from '../../../packages/kube-api/form.ts';
import { readStanding } from '../../../packages/kube-api/list.ts';
import { watchObjects } from '../../../packages/kube-api/watch.ts';
import { backoffMs, type RetryBackoff } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal, runTogether } from '../../../packages/process/loops.ts';
import { POLICY_OBJECTS } from '../../../schemas/policy/policy-object.ts';
import { ControllerMetrics } from './controller-metrics.ts';
import { PolicyReconciler } from './handler.ts';
import type { ControllerParts } from './ports.ts';

/** What a watch has missed, and what others did on the log, is found so soon. */
const PASS_EVERY_MS = 60_000;
const BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: 60_000 };
const WATCH_BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: 30_000 };
/** Of several changes that come together. */
const GATHER_MS = 100;

/**
 * Brings the policies of one cluster to the event log for as long as its `run` does. There is one key to work on, all of them, so a
 * wake-up takes the place of a queue: whatever comes during a pass is looked at by the next one.
 */
export class PolicyController {
  readonly #parts: ControllerParts;
  readonly #wake: ReturnType<typeof createWakeSignal>;
  readonly #metrics: ControllerMetrics;
  #problem: string | null = 'the objects of the cluster are being read for the first time';
  #isRunning = false;

  constructor(parts: ControllerParts) {
    this.#parts = parts;
    this.#wake = createWakeSignal(parts.sources.wait);
    this.#metrics = new ControllerMetrics(parts);
  }

  /** Why it cannot do its work at the moment, in a sentence; `null` when it can, or when it is not its turn. */
  problem(): string | null {
    return this.#isRunning ? this.#problem : null;
  }

  /** Until the signal aborts. Rejects with what nobody foresaw. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    try {
      await runTogether([(stop) => this.#passes(stop), (stop) => this.#watches(stop)], signal);
    } finally {
      this.#isRunning = false;
    }
  }

  async #passes(signal: AbortSignal): Promise<void> {
    const { sources } = this.#parts;
    const reconciler = new PolicyReconciler(this.#parts);
    for (let failures = 0; !signal.aborted; ) {
      failures = (await this.#pass(reconciler, signal)) ? 0 : failures + 1;
      if (signal.aborted) return;
      if (failures > 0) await sources.wait(backoffMs(BACKOFF, failures - 1, sources.random), signal);
      else await this.#wake.wait(PASS_EVERY_MS, signal);
      await sources.wait(GATHER_MS, signal);
    }
  }

  /** Whether all of it was done. */
  async #pass(reconciler: PolicyReconciler, signal: AbortSignal): Promise<boolean> {
    try {
      const done = await reconciler.pass(signal);
      this.#metrics.done(done);
      return done.problem === null ? this.#succeeded() : this.#failed(done.problem);
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = toFleetGcError(thrown);
      if (error.code === 'INTERNAL') throw error;
      this.#metrics.failed();
      return this.#failed(error);
    }
  }

  #succeeded(): boolean {
    this.#problem = null;
    return true;
  }

  #failed(error: FleetGcError): boolean {
    if (this.#problem !== error.message)
      this.#parts.logger.warn({ err: error }, 'policies could not be brought to the event log');
    this.#problem = error.message;
    return false;
  }

  /** Only tells that there is something to look at: a pass lists all by itself. */
  async #watches(signal: AbortSignal): Promise<void> {
    const { sources, logger } = this.#parts;
    for (let failures = 0; !signal.aborted; ) {
      try {
        failures = (await this.#watchOnce(signal)) ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        logger.debug({ err: toFleetGcError(error) }, 'the objects cannot be watched');
      }
      await sources.wait(backoffMs(WATCH_BACKOFF, failures, sources.random), signal);
    }
  }

  /** Whether it was told of what happens. */
  async #watchOnce(signal: AbortSignal): Promise<boolean> {
    const { connection, sources } = this.#parts;
    const what = { resource: POLICY_OBJECTS, form: METADATA_FORM };
    const standing = await readStanding(connection, what, signal);
    if (standing.why !== 'told') return false;
    let isOpen = false;
    await watchObjects(connection, {
      ...what,
      from: standing.resourceVersion,
      // What happened before is in the list of the next pass.
      onOpen: () => {
        isOpen = true;
        this.#wake.wake();
      },
      onEvent: ({ kind }) => {
        if (kind !== 'bookmark') this.#wake.wake();
      },
      signal,
      sleep: sources.wait,
      random: sources.random,
    });
    return isOpen;
  }
}
