import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import * as https from 'node:https';
import { FleetGcError } from '../process/errors.ts';
import { http } from '../process/node-http.ts';
import type { Rejection } from './access.ts';

/*
 * Node's own client, as for the kubelet: undici would load 9 to 22 MB of code beside it, and gives nothing here that is missed.
 * HTTP/1.1, for which no number of streams is limited: a hundred watches and the lists do not wait for each other.
 */

export interface ApiRequest {
  readonly method: 'GET' | 'DELETE' | 'PATCH' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly ifNoneMatch?: string;
  readonly body?: string;
  /** A larger answer is not read; 128 MiB where it is not given. */
  readonly mostAnswerBytes?: number;
}

export interface Sending {
  readonly request: ApiRequest;
  readonly token: string | null;
  readonly agent: Agent;
  /** URL of the API server. */
  readonly base: string;
  /** URL of the HTTP proxy on the way there; `null` for none. */
  readonly proxy: string | null;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

/** An answer, or why there is none: `API_UNREACHABLE`. */
export type Sent = { readonly response: IncomingMessage } | { readonly error: FleetGcError };

/** A connection that was kept open may end as it is used again; only what changes nothing is asked once more. */
export async function send(sending: Sending): Promise<Sent> {
  const first = await attempt(sending);
  const isWorthAnother = first instanceof StaleConnection && sending.request.method === 'GET';
  const last = isWorthAnother ? await attempt(sending) : first;
  return last instanceof Error ? { error: unreachable(sending, last) } : { response: last };
}

class StaleConnection extends Error {}

async function attempt({
  request,
  token,
  agent,
  base,
  userAgent,
  signal,
}: Sending): Promise<IncomingMessage | Error> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Error>();
  const { request: begin } = base.startsWith('https:') ? https : http;
  const settings: RequestOptions = {
    method: request.method,
    agent,
    signal,
    headers: {
      'user-agent': userAgent,
      accept: request.accept ?? 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(request.ifNoneMatch !== undefined && { 'if-none-match': request.ifNoneMatch }),
      ...(request.body !== undefined && {
        'content-type': request.contentType ?? 'application/json',
        'content-length': Buffer.byteLength(request.body),
      }),
    },
  };
  const sent: ClientRequest = begin(urlOf(new URL(base), request.path), settings, resolve);
  sent.on('error', (error: Error & { code?: string }) => {
    const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    resolve(isStale ? new StaleConnection(error.message, { cause: error }) : error);
  });
  sent.end(request.body);
  return promise;
}

/** The server's address may have a path of its own, as behind a proxy of clusters. */
const urlOf = (base: URL, path: string): URL => new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);

function unreachable({ base, proxy, request }: Sending, cause: Error): FleetGcError {
  // Its host alone: a password may stand beside it.
  const way = proxy === null ? '' : ` through the proxy ${new URL(proxy).host}`;
  const asked = `${request.method} ${request.path.slice(0, 200)}`;
  return new FleetGcError(
    'API_UNREACHABLE',
    `the API server at ${new URL(base).origin} gave no answer to ${asked}${way}: ${whyOf(cause)}`,
    { cause: isOfProxy(cause) ? undefined : cause },
  );
}

/** What was aborted says why in its cause. */
const whyOf = (cause: Error): string => {
  if (isOfProxy(cause)) return PROXY_REFUSED;
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
};

/** Its own message holds the URL of the proxy, in which a password may stand. */
const PROXY_REFUSED =
  'the HTTP proxy on the way there did not open a way; look at proxy-url in the kubeconfig, or at HTTPS_PROXY and NO_PROXY';
const isOfProxy = (error: Error): boolean => codeOf(error).startsWith('ERR_PROXY');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const UNAUTHORIZED = 401;

/** Why nothing was done of what was asked, where it is because of the credentials; `null` for all else. */
export function rejectionIn(sent: Sent): Rejection | null {
  if ('response' in sent) return sent.response.statusCode === UNAUTHORIZED ? 'we-are-unknown' : null;
  if (isUnverified(sent.error)) return 'server-is-unknown';
  return /^ERR_SSL_.*ALERT.*CERTIFICATE/.test(codeOf(sent.error.cause)) ? 'we-are-unknown' : null;
}

/** Nothing was asked, since nobody vouches for the certificate of who would have answered. */
export const isUnverified = ({ cause }: FleetGcError): boolean => UNVERIFIED.has(codeOf(cause));

/** What OpenSSL says of a certificate that nobody vouches for. */
const UNVERIFIED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
