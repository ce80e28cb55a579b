import type { Logger } from 'pino';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { NoticeReceiver } from '../../../schemas/notices/notice-rules.ts';
import type { Sent } from '../delivery/attempts.ts';
import type { Receiver } from '../delivery/lane.ts';
import type { Message } from '../delivery/message.ts';
import { post } from '../http/post.ts';
import { sentBy } from '../http/sent.ts';
import { readSecrets, readToken, SIGNATURE_HEADER, signatureOf } from '../http/signature.ts';
import { readTarget, type Target } from '../http/target.ts';
import { CLOUD_EVENT_TYPE, cloudEvent } from './cloud-event.ts';
import { slackBody } from './slack-text.ts';

/** From the connection to the answer. */
const TIMEOUT_MS = 10_000;

export interface WebNeeds {
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
      const body = JSON.stringify(cloudEvent(message));
      const headers = {
        'content-type': CLOUD_EVENT_TYPE,
        ...(secrets !== null && { [SIGNATURE_HEADER]: signatureOf(body, secrets.current(), now()) }),
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
