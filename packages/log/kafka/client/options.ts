import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import type { Mechanism, SASLOptions } from 'kafkajs';
import { z } from 'zod';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError, toFleetGcError } from '../../../process/errors.ts';
import { NOTIFIER_GROUP_PREFIX } from '../../access/access-rules.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';

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
type ClientCredentials = z.infer<typeof ClientCredentials>;

const BearerToken = z.discriminatedUnion('from', [TokenFile, ClientCredentials]);
type BearerToken = z.infer<typeof BearerToken>;

/** Answers the token to log in with. Throws `LOG_UNREACHABLE` while there is none, and `LOG_UNAUTHORIZED` where none is given. */
type TokenProvider = () => Promise<string>;

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
function requireTokenFiles(token: BearerToken): void {
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

const Address = z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:/]+):\d{1,5}$/, { error: 'must be host:port' });

/** TLS is on when `ssl` is given. All secrets are in files, which are read anew for each connection: they are replaced while we run. */
const Ssl = z.strictObject({
  /** Who signed the brokers' certificates, when not one the system trusts. PEM. */
  caFile: Path.optional(),
  /** This client's certificate and key, when the brokers ask for one. PEM. */
  certFile: Path.optional(),
  keyFile: Path.optional(),
});

const Password = z.strictObject({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
  username: z.string().min(1),
  /** The password is what the file holds, without the line break at its end. */
  passwordFile: Path,
});

const Sasl = z.discriminatedUnion('mechanism', [
  Password,
  z.strictObject({ mechanism: z.literal('oauthbearer'), token: BearerToken }),
]);

/** What a broker's policy may ask to be otherwise. Retention decides what is kept, and the checks of retention still tell it. */
const CHANGEABLE = [
  'segment.ms',
  'max.compaction.lag.ms',
  'delete.retention.ms',
  'retention.ms',
  'retention.bytes',
  'max.message.bytes',
  'min.insync.replicas',
] as const;
const LEFT_OUT_ONLY = ['cleanup.policy', 'message.timestamp.type', 'compression.type'] as const;

/** By these a broker deletes; of what is kept for ever it may not. */
const KEEPING: ReadonlySet<string> = new Set(['cleanup.policy', 'retention.ms', 'retention.bytes']);
/** Whether this setting of a topic that is kept for ever says how long the broker keeps its records. */
export const decidesKeeping = (topic: TopicName, setting: string): boolean =>
  topicSpec(topic).retentionMs === 'forever' && KEEPING.has(setting);

/** `[TOPIC:]NAME=VALUE` */
export const TopicSetting = z
  .strictObject({
    /** `null`: every topic that has this setting. */
    topic: z.enum(TOPIC_NAMES).nullable(),
    name: z.enum([...CHANGEABLE, ...LEFT_OUT_ONLY]),
    /** Empty: left to the broker. */
    value: z
      .string()
      .regex(/^(-?[0-9]{1,19})?$/, { error: 'must be a whole number, or empty to leave it to the broker' }),
  })
  .refine(({ name, value }) => value === '' || CHANGEABLE.some((one) => one === name), {
    error:
      'FleetGC needs its own value of this setting: you can leave it out when you create topics, but not change it',
  })
  .refine(({ topic, name, value }) => value === '' || topic === null || !decidesKeeping(topic, name), {
    error: 'This topic is kept for ever: no value of this setting may make the broker delete from it',
  });
export type TopicSetting = z.infer<typeof TopicSetting>;

/**
 * Kafka's own.
 * @limit Length of the name of a topic, with the prefix.
 */
export const MOST_TOPIC_LENGTH = 249;
export const MOST_PREFIX_LENGTH = MOST_TOPIC_LENGTH - Math.max(...TOPIC_NAMES.map(({ length }) => length));

/**
 * In front of the name of each topic and group, so that several fleets share one Kafka. It includes its separator: by the prefix
 * `acme` a rule of Kafka for all that begins so would cover the fleet `acme2` too. Within the groups of notifiers, which have such
 * a rule, no other fleet has its names. Empty: names have none.
 */
export const KafkaPrefix = z
  .string()
  .max(MOST_PREFIX_LENGTH, { error: `must have at most ${MOST_PREFIX_LENGTH} characters` })
  .regex(/^([A-Za-z0-9][A-Za-z0-9._-]*[._-])?$/, {
    error: 'must be of letters, digits, ".", "_" and "-", and end in one of these three, such as acme.',
  })
  .refine((prefix) => !prefix.includes(NOTIFIER_GROUP_PREFIX), {
    error: `must not contain ${NOTIFIER_GROUP_PREFIX}`,
  });

export const KafkaOptions = z.strictObject({
  kind: z.literal('kafka'),
  brokers: z.array(Address).min(1),
  prefix: KafkaPrefix.default(''),
  clientId: z.string().min(1),
  ssl: Ssl.optional(),
  sasl: Sasl.optional(),
  /** Of topics that are created here. */
  replicationFactor: z.int().min(1).default(3),
  /** Copies that must have a record before it is acknowledged; one less than there are, when not given. */
  minInsyncReplicas: z.int().min(1).optional(),
  /** Settings of topics in place of FleetGC's; an empty value leaves a setting to the broker. */
  topicConfig: z.array(TopicSetting).optional(),
  /** `gzip` for readers outside our control that know no zstd. */
  compression: z.enum(['zstd', 'gzip']).default('zstd'),
  /** `short` where somebody waits for the answer, `long` for what runs on and outlasts outages. */
  waits: z.enum(['short', 'long']).default('long'),
});
export type KafkaOptions = z.infer<typeof KafkaOptions>;

/** TLS settings of kafkajs. Throws `CONFIG_INVALID` for a file that cannot be read. */
export function tlsOf({ ssl }: Pick<KafkaOptions, 'ssl'>) {
  if (ssl === undefined) return null;
  const { caFile, certFile, keyFile } = ssl;
  return {
    ...(caFile !== undefined && { ca: readSecret(caFile, 'CA certificate') }),
    ...(certFile !== undefined && { cert: readSecret(certFile, 'client certificate') }),
    ...(keyFile !== undefined && { key: readSecret(keyFile, 'client key') }),
  };
}

/** SASL settings of kafkajs; the password or token is read whenever it is asked for. */
export function saslOf({ sasl }: Pick<KafkaOptions, 'sasl'>): SASLOptions | Mechanism | null {
  if (sasl === undefined) return null;
  if (sasl.mechanism === 'oauthbearer') return bearerLogin(tokenProvider(sasl.token));
  return passwordLogin(sasl);
}

const passwordLogin = ({ mechanism, username, passwordFile }: z.infer<typeof Password>): SASLOptions => ({
  mechanism,
  username,
  get password() {
    return whileRunning(() => passwordIn(passwordFile));
  },
});

/**
 * What all files with secrets hold now, as one text: connections are made anew when it changes. Tokens do not count, since each
 * connection logs in with another one by itself before they end. Throws `CONFIG_INVALID` for a file that cannot be read.
 */
export const secretsOf = (options: Pick<KafkaOptions, 'ssl' | 'sasl'>): string =>
  JSON.stringify([tlsOf(options), options.sasl === undefined ? null : lastingSecretOf(options.sasl)]);

function lastingSecretOf(sasl: z.infer<typeof Sasl>): string | null {
  if (sasl.mechanism !== 'oauthbearer') return passwordIn(sasl.passwordFile);
  requireTokenFiles(sasl.token);
  return null;
}

/** What the message consists of is parted by it (RFC 7628, 3.1). */
const SEPARATOR = '\u0001';

/**
 * Logs in with a token. kafkajs's own way does not look at what the broker answers: it takes a refused token for a good one, and what
 * it sends next ends the connection without a word about tokens.
 */
export const bearerLogin = (token: TokenProvider): Mechanism => ({
  mechanism: 'oauthbearer',
  authenticationProvider: ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const message = `n,,${SEPARATOR}auth=Bearer ${await token()}${SEPARATOR}${SEPARATOR}`;
      await saslAuthenticate({
        request: { encode: () => sized(Buffer.from(message)) },
        response: { decode: contentOf, parse: requireAccepted },
      });
    },
  }),
});

/** In Kafka's encoding: the length, then the bytes. */
function sized(bytes: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
}

const contentOf = (bytes: Buffer): Buffer => bytes.subarray(4);

/** A broker that lets in answers nothing, one that does not says why. It is not tried again with the same token. */
function requireAccepted(answer: Buffer): void {
  if (answer.length === 0) return;
  const status = /"status"\s*:\s*"(\w+)"/.exec(answer.toString('utf8'))?.[1] ?? 'no reason given';
  const refusal = new FleetGcError(
    'LOG_UNAUTHORIZED',
    `The brokers refuse the token (${status}): it has ended, or is not meant for them.`,
  );
  throw Object.assign(refusal, { retriable: false });
}

/** What the file holds now. Throws `CONFIG_INVALID` where it cannot be read. */
function readSecret(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new FleetGcError(
      'CONFIG_INVALID',
      `The ${what} for Kafka cannot be read: ${toFleetGcError(error).message}. Check the path and the rights of the file.`,
      { cause: error },
    );
  }
}

/** The line break at its end is none of the password. */
const passwordIn = (path: string): string => readSecret(path, 'password file').replace(/\r?\n$/, '');

/** A file that is being replaced may be away or half written: what fails then is tried again, unlike a wrong path at the start. */
export function whileRunning<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new FleetGcError('LOG_UNREACHABLE', toFleetGcError(error).message, { cause: error });
  }
}
