import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { BlockList, isIP, type Server as NetServer, type Socket } from 'node:net';
import { OpenByAddress } from './connection-limits.ts';
import { FleetGcError, toFleetGcError } from './errors.ts';
import { listen } from './listen.ts';
import { http } from './node-http.ts';
import { OneAtATime } from './one-at-a-time.ts';
import type { Address } from './options/options.ts';

/*
 * The one HTTP server of all processes (a test finds any other). What comes to a port is hostile until somebody has signed in, so each
 * server bounds how many connections are open, in sum and of one address, how long each step may take, and what is in hand of one
 * connection: a single request.
 */

/** How often connections are checked that take too long. Node.js itself checks every 30 s, and until then no timeout counts. */
const CHECK_CONNECTIONS_EVERY_MS = 1_000;

export interface HttpBounds {
  /** Connections at once. */
  readonly mostConnections: number;
  /** Connections of one address at once; of addresses behind a trusted proxy, requests in hand. */
  readonly mostOfAnAddress: number;
  /** Until the head of a request is there, or a connection has begun with one. */
  readonly headersTimeoutMs: number;
  /** Until the whole request is there. */
  readonly requestTimeoutMs: number;
  /** A connection on which nothing is sent or read for so long is ended. */
  readonly idleTimeoutMs: number;
  /** How long a connection waits for its next request. */
  readonly keepAliveMs: number;
  readonly mostHeaderBytes: number;
}

/** Own certificate and key in PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Who has to have signed the certificates of callers; `null`: they need none. */
  readonly callerCa: string | null;
}

export interface HttpServing {
  readonly address: Address;
  /** What to do when it cannot listen there. */
  readonly advice: string;
  readonly bounds: HttpBounds;
  /** `null`: plain HTTP. */
  readonly tls: ServerTls | null;
  /** Whose connections are not counted by their address, since they bring the requests of many. */
  readonly proxies: ProxyList;
  /** Called for each connection or request that was one too many of its address. */
  readonly onRefused: () => void;
}

/** Who is at the other end of a connection. */
export interface Peer {
  readonly remoteAddress: string;
  /** Whether its certificate was signed by `callerCa`. */
  readonly isCertified: boolean;
}

export type Answering = (request: IncomingMessage, response: ServerResponse, peer: Peer) => void;

/** Listens, and answers 503 until `serve` says how to answer. Throws `CONFIG_INVALID` when it cannot listen, or certificate and key are none. */
export async function openHttpServer(serving: HttpServing): Promise<HttpServer> {
  const server = serverOf(serving);
  gateConnections(server, serving);
  return new HttpServer(server, serving, await listen(server, serving.address, serving.advice));
}

export class HttpServer implements AsyncDisposable {
  /** With the port that the system gave where 0 was asked for. */
  readonly address: Address;
  readonly #server: Server;
  readonly #serving: HttpServing;
  readonly #requests: OpenByAddress;
  #answer: Answering = (_, response) => sendText(response, 503, 'not ready: the process is starting');

  constructor(server: Server, serving: HttpServing, address: Address) {
    this.address = address;
    this.#server = server;
    this.#serving = serving;
    this.#requests = new OpenByAddress(serving.bounds.mostOfAnAddress);
    server.on('request', (request, response) => this.#begin(request, response));
  }

  serve(answer: Answering): void {
    this.#answer = answer;
  }

  /** Waits for requests in hand for `graceMs`, and ends all connections then. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const ending = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close(0);
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = request.socket;
    if (!(connection instanceof OneAtATime)) {
      response.destroy();
      return;
    }
    connection.begin(request, response, () => {
      const counted = this.#countForwarded(request, connection.remoteAddress);
      if (counted === null) {
        this.#serving.onRefused();
        response.setHeader('retry-after', RETRY_AFTER_SECONDS);
        sendText(response, 429, 'too many requests from this address are in progress');
        return;
      }
      response.once('close', () => counted[Symbol.dispose]());
      const { remoteAddress, isCertified } = connection;
      this.#answer(request, response, { remoteAddress, isCertified });
    });
  }

  /** `null`: one too many. Of others than proxies the connections are counted, with one request in hand each. */
  #countForwarded(request: IncomingMessage, remoteAddress: string): Disposable | null {
    const { proxies } = this.#serving;
    if (!proxies.has(remoteAddress)) return UNCOUNTED;
    const client = proxies.clientOf(request.headers['x-forwarded-for']);
    return client === null ? UNCOUNTED : this.#requests.begin(client);
  }
}

const RETRY_AFTER_SECONDS = '1';
const UNCOUNTED: Disposable = { [Symbol.dispose]: () => undefined };

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${text}\n`);
}

function serverOf({ bounds, tls }: HttpServing): Server {
  const options: ServerOptions = {
    requestTimeout: bounds.requestTimeoutMs,
    headersTimeout: bounds.headersTimeoutMs,
    connectionsCheckingInterval: CHECK_CONNECTIONS_EVERY_MS,
    keepAliveTimeout: bounds.keepAliveMs,
    maxHeaderSize: bounds.mostHeaderBytes,
  };
  if (tls === null) return http.createServer(options);
  const { cert, key, callerCa } = tls;
  try {
    return process.getBuiltinModule('node:https').createServer({
      ...options,
      handshakeTimeout: bounds.headersTimeoutMs,
      cert,
      key,
      minVersion: 'TLSv1.2',
      ...(callerCa !== null && { ca: callerCa, requestCert: true, rejectUnauthorized: true }),
    });
  } catch (cause) {
    const { message } = toFleetGcError(cause);
    throw new FleetGcError('CONFIG_INVALID', `certificate and key cannot be used together: ${message}`, {
      cause,
    });
  }
}

/** Node's HTTP server gets each connection through `OneAtATime`, for which it takes any `Duplex`. */
function gateConnections(server: Server, { bounds, tls, proxies, onRefused }: HttpServing): void {
  const open = new OpenByAddress(bounds.mostOfAnAddress);
  const accepted = tls === null ? 'connection' : 'secureConnection';
  const [parse, ...others] = server.listeners(accepted);
  if (parse === undefined || others.length > 0)
    throw new FleetGcError('INTERNAL', 'the HTTP server of this Node.js takes connections in another way');
  server.removeAllListeners(accepted);
  server.maxConnections = bounds.mostConnections;
  server.setTimeout(bounds.idleTimeoutMs);
  const counting: NetServer = server;
  counting.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const counted = proxies.has(address) ? UNCOUNTED : open.begin(address);
    if (counted === null) {
      socket.destroy();
      onRefused();
    } else socket.once('close', () => counted[Symbol.dispose]());
  });
  server.on(accepted, (socket: Socket) => {
    if (!socket.destroyed) Reflect.apply(parse, server, [new OneAtATime(socket)]);
  });
}

const DECIMAL = /^(0|[1-9]\d{0,2})$/;

/** Addresses, or networks as in `10.0.0.0/8`, whose word for where a request comes from counts. */
export class ProxyList {
  readonly #list = new BlockList();

  /** `flag` is what it was given by. Throws `CONFIG_INVALID`. */
  constructor(written: readonly string[], flag: string) {
    for (const text of written) {
      const [address = '', bits, ...more] = text.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      const most = family === 'ipv6' ? 128 : 32;
      // An empty number of bits, as of a variable that is not set, would be 0, and everybody a proxy.
      const length = bits === undefined ? most : DECIMAL.test(bits) ? Number(bits) : Number.NaN;
      if (isIP(address) === 0 || more.length > 0 || !(length <= most))
        throw new FleetGcError(
          'CONFIG_INVALID',
          `${flag} ${text} is not an address: write 10.1.2.3 or 10.1.0.0/16`,
        );
      this.#list.addSubnet(address, length, family);
    }
  }

  has(remoteAddress: string): boolean {
    const address = unmapped(remoteAddress);
    const kind = isIP(address);
    return kind !== 0 && this.#list.check(address, kind === 6 ? 'ipv6' : 'ipv4');
  }

  /**
   * The address from which a request came to the first of these proxies, as they say in `X-Forwarded-For`: the last one that is no proxy.
   * What stands before it, anybody may have written. `null` where they say none.
   */
  clientOf(forwardedFor: string | readonly string[] | undefined): string | null {
    const hops = [forwardedFor ?? []].flat().join(',').split(',').map(hopAddress);
    const at = hops.findLastIndex((hop) => hop === null || !this.has(hop));
    return hops[Math.max(at, 0)] ?? null;
  }
}

export const NO_PROXIES = new ProxyList([], '');

/** An address of IPv4 may come as one of IPv6. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** Some proxies add the port. `null` where it is no address. */
function hopAddress(written: string): string | null {
  const text = written.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text) ?? [];
  const [, withPort] = /^(\d+(?:\.\d+){3}):\d+$/.exec(text) ?? [];
  const address = unmapped(bracketed ?? withPort ?? text);
  return isIP(address) === 0 ? null : address;
}
