import { expect, test } from 'vitest';
import { METADATA_FORM } from '../../../packages/kube-api/metadata.ts';
import { type WatchEvent, watchObjects } from '../../../packages/kube-api/watch.ts';
import { manualTime } from '../../support/manual-time.ts';
import { nextLook } from '../../support/next-look.ts';
import { CONFIG_MAPS, chunks, fakeConnection, objectBody, statusBody } from './support/fake-connection.ts';

const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const BOOKMARK = line('BOOKMARK', { metadata: { resourceVersion: '9' } });

/** A watch of ConfigMaps; its events are ignored. */
const OF_CONFIG_MAPS = {
  resource: CONFIG_MAPS,
  form: METADATA_FORM,
  from: '5',
  onOpen: () => undefined,
  onEvent: () => undefined,
} as const;

async function watched(...texts: string[]) {
  const connection = fakeConnection(
    () => ({}),
    () => chunks(...texts),
  );
  const events: WatchEvent[] = [];
  const end = await watchObjects(connection, {
    ...OF_CONFIG_MAPS,
    onEvent: (event) => events.push(event),
    signal: new AbortController().signal,
    sleep: manualTime(() => 0).sleep,
    random: () => 0.5,
  });
  return { events, end, path: connection.asked[0]?.path };
}

test('events are told in order, and where the server ends the watch it can go on', async () => {
  const { events, end, path } = await watched(
    line('ADDED', objectBody('a')),
    line('MODIFIED', objectBody('a')) + line('DELETED', objectBody('b')),
    BOOKMARK,
  );
  expect(
    events.map((event) =>
      event.kind === 'bookmark' ? event.resourceVersion : `${event.kind} ${event.object.name}`,
    ),
  ).toEqual(['put a', 'put a', 'gone b', '9']);
  expect(end.why).toBe('closed');
  expect(path).toBe(
    '/api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=450',
  );
});

test('[cluster I8] what happens to an object whose name is longer than any that is read is passed over', async () => {
  const long = objectBody('x'.repeat(321), { uid: 'long', resourceVersion: '6' });
  const { events, end } = await watched(
    line('ADDED', long),
    line('DELETED', long),
    line('ADDED', objectBody('a')),
  );
  expect(
    events.map((event) => (event.kind === 'bookmark' ? event.resourceVersion : event.object.name)),
  ).toEqual(['6', '6', 'a']);
  expect(end.why).toBe('closed');
});

test.each([
  ['a line that is no JSON', '{"type":\n'],
  ['an event of an unknown type', line('REPLACED', objectBody('a'))],
  ['an event without an object', line('ADDED', {})],
  ['a bookmark without a resourceVersion', line('BOOKMARK', { metadata: {} })],
  ['a line without an end that is too long', 'x'.repeat(17 * 1024 * 1024)],
])('after %s nothing more is believed', async (_, text) => {
  const { events, end } = await watched(BOOKMARK, text, BOOKMARK);
  expect(end.why).toBe('unreadable');
  expect(events).toHaveLength(1);
});

test('[cluster A7] what is too old has to be listed again', async () => {
  expect((await watched(line('ERROR', statusBody(410, 'Expired')))).end.why).toBe('expired');
  expect((await watched(line('ERROR', statusBody(500, 'InternalError')))).end.why).toBe('refused');
});

test.each([
  [410, 'expired'],
  [403, 'refused'],
  [503, 'refused'],
])('a watch that is not begun with status %i: %s', async (status, why) => {
  const connection = fakeConnection(() => ({ status, body: statusBody(status, 'Why') }));
  const end = await watchObjects(connection, {
    ...OF_CONFIG_MAPS,
    signal: new AbortController().signal,
    sleep: manualTime(() => 0).sleep,
    random: () => 0,
  });
  expect(end.why).toBe(why);
});

const turns = async (): Promise<void> => {
  for (let look = 0; look < 10; look++) await nextLook(look);
};

/** Something every so often, and then nothing, until the reader gives up. */
async function* silentAfter(texts: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  yield promise;
}

test('a watch that says nothing, not even a bookmark, ends after minutes', async () => {
  const time = manualTime(() => 0);
  const connection = fakeConnection(
    () => ({}),
    (signal) => silentAfter([BOOKMARK], signal),
  );
  let events = 0;
  const end = watchObjects(connection, {
    ...OF_CONFIG_MAPS,
    onEvent: () => events++,
    signal: new AbortController().signal,
    sleep: time.sleep,
    random: () => 0,
  });
  await turns();
  for (let minute = 0; minute < 5; minute++) {
    await time.pass(60_000, 60_000);
    await turns();
  }
  expect(events).toBe(1);
  expect((await end).why).toBe('silent');
});

test('a signal that aborts ends it with its reason', async () => {
  const stop = new AbortController();
  const connection = fakeConnection(
    () => ({}),
    (signal) => silentAfter([], signal),
  );
  const end = watchObjects(connection, {
    ...OF_CONFIG_MAPS,
    signal: stop.signal,
    sleep: manualTime(() => 0).sleep,
    random: () => 0,
  });
  stop.abort(new Error('told to stop'));
  await expect(end).rejects.toThrow('told to stop');
});

/** What a server says where it does not begin a watch; then it breaks off, or says nothing more for ever. */
async function* refusalOf(text: string, end: 'breaks off' | 'stays open', signal: AbortSignal) {
  yield Buffer.from(text);
  if (end === 'breaks off') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  yield* silentAfter([], signal);
}

test.each([
  ['is longer than any that is read', 'x'.repeat(70_000), 'breaks off'],
  ['breaks off', '{"kind":', 'breaks off'],
  ['never comes to its end', '{"kind":', 'stays open'],
] as const)('a watch that is not begun is refused, also where the reason %s', async (_, text, how) => {
  const time = manualTime(() => 0);
  const connection = fakeConnection(() => ({}));
  const end = watchObjects(
    {
      ...connection,
      stream: async (_, signal) => ({ status: 503, headers: {}, body: refusalOf(text, how, signal) }),
    },
    {
      ...OF_CONFIG_MAPS,
      signal: new AbortController().signal,
      sleep: time.sleep,
      random: () => 0,
    },
  );
  await turns();
  await time.pass(60_000, 60_000);
  expect(await end).toEqual({ why: 'refused', message: 'status 503' });
});
