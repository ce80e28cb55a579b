import type { NodeClock } from '../../../../packages/machine/clock.ts';
import { newTrace, nextHop, type TraceContext } from '../../../../packages/process/trace.ts';
import type { SpanAttributes, Tracer } from '../../../../packages/process/tracer.ts';
import { subjectAttributes } from '../../../../packages/records/message-spans.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { CommandResult, ObjectOutcome } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { CommandItem } from '../checks/removable.ts';
import type { JournalEntry } from '../journal/journal-state.ts';

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
  objectEnded(
    { kind, id }: Pick<CommandItem, 'kind' | 'id'>,
    outcome: ObjectOutcome,
    actedAt: Instant,
  ): void {
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
