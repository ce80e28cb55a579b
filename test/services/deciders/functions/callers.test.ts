import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { Address } from '../../../../packages/process/options/options.ts';
import { readTokenLines } from '../../../../packages/process/token-file.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { boundsOf } from '../../../../services/deciders/functions/http/bounds.ts';
import {
  CALLER_ROLES,
  type CallerSettings,
  callerWarnings,
  requireCallers,
} from '../../../../services/deciders/functions/http/callers.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { PAIR } from '../../../fixtures/certificate.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { inventoryEvent, structured, unsignedDocument } from './support/function-events.ts';
import { openTestFunction, ScriptedSource } from './support/open-function.ts';
import {
  ask,
  askBinary,
  askJson,
  BATCH,
  binaryHeaders,
  OPEN_CALLERS,
  probe,
  type ServedAddress,
  STRUCTURED,
  serveTestFunction,
} from './support/served-function.ts';

const imageGc = await loadFunction('image-gc');
const pressure = await loadFunction('pressure');

const TOKEN = 'a'.repeat(40);
const TOKENS = readTokenLines('callers', `# who\ncaller knative ${TOKEN}\n`, CALLER_ROLES);
const EVENT = inventoryEvent(inventory({ images: [image('a')] }));
const BOUNDS = boundsOf(imageGc.topics);

const serve = async (callers: Partial<CallerSettings> = {}): Promise<ServedAddress> => {
  const source = new ScriptedSource(unsignedDocument([appliedPolicy()], Date.now()));
  return await serveTestFunction(await openTestFunction(imageGc, { source }), callers);
};

const ELSEWHERE = { ...OPEN_CALLERS, address: { host: '0.0.0.0', port: 9670 } };
const TLS = { cert: PAIR.certificate, key: PAIR.key, callerCa: null };

test.each<readonly [string, CallerSettings, boolean]>([
  ['nobody on this machine', OPEN_CALLERS, true],
  ['nobody elsewhere', ELSEWHERE, false],
  ['TLS alone elsewhere', { ...ELSEWHERE, tls: TLS }, false],
  ['tokens', { ...ELSEWHERE, tokens: TOKENS }, true],
  ['certificates', { ...ELSEWHERE, tls: { ...TLS, callerCa: PAIR.certificate } }, true],
  ['signed facts', { ...ELSEWHERE, factsAreSigned: true }, true],
])('who has to show something before it is served: %s', (_, settings, isServed) => {
  const asked = () => requireCallers(settings);
  if (isServed) expect(asked).not.toThrow();
  else expect(asked).toThrow('whoever calls could make facts up');
});

test('what is risky and goes on is told', () => {
  expect(callerWarnings(OPEN_CALLERS)).toEqual([]);
  expect(callerWarnings({ ...ELSEWHERE, factsAreSigned: true })).toMatchObject([
    /whoever can reach this may call/,
  ]);
  expect(callerWarnings({ ...ELSEWHERE, tokens: TOKENS })).toEqual([expect.stringContaining('without TLS')]);
  expect(callerWarnings({ ...ELSEWHERE, tokens: TOKENS, tls: TLS })).toEqual([]);
});

test('whoever has no token gets no decision, before anything of the body is read', async () => {
  const address = await serve({ tokens: TOKENS });
  const refused = await ask(address, {
    headers: [...binaryHeaders(EVENT), ['authorization', `Bearer ${'b'.repeat(40)}`]],
    body: EVENT.data,
  });
  expect(refused).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  });
  expect((await askBinary(address, EVENT)).status).toBe(401);
  const authorization = ['authorization', `Bearer ${TOKEN}`] as const;
  expect(
    (await ask(address, { headers: [...binaryHeaders(EVENT), authorization], body: EVENT.data })).status,
  ).toBe(200);
  const where = { method: 'GET', path: '/metrics', headers: [authorization] };
  expect((await ask(address, where)).status).toBe(405);
  for (const path of ['/livez', '/readyz', '/metrics'])
    expect((await probe(address.probes, path)).status).toBe(200);
});

test('where certificates are asked for, nobody without one gets through', async () => {
  const address = await serve({ tls: { ...TLS, callerCa: PAIR.certificate } });
  const askTls = (own: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = Object.fromEntries(binaryHeaders(EVENT));
      const options = {
        ...address,
        ...own,
        ca: PAIR.certificate,
        agent: false,
        method: 'POST',
        path: '/',
        headers,
      } as const;
      const sent = tlsRequest(options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.end(EVENT.data);
    });
  await expect(askTls({})).rejects.toThrow();
  expect(await askTls({ cert: PAIR.certificate, key: PAIR.key })).toBe(200);
});

test('a page in a browser on this machine may not call', async () => {
  const address = await serve();
  const headers = [...binaryHeaders(EVENT), ['origin', 'https://elsewhere.example'] as const];
  expect((await ask(address, { headers, body: EVENT.data })).status).toBe(403);
});

test.each<readonly [string, Parameters<typeof ask>[1], number]>([
  ['another method', { method: 'PUT' }, 405],
  ['a browser that looks what is there', { method: 'GET', path: '/' }, 405],
  ['another path', { path: '/elsewhere' }, 404],
  ['no type of content', {}, 415],
  ['a form', { headers: [['content-type', 'application/x-www-form-urlencoded']] }, 415],
  ['another charset', { headers: [['content-type', `${STRUCTURED}; charset=latin1`]] }, 415],
  [
    'something compressed',
    {
      headers: [
        ['content-type', STRUCTURED],
        ['content-encoding', 'gzip'],
      ],
    },
    415,
  ],
  [
    'a flood of headers',
    { headers: Array.from({ length: 250 }, (_, index) => [`x-${index}`, '1'] as const) },
    431,
  ],
  ['more of headers than is read', { headers: [['x-much', 'a'.repeat(40_000)]] }, 431],
  ['brackets without end', { headers: [['content-type', STRUCTURED]], body: '['.repeat(1_000_000) }, 413],
  ['elements without end', { headers: [['content-type', BATCH]], body: `[${'0,'.repeat(2_200_000)}0]` }, 413],
  [
    'a hundred thousand events',
    { headers: [['content-type', BATCH]], body: `[${'{},'.repeat(99_999)}{}]` },
    413,
  ],
  [
    'half a character',
    { headers: [['content-type', STRUCTURED]], body: Buffer.from([0x7b, 0xff, 0x7d]) },
    400,
  ],
  ['a member twice', { headers: [['content-type', STRUCTURED]], body: '{"id":"a","\\u0069d":"b"}' }, 400],
  [
    'a member twice in a batch',
    { headers: [['content-type', BATCH]], body: '[{"id":"a"},{"id":"a","id":"b"}]' },
    400,
  ],
])('%s is refused', async (_, asking, status) => {
  const address = await serve();
  expect((await ask(address, asking)).status).toBe(status);
  expect((await askBinary(address, EVENT)).status).toBe(200);
});

test('an attribute that stands twice in headers is refused: somebody on the way may have read the other one', async () => {
  const address = await serve();
  const headers = [...binaryHeaders(EVENT), ['CE-Id', 'other'] as const];
  expect((await ask(address, { headers, body: EVENT.data })).status).toBe(400);
  const encoded = [...binaryHeaders(EVENT), ['ce-more', '%E0%A4%A'] as const];
  expect((await ask(address, { headers: encoded, body: EVENT.data })).status).toBe(400);
});

/** Sends bytes as they are, and reads up to the end. */
function raw({ host, port }: Address, text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host, port });
  let answer = '';
  socket.on('data', (part) => {
    answer += part.toString('latin1');
    if (answer.includes('\r\n\r\n')) socket.end();
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(answer));
  socket.write(text);
  return promise;
}

test('a body that is said or found to be too large is refused before it is read', async () => {
  const address = await serve();
  const begin = `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: ${STRUCTURED}\r\n`;
  expect(await raw(address, `${begin}content-length: ${BOUNDS.bodyBytes + 1}\r\n\r\n{`)).toMatch(
    /^HTTP\/1.1 413 /,
  );
  const pressureSource = new ScriptedSource(unsignedDocument([], Date.now()));
  const small = await serveTestFunction(await openTestFunction(pressure, { source: pressureSource }));
  const chunk = 'a'.repeat(1024 * 1024);
  const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(17);
  expect(await raw(small, `${begin}transfer-encoding: chunked\r\n\r\n${chunks}`)).toMatch(/^HTTP\/1.1 413 /);
});

test('a request that ends in two ways at once is none', async () => {
  const address = await serve();
  const both = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\n\r\n`;
  expect(await raw(address, both)).toMatch(/^HTTP\/1.1 400 /);
});

test('a text that holds brackets and quotes is no member', async () => {
  const address = await serve();
  const tricky = { ...structured(EVENT), note: '{"id":"x","id":"y"}\\"' };
  expect((await askJson(address, STRUCTURED, tricky)).status).toBe(200);
});
