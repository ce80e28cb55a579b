import type { Count, Distribution, Metrics } from '../../packages/process/metrics.ts';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';
import { CommandRefusal, ObjectOutcome } from '../../schemas/events/result.ts';
import type { Journal } from './journal/journal.ts';

const OUTCOMES = ObjectOutcome.options.map(({ shape }) => shape.outcome.value);

/** What the executor counts. */
export interface ExecutorMetrics {
  readonly objects: Count<{ kind: typeof ObjectKind.options; outcome: typeof OUTCOMES }>;
  readonly commands: Count<{ outcome: readonly ('done' | CommandRefusal)[] }>;
  readonly removalSeconds: Distribution<{ kind: typeof ObjectKind.options }>;
  /** Grown space as measured, by the kind of object whose removal it followed. */
  readonly freedBytes: Count<{ kind: typeof ObjectKind.options }>;
  /** Removals of which nobody knows what they freed. */
  readonly unmeasured: Count<{ kind: typeof ObjectKind.options }>;
}

export const createExecutorMetrics = (metrics: Metrics): ExecutorMetrics => ({
  objects: metrics.count('executor_objects_total', 'Objects of commands, by what became of them.', {
    kind: ObjectKind.options,
    outcome: OUTCOMES,
  }),
  commands: metrics.count('executor_commands_total', 'Commands, by how they ended.', {
    outcome: ['done', ...CommandRefusal.options],
  }),
  removalSeconds: metrics.distribution('executor_removal_seconds', 'How long removals took.', {
    kind: ObjectKind.options,
  }),
  freedBytes: metrics.count('executor_freed_bytes_total', 'Space that became available, as measured.', {
    kind: ObjectKind.options,
  }),
  unmeasured: metrics.count(
    'executor_unmeasured_removals_total',
    'Removals whose effect could not be measured: no reading of the disk, or something else filled it meanwhile.',
    { kind: ObjectKind.options },
  ),
});

export function addJournalMetrics(metrics: Metrics, journal: Journal): void {
  metrics.gauge('executor_commands_waiting', 'Commands in the journal that are not done.', [], () => [
    [{}, journal.state().entries.length],
  ]);
  metrics.gauge('executor_results_unpublished', 'Events that the event log has not acknowledged.', [], () => [
    [{}, journal.state().unpublished.length],
  ]);
  metrics.gauge('executor_journal_in_memory', '1 while the journal cannot be written to disk.', [], () => [
    [{}, journal.kept() === 'memory' ? 1 : 0],
  ]);
}
