import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { http } from '../../../packages/process/node-http.ts';
import { isRefusedAddress } from './addresses.ts';
import { hostOf, type Target } from './target.ts';

/** What a receiver said; `null` fields where there was no answer. */
export type Answer =
  | { readonly kind: 'answer'; readonly status: number; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'none'; readonly why: string }
  /** The name leads where no notice may go. */
  | { readonly kind: 'refused-address'; readonly why: string };

export interface Posting {
  readonly target: Target;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Addresses of a name; as the system resolves them when not given. */
  readonly resolve?: Resolve;
}

type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const bySystem: Resolve = (host) => lookup(host, { all: true });

/** Of what a receiver answers nothing but the status counts; so much of it is read. */
const MOST_ANSWER_BYTES = 65_536;

class RefusedAddress extends Error {}

/** A connection of its own for each message: whoever hangs holds nothing but it. Redirects are answers as others. Never rejects. */
export async function post(posting: Posting, signal: AbortSignal): Promise<Answer> {
  const { timeoutMs, target } = posting;
  using within = new LinkedController(signal);
  const deadline = setTimeout(
    () => within.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  try {
    const response = await answered(posting, within.signal);
    const { statusCode = 0, headers } = response;
    await readAway(response);
    return { kind: 'answer', status: statusCode, headers };
  } catch (error) {
    if (error instanceof RefusedAddress) return { kind: 'refused-address', why: error.message };
    const { reason } = within.signal;
    const why = within.signal.aborted && reason instanceof Error ? reason.message : textOf(error);
    return { kind: 'none', why: `${target.shown}: ${why}` };
  } finally {
    clearTimeout(deadline);
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error);

function answered(
  { target, body, headers, resolve: resolveName = bySystem }: Posting,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { url, ca } = target;
  const host = hostOf(url);
  // Of an address there is nothing to look up, so nobody would ask.
  if (isIP(host) !== 0 && isRefusedAddress(host)) return Promise.reject(refusal(host, host));
  const options: RequestOptions & https.RequestOptions = {
    method: 'POST',
    agent: false,
    signal,
    lookup: checkedLookup(resolveName),
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    ...(ca !== null && { ca }),
  };
  const { request: begin } = url.protocol === 'https:' ? https : http;
  const sent: ClientRequest = begin(url, options, resolve);
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

const refusal = (host: string, address: string): RefusedAddress =>
  new RefusedAddress(
    `${host} leads to ${address}, which is link-local or tells the credentials of machines; notices never go there`,
  );

/**
 * A name is resolved once for each connection, and the connection is made to what was checked: between a check and a second look at a
 * name somebody could change it. One address that is refused refuses all, since nobody of good will has both.
 */
const checkedLookup =
  (resolve: Resolve): LookupFunction =>
  (hostname, { all }, callback) => {
    const found = (addresses: readonly LookupAddress[]): void => {
      const [first] = addresses;
      if (all === true || first === undefined) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    };
    void checked(hostname, resolve).then(found, (error: Error) => callback(error, []));
  };

async function checked(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(host);
  const refused = addresses.find(({ address }) => isRefusedAddress(address));
  if (refused !== undefined) throw refusal(host, refused.address);
  return addresses;
}

async function readAway(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += Buffer.from(chunk).length;
      if (bytes > MOST_ANSWER_BYTES) break;
    }
  } catch {
    // The status says what became of the message, however the rest of the answer ends.
  }
}
