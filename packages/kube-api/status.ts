import { z } from 'zod';
import type { ApiAnswer } from './connection.ts';
import type { ApiResource } from './resources.ts';

/** What an API server says of a request that it did not carry out. */
const Status = z.object({
  kind: z.literal('Status'),
  reason: z.string().max(200).default(''),
  message: z.string().default(''),
  details: z
    .object({
      name: z.string().default(''),
      group: z.string().default(''),
      kind: z.string().default(''),
      uid: z.string().default(''),
      retryAfterSeconds: z.int().nonnegative().max(3_600).optional(),
    })
    .partial()
    .nullish(),
});
export type ApiStatus = z.infer<typeof Status>;

const MAX_MESSAGE_LENGTH = 500;

/** `null` where the answer holds no such thing, as that of a proxy. */
export function statusOf(body: unknown): ApiStatus | null {
  const parsed = Status.safeParse(body);
  return parsed.success
    ? { ...parsed.data, message: parsed.data.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed() }
    : null;
}

/** `undefined` for what is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** For people: why a request failed. */
export function refusalText({ status, body }: Pick<ApiAnswer, 'status' | 'body'>): string {
  const told = statusOf(jsonOf(body));
  return told === null
    ? `status ${status}`
    : `status ${status}, ${told.reason || 'no reason'}: ${told.message}`;
}

/** The wish of the server, of its header or its status; `null` where it has none. */
export function retryAfterMs({ headers, body }: Pick<ApiAnswer, 'headers' | 'body'>): number | null {
  const header = Number(headers['retry-after']);
  const seconds =
    Number.isInteger(header) && header >= 0 ? header : statusOf(jsonOf(body))?.details?.retryAfterSeconds;
  return seconds === undefined ? null : Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1000;
}

/** Nothing was done of what was asked, and nothing follows from that: the server does not know us (401), or has too much to do (429). */
export interface NotNow {
  readonly why: 'not-now';
  readonly message: string;
  /** So long the server asks to wait; `null` where it says nothing. */
  readonly afterMs: number | null;
}

const NOT_NOW: ReadonlySet<number> = new Set([401, 429]);

/** `null` for any other answer. */
export const notNowIn = (answer: ApiAnswer): NotNow | null =>
  NOT_NOW.has(answer.status)
    ? { why: 'not-now', message: refusalText(answer), afterMs: retryAfterMs(answer) }
    : null;

/** Nobody waits longer because a server says so. */
const MAX_RETRY_AFTER_SECONDS = 600;

/** RBAC says it so; admission refuses in other words. */
const BY_RBAC = /cannot (\w+) resource/;
/** What is listed is watched too, and the other way round. */
const READING: readonly string[] = ['list', 'watch'];

/** The rule of a role that would allow it, before what the API server says; other refusals stay as they are. */
export function withMissingRight(
  refusal: string,
  { group, resource }: Pick<ApiResource, 'group' | 'resource'>,
): string {
  const verb = BY_RBAC.exec(refusal)?.[1];
  if (verb === undefined) return refusal;
  const verbs = READING.includes(verb) ? READING : [verb];
  const rule = JSON.stringify({ apiGroups: [group], resources: [resource], verbs });
  return `the role lacks the rule ${rule}: ${refusal}`;
}
