import { setTimeout as sleep } from 'node:timers/promises';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { WriteTruth } from '../truth.ts';
import type { Moment } from './messages.ts';

/** What a runtime does to calls that remove, beside failing and hanging. */
export interface RemovalFaults {
  /** Names of methods that do what they are asked and answer with an error. */
  readonly lies: Set<string>;
  /** So long each of them takes. */
  slowMs: number;
  /** The next call stops there, and goes on when whoever was told of it says so. */
  stopAt: Moment | null;
  /** Called once, when the next image is to be removed. */
  amid: (() => Promise<void>) | null;
  /** Tells that a call stopped; resolves when it is to go on. */
  readonly stopped: () => Promise<void>;
}

/** The names of the methods that remove. */
export type Removing = 'removeImage' | 'removeContainer' | 'removePodSandbox';
export type Remove = <Answer>(what: Removing, id: string, act: () => Promise<Answer>) => Promise<Answer>;

export const noRemovalFaults = (stopped: RemovalFaults['stopped']): RemovalFaults => ({
  lies: new Set(),
  slowMs: 0,
  stopAt: null,
  amid: null,
  stopped,
});

/** Calls that remove, written down as they come in, before anything may hold them up. */
export function faultyRemovals(removalFaults: RemovalFaults, write: WriteTruth): Remove {
  let calls = 0;
  return async (what, id, act) => {
    calls += 1;
    const call = calls;
    write({ kind: 'asked', call, what, id });
    let ok = false;
    try {
      const answer = await withFaults(what, removalFaults, act);
      ok = true;
      return answer;
    } finally {
      write({ kind: 'answered', call, ok });
    }
  };
}

async function withFaults<Answer>(
  what: Removing,
  removalFaults: RemovalFaults,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const { amid, stopAt, lies } = removalFaults;
  if (what === 'removeImage' && amid !== null) {
    removalFaults.amid = null;
    await amid();
  }
  removalFaults.stopAt = null;
  const { slowMs } = removalFaults;
  if (slowMs > 0) await sleep(slowMs);
  if (stopAt === 'before') await removalFaults.stopped();
  const answer = await act();
  if (stopAt === 'after') await removalFaults.stopped();
  if (lies.has(what)) throw lie(what);
  return answer;
}

const lie = (what: string): FleetGcError =>
  new FleetGcError('RUNTIME_FAILED', `${what}: the connection to the shim was lost`);
