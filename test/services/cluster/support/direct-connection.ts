import type { ApiAnswer, ApiConnection } from '../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { SimulatedCluster } from '../../../../sim/api-server/cluster.ts';
import { ApiRequests } from '../../../../sim/api-server/requests.ts';
import { type WatchRequest, watch } from '../../../../sim/api-server/watch.ts';
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
  open(write: (line: string) => void): Disposable & { readonly tell: (line: string) => void } {
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

/** A simulated API server without a socket in between. Writes are steps of the life of who asks. */
export function directConnection(
  served: Served,
  life: Life,
  sleep: Sleep,
  nowMs: () => number,
): ApiConnection {
  const clock = new ServerClock();
  const requests = new ApiRequests(served.cluster);
  const answered = ({ method, path, accept, contentType, ifNoneMatch, body }: ApiRequest) => {
    const dateMs = Math.floor(served.nowMs / 1_000) * 1_000;
    clock.told({ dateMs, sentAtMs: nowMs(), receivedAtMs: nowMs() });
    return requests.answer({
      method,
      url: new URL(path, 'http://x'),
      accept: accept ?? 'application/json',
      contentType: contentType ?? '',
      ifNoneMatch: ifNoneMatch ?? null,
      body: body ?? '',
    });
  };
  const plain = (request: ApiRequest): ApiAnswer => {
    const answer = answered(request);
    if (!('status' in answer)) throw new Error('a watch is no call');
    const { status, body, etag } = answer;
    return { status, headers: { ...(etag !== undefined && { etag }) }, body: JSON.stringify(body) };
  };
  return {
    clock,
    call: async (request) => {
      if (life.isDead) throw new FleetGcError('API_UNREACHABLE', 'dead');
      return request.method === 'GET' ? plain(request) : life.step(() => plain(request));
    },
    stream: async (request, signal) => {
      if (life.isDead) throw new FleetGcError('API_UNREACHABLE', 'dead');
      const answer = answered(request);
      if ('status' in answer)
        return { status: answer.status, headers: {}, body: linesOf([`${JSON.stringify(answer.body)}\n`]) };
      return { status: 200, headers: {}, body: watched(answer, served, sleep, signal) };
    },
    [Symbol.dispose]: () => undefined,
  };
}

async function* linesOf(lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(line);
}

async function* watched(
  request: WatchRequest,
  { cluster: { store }, watches }: Served,
  wait: Sleep,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const lines: string[] = [];
  let wake = (): void => undefined;
  let isOver = false;
  const write = (line: string): void => {
    lines.push(line);
    wake();
  };
  using open = watches.open(write);
  const ended = watch(request, { store, write: open.tell, wait }, signal).finally(() => {
    isOver = true;
    wake();
  });
  void ended;
  while (!isOver || lines.length > 0) {
    for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield Buffer.from(line);
    if (isOver) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (signal.aborted) throw signal.reason;
}
