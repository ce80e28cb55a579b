import type { ApiAnswer, ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { SimulatedCluster } from './cluster.ts';
import { ApiRequests } from './requests.ts';
import { type WatchRequest, watch } from './watch.ts';

type Tell = (line: string) => void;

/** A watch that is told what happens. */
export interface OpenWatch extends Disposable {
  readonly tell: Tell;
}

export interface DirectlyServed {
  readonly cluster: SimulatedCluster;
  /** Epoch milliseconds, by the clock of the API server. */
  readonly serverNowMs: () => number;
  /** Milliseconds that only grow, by the clock of who asks. */
  readonly nowMs: () => number;
  readonly wait: Sleep;
  /** Stands between the server and each watch, which `write` reaches; nobody when not given. */
  readonly openWatch?: (write: Tell) => OpenWatch;
}

/** A simulated API server without a socket in between. */
export function directConnection(served: DirectlyServed): ApiConnection {
  const { cluster, serverNowMs, nowMs } = served;
  const clock = new ServerClock();
  const requests = new ApiRequests(cluster);
  const answered = ({ method, path, accept, contentType, ifNoneMatch, body }: ApiRequest) => {
    const dateMs = Math.floor(serverNowMs() / 1_000) * 1_000;
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
  return {
    clock,
    call: async (request, signal): Promise<ApiAnswer> => {
      if (signal?.aborted) throw signal.reason;
      const answer = answered(request);
      if (!('status' in answer)) throw new FleetGcError('INTERNAL', 'a watch is no call');
      const { status, body, etag } = answer;
      return { status, headers: { ...(etag !== undefined && { etag }) }, body: JSON.stringify(body) };
    },
    stream: async (request, signal) => {
      const answer = answered(request);
      return 'status' in answer
        ? { status: answer.status, headers: {}, body: oneLine(`${JSON.stringify(answer.body)}\n`) }
        : { status: 200, headers: {}, body: watched(answer, served, signal) };
    },
    [Symbol.dispose]: () => undefined,
  };
}

async function* oneLine(line: string): AsyncGenerator<Buffer> {
  yield Buffer.from(line);
}

const straight = (tell: Tell): OpenWatch => ({ tell, [Symbol.dispose]: () => undefined });

async function* watched(
  request: WatchRequest,
  { cluster: { store }, wait, openWatch = straight }: DirectlyServed,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const lines: string[] = [];
  let wake = (): void => undefined;
  let isOver = false;
  using open = openWatch((line) => {
    lines.push(line);
    wake();
  });
  const end = (): void => {
    isOver = true;
    wake();
  };
  void watch(request, { store, write: open.tell, wait }, signal).finally(end);
  while (!isOver || lines.length > 0) {
    for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield Buffer.from(line);
    if (isOver) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (signal.aborted) throw signal.reason;
}
