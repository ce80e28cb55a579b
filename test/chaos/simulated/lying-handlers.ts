import type { CriHandlers } from '../../../services/shared/cri/server.ts';
import { FleetGcError } from '../../../services/shared/errors.ts';
import type { WriteTruth } from '../truth.ts';

/** Names of methods that do what they are asked and answer with an error. */
export type Lies = Set<string>;

/** CRI with its calls that remove written down as they come in, before anything may hold them up. */
export function lyingHandlers(handlers: CriHandlers, lies: Lies, write: WriteTruth): CriHandlers {
  let calls = 0;
  const removing = async <Answer>(what: string, id: string, act: () => Promise<Answer>) => {
    calls += 1;
    const call = calls;
    write({ kind: 'asked', call, what, id });
    let ok = false;
    try {
      const answer = await act();
      if (lies.has(what)) throw lie(what);
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

const lie = (what: string): FleetGcError =>
  new FleetGcError('RUNTIME_FAILED', `${what}: the connection to the shim was lost`);
