import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { MAX_POLICY_DOCUMENT_BYTES } from '../../../../packages/policy/policy-document.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { LinkedController } from '../../../../packages/process/linked-controller.ts';
import { unreadableReason } from '../../../../packages/process/options/named-file.ts';

/** What a look at the place of a document showed. */
export type Look =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** Nobody can tell whether it has changed: what was read before counts until it is too old. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** It is not there, or may not be read. */
  | { readonly kind: 'missing'; readonly why: string };

/** Where a document of policies comes from. */
export interface DocumentSource {
  /** For people. */
  readonly name: string;
  /** How long a look is good for. */
  readonly everyMs: number;
  look(signal: AbortSignal): Promise<Look>;
  /** The next look shows what is there, be it unchanged or not. */
  forget(): void;
}

const FILE_EVERY_MS = 10_000;

/** Reads the file anew whenever its time, its size or its place on the disk is another one. */
export function fileSource(path: string): DocumentSource {
  let last: string | null = null;
  return {
    name: path,
    everyMs: FILE_EVERY_MS,
    forget: () => {
      last = null;
    },
    look: async (): Promise<Look> => {
      try {
        // To open a pipe would else wait for its writer, and every caller with it.
        await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
        const stat = await file.stat({ bigint: true });
        if (!stat.isFile()) return { kind: 'missing', why: 'it is no file' };
        const { mtimeNs, size, ino } = stat;
        const state = `${mtimeNs} ${size} ${ino}`;
        if (state === last) return { kind: 'unchanged' };
        if (size > MAX_POLICY_DOCUMENT_BYTES)
          return {
            kind: 'missing',
            why: `it has more than the ${MAX_POLICY_DOCUMENT_BYTES} bytes that are read`,
          };
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(Number(size)), position: 0 });
        last = state;
        return { kind: 'bytes', bytes: buffer.subarray(0, bytesRead) };
      } catch (error) {
        last = null;
        return { kind: 'missing', why: unreadableReason(error) };
      }
    },
  };
}

const URL_EVERY_MS = 60_000;
/** From the connection to the last byte. */
const TIMEOUT_MS = 10_000;

interface UrlSettings {
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
    everyMs: URL_EVERY_MS,
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
