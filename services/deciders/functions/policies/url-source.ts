import type { IncomingMessage } from 'node:http';
import { MAX_POLICY_DOCUMENT_BYTES } from '../../../../packages/policy/policy-document.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { LinkedController } from '../../../../packages/process/linked-controller.ts';
import type { DocumentSource, Look } from './document-source.ts';

const EVERY_MS = 60_000;
/** From the connection to the last byte. */
const TIMEOUT_MS = 10_000;

export interface UrlSettings {
  /** https alone. */
  readonly url: URL;
  /** Who has to have signed its certificate; `null`: the public authorities. */
  readonly ca: string | null;
  /** Shown to it, where it asks for one. */
  readonly token: string | null;
}

/** Asks whether it has changed, and reads it only then. Redirects are not followed. */
export function urlSource({ url, ca, token }: UrlSettings): DocumentSource {
  let etag: string | null = null;
  const ask = async (signal: AbortSignal): Promise<Look> => {
    const headers = {
      ...(etag !== null && { 'if-none-match': etag }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const response = await answered(url, { headers, ca, signal });
    const other = lookWithoutBody(response);
    if (other !== null) return other;
    const bytes = await bodyOf(response);
    if (bytes === null) return { kind: 'missing', why: TOO_LARGE };
    etag = response.headers.etag ?? null;
    return { kind: 'bytes', bytes };
  };
  return {
    name: `${url.origin}${url.pathname}`,
    everyMs: EVERY_MS,
    forget: () => {
      etag = null;
    },
    look: async (signal) => {
      using within = new LinkedController(signal);
      const deadline = setTimeout(() => within.abort(), TIMEOUT_MS);
      try {
        return await ask(within.signal);
      } catch (error) {
        return { kind: 'unreachable', why: whyOf(error, within.signal) };
      } finally {
        clearTimeout(deadline);
      }
    },
  };
}

const TOO_LARGE = `it has more than the ${MAX_POLICY_DOCUMENT_BYTES} bytes that are read`;
/** It was there, or should be: nobody knows what it says. */
const GONE: readonly number[] = [404, 410];

/** `null` for an answer whose body is the document. */
function lookWithoutBody(response: IncomingMessage): Look | null {
  const { statusCode = 0 } = response;
  if (statusCode === 200) return null;
  response.destroy();
  if (statusCode === 304) return { kind: 'unchanged' };
  return { kind: GONE.includes(statusCode) ? 'missing' : 'unreachable', why: `the answer is ${statusCode}` };
}

const whyOf = (error: unknown, signal: AbortSignal): string =>
  signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : toFleetGcError(error).message;

interface Asking {
  readonly headers: Readonly<Record<string, string>>;
  readonly ca: string | null;
  readonly signal: AbortSignal;
}

function answered(url: URL, { headers, ca, signal }: Asking): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const https = process.getBuiltinModule('node:https');
  const options = {
    agent: false,
    headers: { ...headers, connection: 'close' },
    signal,
    ...(ca !== null && { ca }),
  };
  https.get(url, options, resolve).on('error', reject);
  return promise;
}

/** `null` for more than is read. */
async function bodyOf(response: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    const chunk: Buffer = part;
    bytes += chunk.length;
    if (bytes > MAX_POLICY_DOCUMENT_BYTES) return null;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
