import { z } from 'zod';
import type { Sleep } from '../process/backoff.ts';
import { LineTooLong, linesOf } from '../process/lines.ts';
import { LinkedController } from '../process/linked-controller.ts';
import type { ApiConnection, ApiStream } from './connection.ts';
import { type ObjectForm, type ObjectMetadata, unnameableVersion } from './metadata.ts';
import { type ApiResource, collectionPath } from './resources.ts';
import { jsonOf, type NotNow, notNowIn, refusalText, withMissingRight } from './status.ts';

export type WatchEvent<Seen extends ObjectMetadata = ObjectMetadata> =
  | { readonly kind: 'put'; readonly object: Seen }
  | { readonly kind: 'gone'; readonly object: Seen }
  /** Nothing happened up to here. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string };

export const WATCH_ENDS = [
  'closed',
  'expired',
  'not-now',
  'silent',
  'held-back',
  'unreadable',
  'refused',
] as const;

/**
 * Why a watch ended. `held-back`: it was silent, and a list found what it should have told. After `closed`, `silent` and `not-now` it goes on from the last resourceVersion; after all others what
 * happened meanwhile is only known by listing again.
 */
export type WatchEnd =
  | { readonly why: Exclude<(typeof WATCH_ENDS)[number], 'not-now'>; readonly message: string }
  | NotNow;

export interface WatchOptions<Seen extends ObjectMetadata = ObjectMetadata> {
  readonly resource: ApiResource;
  readonly form: ObjectForm<Seen>;
  readonly from: string;
  /** It has begun: what happens after `from` will be told. */
  readonly onOpen: () => void;
  readonly onEvent: (event: WatchEvent<Seen>) => void;
  readonly signal: AbortSignal;
  readonly sleep: Sleep;
  /** Between 0 and 1: so that not all watches end at once. */
  readonly random: () => number;
}

/** The longest object of an API server has 1.5 MiB, which may take more as JSON. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Bookmarks come about every minute. */
const SILENCE_LOOK_MS = 60_000;
/** The first look after something came counts as one. */
const MAX_SILENT_LOOKS = 4;
/** @limit Shortest watch. The longest is twice as long. */
const SHORTEST_WATCH_SECONDS = 300;

/** Watches objects until something ends it. Rejects with what the connection rejects with, and when the signal aborts. */
export async function watchObjects<Seen extends ObjectMetadata>(
  connection: ApiConnection,
  options: WatchOptions<Seen>,
): Promise<WatchEnd> {
  const { resource, form, from, signal, random } = options;
  const seconds = Math.floor(SHORTEST_WATCH_SECONDS * (1 + random()));
  const path = collectionPath(resource, {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(seconds),
  });
  const stop = new LinkedController(signal);
  try {
    const stream = await connection.stream({ method: 'GET', path, accept: form.accept }, stop.signal);
    if (stream.status === 410) return { why: 'expired', message: 'status 410' };
    if (stream.status !== 200) return await notBegun(stream, options);
    options.onOpen();
    return await follow(stream.body, stop, options);
  } finally {
    stop.abort();
  }
}

const refused = (message: string): WatchEnd => ({ why: 'refused', message });

async function notBegun(
  stream: ApiStream,
  { resource, signal, sleep }: Pick<WatchOptions, 'resource' | 'signal' | 'sleep'>,
): Promise<WatchEnd> {
  using waiting = new LinkedController(signal);
  const body = await Promise.race([
    refusalIn(stream.body, signal),
    sleep(REFUSAL_WITHIN_MS, waiting.signal).then(() => ''),
  ]);
  waiting.abort();
  signal.throwIfAborted();
  const answer = { ...stream, body };
  return notNowIn(answer) ?? refused(withMissingRight(refusalText(answer), resource));
}

/** Empty where it is too long or breaks off: the status alone says enough. */
async function refusalIn(body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<string> {
  try {
    for await (const line of linesOf(body, MAX_REFUSAL_BYTES)) return line.toString('utf8');
  } catch (error) {
    if (!signal.aborted && !(error instanceof LineTooLong) && !isConnectionError(error)) throw error;
  }
  return '';
}
const MAX_REFUSAL_BYTES = 64 * 1024;
/** Behind a status a server may keep its words to itself for ever. */
const REFUSAL_WITHIN_MS = 10_000;

async function follow<Seen extends ObjectMetadata>(
  body: AsyncIterable<Buffer>,
  stop: LinkedController,
  { form, onEvent, signal, sleep }: WatchOptions<Seen>,
): Promise<WatchEnd> {
  const silence = silenceTimer(stop, sleep);
  try {
    for await (const line of linesOf(body, MAX_LINE_BYTES)) {
      silence.heard();
      const event = readLine(line.toString('utf8'), form);
      if ('why' in event) return event;
      onEvent(event);
    }
    return { why: 'closed', message: 'the API server ended it' };
  } catch (error) {
    if (signal.aborted) throw error;
    if (silence.isOver()) return { why: 'silent', message: 'nothing came for minutes, not even a bookmark' };
    return endBy(error);
  } finally {
    silence.end();
  }
}

function endBy(error: unknown): WatchEnd {
  if (error instanceof LineTooLong) return unreadable(`a line has more than ${MAX_LINE_BYTES} bytes`);
  if (isConnectionError(error)) return { why: 'closed', message: 'the connection broke' };
  throw error;
}

/** What Node.js tells of a stream that ended early. */
const isConnectionError = (error: unknown): boolean =>
  error instanceof Error && typeof Reflect.get(error, 'code') === 'string' && error.name !== 'FleetGcError';

/** Ends the stream when nothing was heard for so long. A look now and then costs less than a timer for each line. */
function silenceTimer(stop: LinkedController, sleep: Sleep) {
  let heardBefore = -1;
  let heard = 0;
  let silentLooks = 0;
  let isOver = false;
  const ended = new AbortController();
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted && silentLooks < MAX_SILENT_LOOKS) {
      await sleep(SILENCE_LOOK_MS, ended.signal);
      silentLooks = heard === heardBefore ? silentLooks + 1 : 1;
      heardBefore = heard;
    }
    if (ended.signal.aborted) return;
    isOver = true;
    stop.abort();
  };
  void run();
  return {
    heard: () => {
      heard++;
    },
    isOver: () => isOver,
    end: () => ended.abort(),
  };
}

const Line = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.unknown(),
});
const Bookmark = z.object({ metadata: z.object({ resourceVersion: z.string().min(1).max(128) }) });
const Gone = z.object({ code: z.literal(410) });

function readLine<Seen extends ObjectMetadata>(
  text: string,
  form: ObjectForm<Seen>,
): WatchEvent<Seen> | WatchEnd {
  const line = Line.safeParse(jsonOf(text));
  if (!line.success) return unreadable('a line is no event');
  const { type, object } = line.data;
  if (type === 'ERROR') {
    return Gone.safeParse(object).success
      ? { why: 'expired', message: 'the API server says 410' }
      : refused(refusalText({ status: 0, body: text.slice(0, 2_000) }));
  }
  if (type === 'BOOKMARK') {
    const bookmark = Bookmark.safeParse(object);
    if (!bookmark.success) return unreadable('a bookmark has no resourceVersion');
    return { kind: 'bookmark', resourceVersion: bookmark.data.metadata.resourceVersion };
  }
  const read = form.read(object);
  if (read === null) return passedOver(object) ?? unreadable('an event has no object');
  return { kind: type === 'DELETED' ? 'gone' : 'put', object: read };
}

/** What happens to an object that nobody can name is no news; `null` for what is none. */
function passedOver(object: unknown): WatchEvent<never> | null {
  const resourceVersion = unnameableVersion(object);
  return resourceVersion === null ? null : { kind: 'bookmark', resourceVersion };
}

const unreadable = (message: string): WatchEnd => ({ why: 'unreadable', message });
