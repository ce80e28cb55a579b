import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { onTestFinished } from 'vitest';
import type { S3Place } from '../../../../packages/archive/store.ts';
import type { Pair } from '../../../fixtures/certificate.ts';
import { listening } from '../../../support/http-proxies.ts';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

/** Somebody who answers as S3 does in such a case, and the place that is asked for there. */
export async function answering(
  answer: (asked: Asked, response: ServerResponse) => void,
  { pair = null, ...over }: Partial<S3Place> & { readonly pair?: Pair | null } = {},
): Promise<{ place: S3Place; asked: Asked[] }> {
  const asked: Asked[] = [];
  const serve: RequestListener = (request, response) => {
    request.resume().on('end', () => {
      const { method = '', url = '', headers } = request;
      asked.push({ method, url, headers });
      answer({ method, url, headers }, response);
    });
  };
  const server =
    pair === null ? createServer(serve) : createTlsServer({ key: pair.key, cert: pair.certificate }, serve);
  const listener = await listening(server);
  onTestFinished(() => listener[Symbol.asyncDispose]());
  const place: S3Place = {
    bucket: 'audit',
    prefix: 'archive/',
    endpoint: `${pair === null ? 'http' : 'https'}://127.0.0.1:${listener.port}`,
    region: 'eu-central-1',
    pathStyle: true,
    encryption: null,
    caPem: null,
    ...over,
  };
  return { place, asked };
}
