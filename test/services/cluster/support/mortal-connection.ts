import { directConnection, type OpenWatch } from '../../../../lab/sim/api-server/api-server.ts';
import type { SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Life } from './life.ts';

/** The watches on a simulated API server, which it can fail. */
export class Watches {
  readonly #all = new Set<{ isDeaf: boolean; readonly write: (line: string) => void }>();

  /** What happens from now on is told to nobody who watches, until `expire`. */
  deafen(): void {
    for (const watch of this.#all) watch.isDeaf = true;
  }

  /** Those who were told nothing hear that what happened is not known any more. */
  expire(): void {
    for (const watch of this.#all)
      if (watch.isDeaf) watch.write(`${JSON.stringify({ type: 'ERROR', object: { code: 410 } })}\n`);
  }

  /** Gives back how to tell it something. */
  open(write: (line: string) => void): OpenWatch {
    const watch = { isDeaf: false, write };
    this.#all.add(watch);
    return {
      tell: (line) => {
        if (!watch.isDeaf) write(line);
      },
      [Symbol.dispose]: () => void this.#all.delete(watch),
    };
  }
}

interface Served {
  readonly watches: Watches;
  readonly cluster: SimulatedCluster;
  /** Epoch milliseconds, by the clock of the API server. */
  readonly nowMs: number;
}

/** A simulated API server. Writes are steps of the life of who asks. */
export function mortalConnection(
  served: Served,
  life: Life,
  wait: Sleep,
  nowMs: () => number,
): ApiConnection {
  const { cluster, watches } = served;
  const openWatch = (write: (line: string) => void): OpenWatch => watches.open(write);
  const direct = directConnection({ cluster, serverNowMs: () => served.nowMs, nowMs, wait, openWatch });
  const whileAlive = (): void => {
    if (life.isDead) throw new FleetGcError('API_UNREACHABLE', 'dead');
  };
  return {
    ...direct,
    call: async (request) => {
      whileAlive();
      return request.method === 'GET' ? direct.call(request) : life.step(() => direct.call(request));
    },
    stream: async (request, signal) => {
      whileAlive();
      return direct.stream(request, signal);
    },
  };
}
