import { createHmac } from 'node:crypto';
import type { Logger } from 'pino';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { counted } from '../../packages/text/counted.ts';
import {
  NOTICE_KINDS,
  NOTICE_SOURCE,
  NOTICE_TYPE_PREFIX,
  type NoticeEvent,
} from '../../schemas/notices/notice.ts';
import type { NoticeReceiver } from '../../schemas/notices/notice-rules.ts';
import { post, readSecretFile, readTarget, sentBy, type Target, unusable } from './http.ts';
import {
  droppedCount,
  type Joined,
  joinedNotices,
  type Message,
  messageData,
  messageId,
  newestMs,
  type Receiver,
  type Sent,
  writtenOut,
} from './message.ts';
import { subjectOf } from './notices.ts';

/** @limit Timeout of a webhook. */
const TIMEOUT_MS = 10_000;

interface WebNeeds {
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now'>;
  /** Milliseconds; 10 s when not given. */
  readonly timeoutMs?: number;
}

type Webhook = Extract<NoticeReceiver, { readonly type: 'webhook' }>;
type Slack = Extract<NoticeReceiver, { readonly type: 'slack' }>;

/** CloudEvents over HTTP. Throws `CONFIG_INVALID` where its files cannot be used. */
export function webhookReceiver(given: Webhook, needs: WebNeeds): Receiver {
  const { name, secretFile, tokenFile } = given;
  const target = readTarget(given);
  const { logger } = needs;
  const secrets =
    secretFile === undefined ? null : new KeptFile('secret', () => readSecrets(name, secretFile), logger);
  const token =
    tokenFile === undefined ? null : new KeptFile('token', () => readToken(name, tokenFile), logger);
  const { now } = needs.sources;
  return {
    send: (message, signal) => {
      const event = cloudEvent(message);
      const body = JSON.stringify(event);
      const headers = {
        'content-type': CLOUD_EVENT_TYPE,
        ...(secrets !== null &&
          signatureHeaders(body, { id: event.id, secrets: secrets.current(), nowMs: now() })),
        ...(token !== null && { authorization: `Bearer ${token.current()}` }),
      };
      return sendTo(target, { body, headers }, needs, signal);
    },
  };
}

/** The text form of Slack's incoming webhooks. Throws as `webhookReceiver`. */
export function slackReceiver(given: Slack, needs: WebNeeds): Receiver {
  const target = readTarget(given);
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return {
    send: (message: Message, signal) => sendTo(target, { body: slackBody(message), headers }, needs, signal),
  };
}

interface Written {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function sendTo(
  target: Target,
  { body, headers }: Written,
  { sources, timeoutMs = TIMEOUT_MS }: WebNeeds,
  signal: AbortSignal,
): Promise<Sent> {
  const all = { ...headers, 'user-agent': `fleetgc/${PRODUCT_VERSION}` };
  const answer = await post({ target, body, headers: all, timeoutMs }, signal);
  return sentBy(answer, target.shown, sources.now());
}

/** Read again for each message, so that a new secret counts at once; one that cannot be read leaves the last one in force. */
class KeptFile<Secret> {
  readonly #what: string;
  readonly #read: () => Secret;
  readonly #logger: Logger;
  #last: Secret;

  constructor(what: string, read: () => Secret, logger: Logger) {
    this.#what = what;
    this.#read = read;
    this.#logger = logger;
    this.#last = read();
  }

  current(): Secret {
    try {
      this.#last = this.#read();
    } catch (error) {
      this.#logger.warn(`${toFleetGcError(error).message}; the ${this.#what} before stays in force`);
    }
    return this.#last;
  }
}

/** The present one, and the one before or after it while receivers change. */
const MOST_SECRETS = 2;

interface Signing {
  /** The same each time the message is sent; without a dot, which parts what is signed. */
  readonly id: string;
  readonly secrets: readonly Buffer[];
  readonly nowMs: number;
}

/**
 * The headers of Standard Webhooks. One signature that is right is enough for a receiver, so there is one by each secret. The form is
 * one HMAC, for which a library, with a SHA-256 of its own, would be more to keep than it saves; tests verify with it.
 */
export function signatureHeaders(
  body: string,
  { id, secrets, nowMs }: Signing,
): Readonly<Record<string, string>> {
  const seconds = Math.floor(nowMs / 1000);
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': `${seconds}`,
    'webhook-signature': signatures.join(' '),
  };
}

/** What RFC 6750 lets a token be made of. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MOST_TOKEN_BYTES = 8_192;

/** The bearer token of a receiver. Throws `CONFIG_INVALID`, which says nothing of the token. */
function readToken(name: string, path: string): string {
  const token = readSecretFile(name, 'tokenFile', path).trim();
  if (token.length > MOST_TOKEN_BYTES || !TOKEN.test(token))
    throw unusable(name, `tokenFile ${path} must have one bearer token, and nothing else`);
  return token;
}

/** The secrets of a receiver, a line each. Throws `CONFIG_INVALID`. */
function readSecrets(name: string, path: string): readonly Buffer[] {
  const secrets = readSecretFile(name, 'secretFile', path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (secrets.length === 0 || secrets.length > MOST_SECRETS)
    throw unusable(name, `secretFile ${path} must have one secret, or two, a line each`);
  return secrets.map((secret) => {
    const bytes = secretBytes(secret);
    if (bytes === null)
      throw unusable(
        name,
        `secretFile ${path}: a secret must be whsec_ and the base64 of ${LEAST_SECRET_BYTES} to ${MOST_SECRET_BYTES} bytes`,
      );
    return bytes;
  });
}

/** As Standard Webhooks has them. */
const LEAST_SECRET_BYTES = 24;
const MOST_SECRET_BYTES = 64;
const SECRET_PREFIX = 'whsec_';

function secretBytes(secret: string): Buffer | null {
  const text = secret.slice(SECRET_PREFIX.length);
  const bytes = Buffer.from(text, 'base64');
  const isWhole = secret.startsWith(SECRET_PREFIX) && bytes.toString('base64') === text;
  return isWhole && bytes.length >= LEAST_SECRET_BYTES && bytes.length <= MOST_SECRET_BYTES ? bytes : null;
}

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** A message as CloudEvents 1.0. Its time is that of what it tells, the newest of several. */
export function cloudEvent(message: Message): NoticeEvent {
  const [first] = message.notices;
  const isOne = joinedNotices(message.notices).length === 1;
  const subject = isOne ? subjectOf(first) : null;
  return {
    specversion: '1.0',
    id: messageId(message),
    source: NOTICE_SOURCE,
    type: `${NOTICE_TYPE_PREFIX}${isOne ? first.kind : 'digest'}.v1`,
    ...(subject !== null && { subject }),
    time: new Date(newestMs(message)).toISOString(),
    datacontenttype: 'application/json',
    data: messageData(message),
  };
}

/** Of a digest so many are written out. */
const MOST_LINES = 10;
const BREAK = '\u200b';

/** What chats with Slack's webhooks take. Names stay text: no markup, no links, and nobody is called. */
export function slackBody(message: Message): string {
  const { notices, dropped } = message;
  const told = writtenOut(joinedNotices(notices), MOST_LINES);
  const more = notices.length - told.reduce((sum, { joined }) => sum + 1 + joined, 0);
  const before = droppedCount(dropped);
  const lines = [
    ...told.map(lineOf),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(before > 0
      ? [
          `(${counted(before, 'notice')} before this could not be delivered and ${before === 1 ? 'was' : 'were'} dropped)`,
        ]
      : []),
  ];
  return JSON.stringify({ text: lines.join('\n'), mrkdwn: false, unfurl_links: false, unfurl_media: false });
}

const lineOf = ({ newest: { kind, text }, joined }: Joined): string =>
  `FleetGC ${NOTICE_KINDS[kind].severity === 'warning' ? 'warning' : 'notice'}, ${kind}: ${escaped(text)}${joined === 0 ? '' : ` (and ${joined} more like it before)`}`;

/**
 * `&`, `<` and `>` as Slack asks for it. Where other chats see a mention or a link of Markdown, a space without width stands between;
 * digests, which have an @ within a word, stay as they are.
 */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/(?<![\p{L}\p{N}_])@/gu, `@${BREAK}`)
    .replaceAll('](', `]${BREAK}(`)
    .replace(
      /[`*_~](?=[`*_~])|(?<![\p{L}\p{N}])[`*_~]|[`*_~](?![\p{L}\p{N}])/gu,
      (sign) => `${sign}${BREAK}`,
    );
