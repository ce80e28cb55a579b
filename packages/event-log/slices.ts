import { backOffMs, pause } from '../process/back-off.ts';
import { toFleetGcError } from '../process/errors.ts';
import type { EventLogContext } from './context.ts';
import type { InHand } from './in-hand.ts';
import { type LastingTrouble, lastingTrouble } from './lasting-trouble.ts';
import type { LogRecord, SliceHandler } from './port.ts';
import type { Problems } from './problems.ts';

const BACK_OFF = { firstMs: 100, mostMs: 5000 };

/** One partition as a member serves it. */
export interface SliceSource {
  /** `topic/partition`. */
  readonly name: string;
  /** The next records, without taking them away; empty when there are none now. */
  peek(): Promise<readonly LogRecord[]>;
  /** Of what `peek` gave. */
  inHand(): InHand;
  /** The handler is done with these: they do not come again, and their offsets are committed. */
  done(records: readonly LogRecord[]): Promise<void>;
}

/** How slices are served. */
export interface Serving {
  readonly handle: SliceHandler;
  /** Aborts the handlers: the partition was lost, or a stop took too long. */
  readonly over: AbortSignal;
  /** Aborts with `over`, and before it when no further slice is to begin. */
  readonly ending: AbortSignal;
  readonly problems: Problems;
  readonly context: EventLogContext;
  /** Failures after which nothing more is tried; they end the loop. */
  readonly isFinal: (error: unknown) => boolean;
}

/** `empty`: nothing is left. `over`: the handlers were aborted, and nothing is committed. */
type Outcome = 'done' | 'empty' | 'over' | { readonly failed: unknown };

async function serveSlice(source: SliceSource, { handle, over, isFinal }: Serving): Promise<Outcome> {
  try {
    const records = await source.peek();
    if (records.length === 0) return 'empty';
    await handle(records, over, source.inHand());
    if (over.aborted) return 'over';
    await source.done(records);
    return 'done';
  } catch (error) {
    if (over.aborted) return 'over';
    if (isFinal(error)) throw error;
    return { failed: error };
  }
}

/** Whatever a handler throws, a TypeError too, is a slice that comes again. */
async function backOff(
  source: SliceSource,
  serving: Serving,
  { error, failures, trouble }: { error: unknown; failures: number; trouble: LastingTrouble },
) {
  const { context, problems, ending } = serving;
  const { code, message } = toFleetGcError(error);
  const problem = `${source.name} stands still, try ${failures}: ${message}`;
  trouble.met(code, { err: error, failures }, problem);
  problems.set(source.name, problem);
  await pause(backOffMs(BACK_OFF, failures - 1, context.random), ending);
}

/**
 * Serves a partition until nothing is left. A slice that fails comes again after a back-off and holds up its own
 * partition only. Rejects with a final failure.
 */
export async function serveSlices(source: SliceSource, serving: Serving): Promise<void> {
  const trouble = lastingTrouble(serving.context);
  let failures = 0;
  while (!serving.ending.aborted) {
    const outcome = await serveSlice(source, serving);
    if (outcome === 'empty' || outcome === 'over') return;
    if (outcome === 'done') {
      if (failures > 0) serving.problems.set(source.name, null);
      trouble.well();
      failures = 0;
      continue;
    }
    failures += 1;
    await backOff(source, serving, { error: outcome.failed, failures, trouble });
  }
}
