import { freedSpace } from '../../../packages/decision/freed-space.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Count, Distribution, Metrics, Occurrences } from '../../../packages/process/metrics.ts';
import { newTrace, nextHop, type TraceContext } from '../../../packages/process/trace.ts';
import type { SpanAttributes, Tracer } from '../../../packages/process/tracer.ts';
import { subjectAttributes } from '../../../packages/records/message-spans.ts';
import type { Command } from '../../../schemas/events/command.ts';
import { ObjectKind, RemovalKind } from '../../../schemas/events/object-kinds.ts';
import { CommandRefusal, type CommandResult, ObjectOutcome } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { CommandItem, PolicyInForce } from './checks.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { LocalRules } from './local-rules.ts';

const OUTCOMES = ObjectOutcome.options.map(({ shape }) => shape.outcome.value);

/** As the kubelet has them: by age alone, or because space was short. */
const GARBAGE_REASONS = ['age', 'space'] as const;

/** What the executor counts. */
export interface ExecutorMetrics {
  readonly objects: Count<{ kind: typeof ObjectKind.options; outcome: typeof OUTCOMES }>;
  /** Why objects are there still. */
  readonly stayed: Occurrences<'outcome' | 'reason'>;
  readonly images: Count<{ reason: typeof GARBAGE_REASONS }>;
  readonly commands: Count<{ outcome: readonly ('done' | CommandRefusal)[] }>;
  readonly removalSeconds: Distribution<{ kind: typeof ObjectKind.options }>;
  /** Of commands that were carried out. */
  readonly commandSeconds: Distribution<{ kind: typeof RemovalKind.options }>;
  /** What reclaims missed to their targets when their commands began. */
  readonly wantedBytes: Count<Record<never, never>>;
  readonly unrelieved: Count<Record<never, never>>;
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
  stayed: metrics.occurrences(
    'executor_objects_not_removed_total',
    'Objects of commands that were refused, or failed to go, by why.',
    ['outcome', 'reason'],
  ),
  images: metrics.count(
    'image_garbage_collected_total',
    'Images that were removed, by age or to make space: as kubelet_image_garbage_collected_total.',
    { reason: GARBAGE_REASONS },
  ),
  commands: metrics.count('executor_commands_total', 'Commands, by how they ended.', {
    outcome: ['done', ...CommandRefusal.options],
  }),
  removalSeconds: metrics.distribution('executor_removal_seconds', 'How long removals took.', {
    kind: ObjectKind.options,
  }),
  commandSeconds: metrics.distribution(
    'executor_command_duration_seconds',
    'How long commands took that were carried out.',
    { kind: RemovalKind.options },
  ),
  wantedBytes: metrics.count(
    'executor_wanted_bytes_total',
    'What was missing to the targets of commands when they began.',
    {},
  ),
  unrelieved: metrics.count(
    'executor_reclaims_unrelieved_total',
    'Reclaims that ended above their target, as measured.',
    {},
  ),
  freedBytes: metrics.count('executor_freed_bytes_total', 'Space that became available, as measured.', {
    kind: ObjectKind.options,
  }),
  unmeasured: metrics.count(
    'executor_unmeasured_removals_total',
    'Removals whose effect could not be measured: no reading of the disk, or something else filled it meanwhile.',
    { kind: ObjectKind.options },
  ),
});

/** What became of one object. */
export function countObject(
  metrics: ExecutorMetrics,
  { reclaim }: Command,
  { kind }: CommandItem,
  outcome: ObjectOutcome,
): void {
  metrics.objects.add({ kind, outcome: outcome.outcome });
  if ('reason' in outcome) metrics.stayed.add({ outcome: outcome.outcome, reason: outcome.reason });
  if (outcome.outcome !== 'removed') return;
  const freed = freedSpace(outcome.measured, outcome.estimatedBytes);
  if (freed.how === 'measured') metrics.freedBytes.add({ kind }, Number(freed.bytes));
  else metrics.unmeasured.add({ kind });
  if (kind === 'image') metrics.images.add({ reason: reclaim === null ? 'age' : 'space' });
}

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

type Stop = 'paused' | 'not-enforced' | 'policies-unreadable' | 'local-hold';

/** Says why nothing is removed. Returns `localRules`, to be asked in place of it: what it last said is remembered. */
export function watchStops(
  metrics: Metrics,
  policy: () => PolicyInForce,
  localRules: () => Promise<LocalRules>,
): () => Promise<LocalRules> {
  let last: LocalRules | null = null;
  metrics.gauge(
    'executor_stopped',
    '1 while nothing is removed on this node for this reason.',
    ['why'],
    () => {
      const { kind } = policy();
      const isHeld = last !== null && (last.kind === 'held' || last.hold);
      const stops: Readonly<Record<Stop, boolean>> = {
        paused: kind === 'paused',
        'not-enforced': kind === 'not-enforced',
        'policies-unreadable': kind === 'unreadable',
        'local-hold': isHeld,
      };
      return Object.entries(stops).map(([why, isSo]) => [{ why }, Number(isSo)]);
    },
  );
  return async () => {
    last = await localRules();
    return last;
  };
}

interface InHand {
  readonly command: Command;
  readonly context: TraceContext;
  readonly parent: TraceContext | null;
  readonly startMs: number;
}

/** Spans of the command that is being carried out, and of each object that the runtime was asked to remove. */
export class CommandSpans {
  readonly #tracer: Tracer;
  readonly #clock: NodeClock;
  #inHand: InHand | null = null;

  constructor(tracer: Tracer, clock: NodeClock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  /** The entry with the trace for what follows from it. */
  begin(entry: JournalEntry): JournalEntry {
    const { command, trace: parent } = entry;
    const context = parent === null ? newTrace(this.#tracer.ids) : nextHop(parent, this.#tracer.ids);
    this.#inHand = { command, context, parent, startMs: this.#clock.now().wallTimeMs };
    return { ...entry, trace: context };
  }

  /** `actedAt`: when the removal returned. */
  objectEnded({ kind, id }: CommandItem, outcome: ObjectOutcome, actedAt: Instant): void {
    const inHand = this.#inHand;
    if (inHand === null) return;
    const endMs = actedAt.wallTimeMs;
    const tookMs = outcome.outcome === 'removed' ? outcome.durationMs : 0;
    this.#tracer.record({
      name: `remove ${kind}`,
      kind: 'internal',
      context: nextHop(inHand.context, this.#tracer.ids),
      parent: inHand.context,
      links: [],
      startMs: endMs - tookMs,
      endMs,
      attributes: {
        ...subjectAttributes(inHand.command),
        'fleetgc.object.kind': kind,
        'fleetgc.object.id': id,
        'fleetgc.object.outcome': outcome.outcome,
      },
      failure: outcome.outcome === 'failed' ? outcome.reason : null,
    });
  }

  commandEnded(commandId: string, result: CommandResult['result']): void {
    const inHand = this.#inHand;
    if (inHand === null || inHand.command.id !== commandId) return;
    const { command, ...span } = inHand;
    this.#inHand = null;
    this.#tracer.record({
      ...span,
      name: 'carry out command',
      kind: 'internal',
      links: [],
      endMs: this.#clock.now().wallTimeMs,
      attributes: {
        ...subjectAttributes(command),
        ...commandAttributes(command),
        ...resultAttributes(result),
      },
      failure: result.outcome === 'refused' ? result.reason : null,
    });
  }
}

const commandAttributes = ({ id, kind, decisionId, items }: Command): SpanAttributes => ({
  'fleetgc.command.id': id,
  'fleetgc.command.kind': kind,
  'fleetgc.command.objects': items.length,
  'fleetgc.decision.id': decisionId,
});

function resultAttributes(result: CommandResult['result']): SpanAttributes {
  const { outcome } = result;
  if (outcome === 'refused') return { 'fleetgc.command.outcome': outcome };
  const { removed, failed, targetReached } = result;
  return {
    'fleetgc.command.outcome': outcome,
    'fleetgc.command.removed': removed,
    'fleetgc.command.failed': failed,
    ...(targetReached !== null && { 'fleetgc.command.target_reached': targetReached }),
  };
}
