import { setTimeout as sleep } from 'node:timers/promises';
import type { CriHandlers } from '../../../services/shared/cri/server.ts';
import { FleetGcError } from '../../../services/shared/errors.ts';
import type { WriteTruth } from '../truth.ts';
import type { Moment } from './messages.ts';

/** What a runtime does to calls that remove, beside failing and hanging. */
export interface Tricks {
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

/** CRI with its calls that remove written down as they come in, before anything may hold them up. */
export function lyingHandlers(handlers: CriHandlers, tricks: Tricks, write: WriteTruth): CriHandlers {
  let calls = 0;
  const removing = async <Answer>(what: string, id: string, act: () => Promise<Answer>): Promise<Answer> => {
    calls += 1;
    const call = calls;
    write({ kind: 'asked', call, what, id });
    let ok = false;
    try {
      const answer = await tricked(what, tricks, act);
      ok = true;
      return answer;
    } finally {
      write({ kind: 'answered', call, ok });
    }
  };
  return {
    ...handlers,
    removeImage: (request) =>
      removing('removeImage', request.image?.image ?? '', () => handlers.removeImage(request)),
    removeContainer: (request) =>
      removing('removeContainer', request.containerId, () => handlers.removeContainer(request)),
    removePodSandbox: (request) =>
      removing('removePodSandbox', request.podSandboxId, () => handlers.removePodSandbox(request)),
  };
}

async function tricked<Answer>(what: string, tricks: Tricks, act: () => Promise<Answer>): Promise<Answer> {
  const { amid, stopAt, lies } = tricks;
  if (what === 'removeImage' && amid !== null) {
    tricks.amid = null;
    await amid();
  }
  tricks.stopAt = null;
  const { slowMs } = tricks;
  if (slowMs > 0) await sleep(slowMs);
  if (stopAt === 'before') await tricks.stopped();
  const answer = await act();
  if (stopAt === 'after') await tricks.stopped();
  if (lies.has(what)) throw lie(what);
  return answer;
}

const lie = (what: string): FleetGcError =>
  new FleetGcError('RUNTIME_FAILED', `${what}: the connection to the shim was lost`);
