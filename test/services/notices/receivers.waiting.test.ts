import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLogger } from '../../../packages/process/logger.ts';
import type { NoticeReceiver } from '../../../schemas/notices/notice-rules.ts';
import { post, readTarget } from '../../../services/notices/http.ts';
import { slackReceiver, webhookReceiver } from '../../../services/notices/webhook.ts';
import { PAIR } from '../../fixtures/certificate.ts';
import { logLines } from '../../support/log-lines.ts';
import { SILENT } from '../../support/silent.ts';
import { Webhook } from '../../support/standard-webhooks.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { httpReceiver } from './support/http-receiver.ts';
import { AT_MS, messageOf, noticeOf } from './support/notice-of.ts';

const RUNNING = new AbortController().signal;
const MESSAGE = messageOf([noticeOf(1)]);
const SECRET = `whsec_${Buffer.alloc(24, 'a').toString('base64')}`;
const NEXT_SECRET = `whsec_${Buffer.alloc(64, 'b').toString('base64')}`;
const LONG_MS = 60_000;

let directory = '';
beforeEach(() => {
  directory = temporaryDirectory();
});
const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};
const needs = { logger: SILENT, sources: { now: () => AT_MS }, timeoutMs: LONG_MS };
type WebhookGiven = Extract<NoticeReceiver, { readonly type: 'webhook' }>;
const webhook = (over: Partial<WebhookGiven>, timeoutMs = LONG_MS) =>
  webhookReceiver({ name: 'pager', type: 'webhook', maxAge: 3_600_000, ...over }, { ...needs, timeoutMs });

test('a webhook gets the event, its type, and a signature that its receiver can verify', async () => {
  const receiver = await httpReceiver();
  const secretFile = file('secret', `${SECRET}\n`);
  expect(await webhook({ url: receiver.url, secretFile }).send(MESSAGE, RUNNING)).toEqual({
    kind: 'delivered',
  });
  const [first] = receiver.received;
  if (first === undefined) throw new Error('nothing came');
  const { headers, body } = first;
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(headers['webhook-id']).toBe('notice-1');
  vi.useFakeTimers({ now: AT_MS, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({
    id: 'notice-1',
    data: { notices: [{ kind: 'removed' }] },
  });
});

test('a new secret counts from the next message on; one that cannot be read leaves the last one in force', async () => {
  const receiver = await httpReceiver();
  const secretFile = file('secret', SECRET);
  const sending = webhook({ url: receiver.url, secretFile });
  const signatureNow = async () => {
    await sending.send(MESSAGE, RUNNING);
    return String(receiver.received.at(-1)?.headers['webhook-signature']);
  };
  const first = await signatureNow();
  file('secret', `${SECRET}\n${NEXT_SECRET}\n`);
  const both = await signatureNow();
  expect(both.startsWith(`${first} v1,`)).toBe(true);
  vi.useFakeTimers({ now: AT_MS, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' };
  for (const secret of [SECRET, NEXT_SECRET])
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({ id: 'notice-1' });
  const stranger = `whsec_${Buffer.alloc(24, 'c').toString('base64')}`;
  expect(() => new Webhook(stranger).verify(body, headers)).toThrow(/No matching signature/);
  expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow(/No matching signature/);
  expect(() => new Webhook(SECRET).verify(body, { ...headers, 'webhook-id': 'notice-2' })).toThrow(
    /No matching signature/,
  );
  vi.setSystemTime(AT_MS + 301_000);
  expect(() => new Webhook(SECRET).verify(body, headers)).toThrow(/too old/);
  file('secret', 'short');
  expect(await signatureNow()).toBe(both);
});

test.each([
  ['without its beginning', SECRET.slice('whsec_'.length)],
  ['with something else than base64', `whsec_${'*'.repeat(32)}`],
  ['without its padding', `whsec_${Buffer.alloc(25, 'a').toString('base64').replaceAll('=', '')}`],
  ['that is too short', `whsec_${Buffer.alloc(23, 'a').toString('base64')}`],
  ['that is too long', `whsec_${Buffer.alloc(65, 'a').toString('base64')}`],
])('a secret %s is refused, and never told', (_, secret) => {
  const secretFile = file('secret', secret);
  const open = () => webhook({ url: 'https://hooks.example/', secretFile });
  expect(open).toThrow('a secret must be whsec_ and the base64 of 24 to 64 bytes');
  expect(open).not.toThrow(secret);
});

describe('a bearer token', () => {
  const TOKEN = 'eyJhbGciOi.J9-token_of~pager+/==';

  test('goes with each message, and a new one from the next message on', async () => {
    const receiver = await httpReceiver();
    const tokenFile = file('token', `${TOKEN}\n`);
    const sending = webhook({ url: receiver.url, tokenFile });
    const authorizationNow = async () => {
      await sending.send(MESSAGE, RUNNING);
      return receiver.received.at(-1)?.headers.authorization;
    };
    expect(await authorizationNow()).toBe(`Bearer ${TOKEN}`);
    file('token', 'the-next-one');
    expect(await authorizationNow()).toBe('Bearer the-next-one');
    file('token', 'not a token');
    expect(await authorizationNow()).toBe('Bearer the-next-one');
  });

  test.each([['two\nlines'], ['with space'], [''], ['café'], ['x'.repeat(8_193)]])(
    'that is none is refused, and never told: %j',
    (text) => {
      const tokenFile = file('token', text);
      let message = '';
      try {
        webhook({ url: 'https://hooks.example/', tokenFile });
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain('must have one bearer token');
      if (text !== '') expect(message).not.toContain(text);
    },
  );

  test('of a receiver that refuses it stands in no reason and no line of the logger output', async () => {
    const receiver = await httpReceiver({ status: 401 });
    const output = logLines();
    const logger = createLogger({ service: 'test', level: 'debug' }, output);
    const tokenFile = file('token', TOKEN);
    const sending = webhookReceiver(
      { name: 'pager', type: 'webhook', maxAge: 3_600_000, url: receiver.url, tokenFile },
      { ...needs, logger },
    );
    file('token', 'not a token');
    const sent = await sending.send(MESSAGE, RUNNING);
    expect(sent).toMatchObject({ kind: 'failed' });
    expect(output.lines.join()).toContain('the token before stays in force');
    for (const told of [JSON.stringify(sent), output.lines.join()]) {
      expect(told).not.toContain(TOKEN);
      expect(told).not.toContain('not a token');
    }
  });
});

test('a chat gets the text form', async () => {
  const receiver = await httpReceiver();
  const urlFile = file('url', `${receiver.url}/T0/B0/secret\n`);
  const sending = slackReceiver({ name: 'chat', type: 'slack', urlFile, maxAge: 3_600_000 }, needs);
  expect(await sending.send(MESSAGE, RUNNING)).toEqual({ kind: 'delivered' });
  expect(receiver.received[0]).toMatchObject({ path: '/in/T0/B0/secret' });
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    text: 'FleetGC notice, removed: prod/web-1: notice 1',
  });
});

describe('a receiver', () => {
  test.each([
    [200, 'delivered', null],
    [204, 'delivered', null],
    [400, 'failed', null],
    [413, 'refused', null],
    [422, 'refused', null],
    [401, 'failed', null],
    [404, 'failed', null],
    [500, 'failed', null],
    [429, 'away', 7_000],
    [503, 'away', 7_000],
  ] as const)('that answers %d: %s', async (status, kind, retryAfterMs) => {
    const receiver = await httpReceiver({ status, headers: { 'retry-after': '7' } });
    const sent = await webhook({ url: receiver.url }).send(MESSAGE, RUNNING);
    expect(sent.kind).toBe(kind);
    if (retryAfterMs !== null) expect(sent).toMatchObject({ retryAfterMs });
    expect(JSON.stringify(sent)).not.toContain('/in');
  });

  test('may say when to come back as a time', async () => {
    const headers = { 'retry-after': new Date(AT_MS + 90_000).toUTCString() };
    const receiver = await httpReceiver({ status: 503, headers });
    expect(await webhook({ url: receiver.url }).send(MESSAGE, RUNNING)).toMatchObject({
      retryAfterMs: 90_000,
    });
  });

  test.each([301, 302, 303, 307, 308])('that redirects (%d) is not followed', async (status) => {
    const elsewhere = await httpReceiver();
    const receiver = await httpReceiver({ status, headers: { location: elsewhere.url } });
    const sent = await webhook({ url: receiver.url }).send(MESSAGE, RUNNING);
    expect(sent).toMatchObject({
      kind: 'failed',
      why: expect.stringContaining('redirects are not followed'),
    });
    expect(elsewhere.received).toEqual([]);
  });

  test('that hangs is away when its time is over', async () => {
    const receiver = await httpReceiver('hang');
    const sent = await webhook({ url: receiver.url }, 50).send(MESSAGE, RUNNING);
    expect(sent).toMatchObject({ kind: 'away', why: `localhost:${receiver.port}: no answer within 0.05 s` });
    expect(receiver.received).toHaveLength(1);
  });

  test('that hangs is left at once when the process is to stop', async () => {
    const receiver = await httpReceiver('hang');
    const stop = new AbortController();
    const sending = webhook({ url: receiver.url }).send(MESSAGE, stop.signal);
    stop.abort();
    expect((await sending).kind).toBe('away');
  });

  test('that is not there is away', async () => {
    const receiver = await httpReceiver();
    await receiver.stop();
    expect(await webhook({ url: receiver.url }).send(MESSAGE, RUNNING)).toMatchObject({ kind: 'away' });
  });

  test('is checked by the certificates of its caFile, and by no others', async () => {
    const receiver = await httpReceiver({ status: 204 }, { key: PAIR.key, cert: PAIR.certificate });
    const url = `https://127.0.0.1:${receiver.port}/`;
    const caFile = file('ca.pem', PAIR.certificate);
    expect(await webhook({ url, caFile }).send(MESSAGE, RUNNING)).toEqual({ kind: 'delivered' });
    expect(await webhook({ url }).send(MESSAGE, RUNNING)).toMatchObject({
      kind: 'away',
      why: expect.stringContaining('CERT'),
    });
  });

  test('whose answer never ends costs no more than its status', async () => {
    const { createServer } = await import('node:http');
    const server = createServer((_, response) => {
      response.writeHead(200);
      const write = (): void => {
        // In turns: a write whose callback comes at once would leave none for the receiver's end.
        if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(write));
      };
      write();
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await webhook({ url: `http://localhost:${port}/` }).send(MESSAGE, RUNNING)).toEqual({
      kind: 'delivered',
    });
    server.close();
    server.closeAllConnections();
  });
});

describe('an address', () => {
  test('that is link-local is not connected to, however it got there', async () => {
    for (const host of ['169.254.169.254', '[fe80::1]', '[::ffff:a9fe:a9fe]']) {
      const target = { url: new URL(`http://${host}/`), shown: host, ca: null };
      const answer = await post({ target, body: '{}', headers: {}, timeoutMs: LONG_MS }, RUNNING);
      expect(answer.kind).toBe('refused-address');
    }
  });

  test('is looked at as its name resolves: a name that leads to metadata of clouds is refused', async () => {
    const target = readTarget({ name: 'pager', url: 'http://metadata.test/' });
    const lookup = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '169.254.169.254', family: 4 },
    ];
    const answer = await post(
      { target, body: '{}', headers: {}, timeoutMs: LONG_MS, resolve: lookup },
      RUNNING,
    );
    expect(answer).toMatchObject({
      kind: 'refused-address',
      why: expect.stringContaining('metadata.test leads to 169.254.169.254'),
    });
  });

  test('is the one that was checked: a name is resolved once for each connection', async () => {
    const receiver = await httpReceiver();
    const answers = ['127.0.0.1', '169.254.169.254'];
    const resolve = async () => [{ address: answers.shift() ?? '169.254.169.254', family: 4 }];
    const target = readTarget({ name: 'pager', url: `http://rebinding.test:${receiver.port}/` });
    const posting = { target, body: '{}', headers: {}, timeoutMs: LONG_MS, resolve };
    expect((await post(posting, RUNNING)).kind).toBe('answer');
    expect((await post(posting, RUNNING)).kind).toBe('refused-address');
    expect(receiver.received).toHaveLength(1);
    expect(answers).toEqual([]);
  });
});
