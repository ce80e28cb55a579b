import { readStanding } from '../../../packages/kube-api/list.ts';
import { METADATA_FORM } from '../../../packages/kube-api/metadata.ts';
import { watchObjects } from '../../../packages/kube-api/watch.ts';
import { backoffMs, type RetryBackoff } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal, runTogether } from '../../../packages/process/loops.ts';
import type { Count } from '../../../packages/process/metrics.ts';
import { POLICY_OBJECTS } from '../../../schemas/policy/policy-object.ts';
import { type ControllerParts, type PassDone, PolicyReconciler } from './handler.ts';

/**
 * What a watch has missed, and what others did on the log, is found so soon.
 * @limit Period in which the policy controller compares the cluster with the log.
 */
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

const OUTCOMES = { outcome: ['done', 'failed'] } as const;
const CHANGES = { change: ['applied', 'deleted'] } as const;

/** What is not known is not there. */
export class ControllerMetrics {
  readonly #passes: Count<typeof OUTCOMES>;
  readonly #changes: Count<typeof CHANGES>;
  readonly #nowMs: () => number;
  #last: (PassDone & { readonly atMs: number }) | null = null;

  constructor({ metrics, sources }: Pick<ControllerParts, 'metrics' | 'sources'>) {
    this.#nowMs = sources.monotonicNow;
    this.#passes = metrics.count(
      'policy_controller_passes_total',
      'Comparisons of the policies of the cluster with those of the event log, by how they ended.',
      OUTCOMES,
    );
    this.#changes = metrics.count(
      'policy_controller_changes_total',
      'Policies that were written to the event log, and deleted there.',
      CHANGES,
    );
    metrics.gauge('policy_controller_objects', 'Policies that lie in the cluster as objects.', [], () =>
      this.#last === null ? [] : [[{}, this.#last.objects]],
    );
    metrics.gauge(
      'policy_controller_not_ready_objects',
      'Of them, those that do not stand on the event log as they are written; their status says why.',
      [],
      () => (this.#last === null ? [] : [[{}, this.#last.notReady]]),
    );
    metrics.gauge(
      'policy_controller_last_pass_seconds',
      'Time since the policies of the cluster and of the event log were last compared.',
      [],
      () => (this.#last === null ? [] : [[{}, (this.#nowMs() - this.#last.atMs) / 1_000]]),
    );
  }

  done(pass: PassDone): void {
    this.#passes.add({ outcome: pass.problem === null ? 'done' : 'failed' });
    this.#changes.add({ change: 'applied' }, pass.applied);
    this.#changes.add({ change: 'deleted' }, pass.deleted);
    this.#last = { ...pass, atMs: this.#nowMs() };
  }

  failed(): void {
    this.#passes.add({ outcome: 'failed' });
  }
}
