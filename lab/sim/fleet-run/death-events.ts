import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';

/** Deaths of containers, as a runtime tells them to whoever listens. */
export interface DeathEvents {
  died(containerId: string): void;
  listen(signal: AbortSignal): AsyncIterable<RuntimeContainerEvent>;
}

export function createDeathEvents(): DeathEvents {
  let waiting: string[] = [];
  let wake: () => void = () => {};
  return {
    died: (containerId) => {
      waiting.push(containerId);
      wake();
    },
    listen: async function* (signal) {
      waiting = [];
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        for (const containerId of waiting.splice(0)) yield { containerId, kind: 'stopped' };
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        if (waiting.length === 0 && !signal.aborted) await promise;
      }
    },
  };
}
