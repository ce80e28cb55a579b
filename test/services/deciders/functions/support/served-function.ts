import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import { NO_PROXIES } from '../../../../../packages/process/http-server.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../../packages/process/metrics.ts';
import type { Address } from '../../../../../packages/process/options/options.ts';
import type { CallerSettings } from '../../../../../services/deciders/functions/http/callers.ts';
import { encodedHeader } from '../../../../../services/deciders/functions/http/event-record.ts';
import { runFunction } from '../../../../../services/deciders/functions/http/run-function.ts';
import { logLines } from '../../../../support/log-lines.ts';
import type { SentEvent } from './function-events.ts';
import type { TestFunction } from './open-function.ts';

const ANY_PORT: Address = { host: '127.0.0.1', port: 0 };

export const OPEN_CALLERS: CallerSettings = {
  address: ANY_PORT,
  tokens: [],
  tls: null,
  proxies: NO_PROXIES,
  factsAreSigned: false,
};

/** Where it is called, and where it is asked how it is. */
export interface ServedAddress extends Address {
  readonly probes: Address;
}

/** Serves it on this machine until the test ends. */
export async function serveTestFunction(
  { open, checks }: TestFunction,
  callers: Partial<CallerSettings> = {},
): Promise<ServedAddress> {
  const stop = new AbortController();
  const serving = Promise.withResolvers<ServedAddress>();
  const running = runFunction(
    open,
    {
      callers: { ...OPEN_CALLERS, ...callers },
      probes: { address: ANY_PORT, metrics: createMetrics(), checks: () => checks },
      logger: createLogger({ service: 'test', level: 'info' }, logLines()),
      onServing: ({ callers: address, probes }) => serving.resolve({ ...address, probes: probes ?? address }),
    },
    stop.signal,
  );
  running.catch(serving.reject);
  onTestFinished(async () => {
    stop.abort();
    await running.catch(() => undefined);
  });
  return await serving.promise;
}

export interface Replied {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

interface Asking {
  readonly method?: string;
  readonly path?: string;
  /** As they go out, each name as often as it stands there. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Buffer;
  /** From which of its own addresses to ask. */
  readonly localAddress?: string;
}

export function ask({ host, port }: Address, asking: Asking): Promise<Replied> {
  const { method = 'POST', path = '/', headers = [], body = '', localAddress } = asking;
  const { promise, resolve, reject } = Promise.withResolvers<Replied>();
  const flat = headers.flat();
  const sent = request(
    {
      host,
      port,
      method,
      path,
      agent: false,
      ...(localAddress !== undefined && { localAddress }),
      headers: ['host', `${host}:${port}`, 'content-length', String(Buffer.byteLength(body)), ...flat],
    },
    (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

export const probe = (probes: Address, path: string): Promise<Replied> =>
  ask(probes, { method: 'GET', path });

/** Its attributes as headers. */
export const binaryHeaders = ({ attributes }: SentEvent): readonly (readonly [string, string])[] =>
  Object.entries(attributes).map(([name, text]) =>
    name === 'datacontenttype'
      ? (['content-type', text] as const)
      : ([`ce-${name}`, encodedHeader(text)] as const),
  );

export const askBinary = (address: Address, event: SentEvent): Promise<Replied> =>
  ask(address, { headers: binaryHeaders(event), body: event.data });

export const askJson = (address: Address, contentType: string, value: unknown): Promise<Replied> =>
  ask(address, {
    headers: [['content-type', contentType]],
    body: typeof value === 'string' ? value : JSON.stringify(value),
  });

export const STRUCTURED = 'application/cloudevents+json';
export const BATCH = 'application/cloudevents-batch+json';
