import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Somebody between clients and a server who counts, and can stop or cut what goes on there. */
export interface WatchedConnections extends AsyncDisposable {
  readonly port: number;
  /** Bytes that the server has sent to clients. */
  fetchedBytes(): number;
  /** From a request on in which this text stands nothing goes on; resolves once it came. */
  holdAt(text: string): Promise<void>;
  /** The same at the request of that number, counted from 1. */
  holdAtRequest(number: number): Promise<void>;
  /** The next so many connections in which this text is sent are cut there. */
  cutAt(text: string, times: number): void;
  readonly cuts: number;
  /** The first line of each request that came, as it was sent. */
  readonly requests: readonly string[];
}

interface Held {
  /** `null`: whatever the request is. */
  readonly text: string | null;
  readonly request: number;
  readonly came: () => void;
}

export async function watchConnections(toPort: number): Promise<WatchedConnections> {
  const sockets = new Set<Socket>();
  let fetched = 0;
  let held: Held | null = null;
  const requests: string[] = [];
  let cut = { text: '', times: 0 };
  let cuts = 0;
  const isCut = (chunk: Buffer): boolean => {
    if (cut.times === 0 || !chunk.includes(cut.text)) return false;
    cut = { ...cut, times: cut.times - 1 };
    cuts += 1;
    return true;
  };
  const isHeldAt = (chunk: Buffer): boolean => {
    const lineEnd = chunk.indexOf(' HTTP/1.1\r\n');
    if (lineEnd >= 0) requests.push(chunk.toString('latin1', chunk.lastIndexOf('\n', lineEnd) + 1, lineEnd));
    if (held === null || !(held.text === null ? requests.length >= held.request : chunk.includes(held.text)))
      return false;
    held.came();
    return true;
  };
  const server = createServer((client) => {
    const upstream = connect(toPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    let isHeld = false;
    client.on('data', (chunk: Buffer) => {
      isHeld ||= isHeldAt(chunk);
      if (isHeld) return;
      if (isCut(chunk)) client.destroy();
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      fetched += chunk.length;
      client.write(chunk);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    fetchedBytes: () => fetched,
    holdAt: (text) =>
      new Promise((came) => {
        held = { text, request: 0, came };
      }),
    holdAtRequest: (number) =>
      new Promise((came) => {
        held = { text: null, request: requests.length + number, came };
      }),
    cutAt: (text, times) => {
      cut = { text, times };
    },
    get cuts() {
      return cuts;
    },
    requests,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
