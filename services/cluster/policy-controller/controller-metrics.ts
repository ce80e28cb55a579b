import type { Count } from '../../../packages/process/metrics.ts';
import type { PassDone } from './handler.ts';
import type { ControllerParts } from './ports.ts';

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
