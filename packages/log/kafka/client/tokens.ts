import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../../../process/errors.ts';
import { passwordIn, readSecret, whileRunning } from './secrets.ts';

const Path = z.string().min(1);

/** A token that somebody else renews, by replacing the file. */
const TokenFile = z.strictObject({ from: z.literal('file'), path: Path });

/** Tokens that this process asks for, as a client that is known by a secret. */
const ClientCredentials = z.strictObject({
  from: z.literal('client-credentials'),
  url: z.url({ protocol: /^https$/, error: 'must be an https URL' }),
  clientId: z.string().min(1),
  secretFile: Path,
  scope: z.string().min(1).optional(),
  /** Who signed the certificate of the token server, when not one the system trusts. PEM. */
  caFile: Path.optional(),
});
export type ClientCredentials = z.infer<typeof ClientCredentials>;

export const BearerToken = z.discriminatedUnion('from', [TokenFile, ClientCredentials]);
export type BearerToken = z.infer<typeof BearerToken>;

/** Answers the token to log in with. Throws `LOG_UNREACHABLE` while there is none, and `LOG_UNAUTHORIZED` where none is given. */
export type TokenProvider = () => Promise<string>;

/** One for all connections of a process, however many clients they belong to. */
const PROVIDERS = new WeakMap<BearerToken, TokenProvider>();

export function tokenProvider(token: BearerToken): TokenProvider {
  const provider = PROVIDERS.get(token) ?? newProvider(token);
  PROVIDERS.set(token, provider);
  return provider;
}

const newProvider = (token: BearerToken): TokenProvider =>
  token.from === 'file' ? async () => whileRunning(() => tokenIn(token.path)) : issuedTokens(token);

/** What RFC 6750 lets a token consist of: whatever else would end the message that carries it. */
const TOKEN = /^[\w.~+/=-]+$/;

/** What the file holds now: whoever renews the token replaces the file. Throws `CONFIG_INVALID`. */
function tokenIn(path: string): string {
  const text = readSecret(path, 'token file').trim();
  if (TOKEN.test(text)) return text;
  throw new FleetGcError('CONFIG_INVALID', `The token file for Kafka, ${path}, holds no token.`);
}

/** Throws `CONFIG_INVALID` where a file cannot be read that a login will need. */
export function requireTokenFiles(token: BearerToken): void {
  if (token.from === 'file') return void tokenIn(token.path);
  passwordIn(token.secretFile);
  if (token.caFile !== undefined) readSecret(token.caFile, 'CA certificate of the token server');
}

/** A token is used for four fifths of its life, and never in its last seconds: connections log in anew ten seconds before its end. */
const LEAST_LEFT_MS = 15_000;
const usableMs = (lifeMs: number): number => lifeMs - Math.max(lifeMs / 5, LEAST_LEFT_MS);

interface IssuedToken {
  readonly token: string;
  readonly lifeMs: number;
}

/** Asks for a token when the last one ends soon; all that wait for one share it. */
export function issuedTokens(
  credentials: ClientCredentials,
  {
    ask = askForToken,
    monotonicNow = () => performance.now(),
  }: { readonly ask?: typeof askForToken; readonly monotonicNow?: () => number } = {},
): TokenProvider {
  let held: { readonly token: string; readonly untilMs: number } | null = null;
  let asking: Promise<string> | null = null;
  const renew = async (): Promise<string> => {
    const askedAtMs = monotonicNow();
    const { token, lifeMs } = await ask(credentials);
    held = { token, untilMs: askedAtMs + usableMs(lifeMs) };
    return token;
  };
  return async () => {
    if (held !== null && monotonicNow() < held.untilMs) return held.token;
    asking ??= renew().finally(() => {
      asking = null;
    });
    return await asking;
  };
}

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** RFC 6749, 5.1. Without `expires_in` nobody knows how long it lives, so it is used once. */
const Answer = z.object({
  access_token: z.string().regex(TOKEN),
  expires_in: z.coerce.number().nonnegative().default(0),
});

/** By client credentials (RFC 6749, 4.4). What the server says is not repeated: it may hold what it was sent. */
async function askForToken(credentials: ClientCredentials): Promise<IssuedToken> {
  const { url } = credentials;
  const { status, body } = await post(credentials).catch((error) => {
    throw unreachable(url, toFleetGcError(error).message, error);
  });
  if (status === 400 || status === 401 || status === 403)
    throw new FleetGcError(
      'LOG_UNAUTHORIZED',
      `The token server ${url} gives no token (${status}): check --kafka-username, --kafka-password-file and --kafka-token-scope.`,
    );
  if (status !== 200) throw unreachable(url, `it answered with status ${status}`);
  const { success, data } = Answer.safeParse(jsonOf(body));
  if (!success) throw unreachable(url, 'its answer holds no token');
  return { token: data.access_token, lifeMs: data.expires_in * 1000 };
}

const unreachable = (url: string, why: string, cause?: unknown): FleetGcError =>
  new FleetGcError('LOG_UNREACHABLE', `The token server ${url} gives no token: ${why}.`, { cause });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

async function post(credentials: ClientCredentials): Promise<HttpAnswer> {
  const { url, scope, caFile } = credentials;
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const request = https.request(url, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      authorization: authorization(credentials),
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    },
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
  });
  request.on('error', reject);
  request.on('response', (response) => {
    textOf(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text }), reject);
  });
  request.end(body.toString());
  return await promise;
}

/** Both parts are encoded as in a form (RFC 6749, 2.3.1). */
function authorization({ clientId, secretFile }: ClientCredentials): string {
  const encoded = [clientId, passwordIn(secretFile)].map((part) =>
    new URLSearchParams({ '': part }).toString().slice(1),
  );
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`;
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of chunks) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
