import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { EventLog, LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { keyOf } from '../../../packages/records/parse/record-key.ts';
import type { DeadLetterRedrive } from '../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { DashboardActionDone, DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import { readTokens } from '../../../services/dashboard/access/sessions.ts';
import { ACTIONS, onlyActs } from '../../../services/dashboard/actions/perform.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { jsonOf, readTopic } from '../../cli/read-topic.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { deletionOutput, EVERY_NODE, pauseRecord } from '../../fixtures/policy.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { runs } from '../../support/property-runs.ts';
import { standingClock } from '../../support/standing-clock.ts';
import { actingOn } from './support/acting.ts';
import { type Dashboard, dashboardOf } from './support/dashboard.ts';

const OPERATOR = 'o'.repeat(40);
const VIEWER = 'v'.repeat(40);
const TOKENS = readTokens('tokens', `operator ann ${OPERATOR}\nviewer bob ${VIEWER}`);
const PROD = { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} };

const pausing = (over: object = {}) => ({ id: randomUUID(), selector: PROD, reason: 'disks', ...over });

interface Served {
  readonly log: EventLog;
  readonly dashboard: Dashboard;
  readonly opened: () => number;
  readonly written: () => Promise<readonly LogRecord[]>;
}

async function served({ isActing = true, path = '' } = {}): Promise<Served> {
  const own = await ownLog();
  const acting = actingOn(own.log);
  const dashboard = await dashboardOf(own.log, {
    access: { tokens: TOKENS, trustedProxies: ['127.0.0.1'], operators: ['root'] },
    ...(isActing && { acting }),
    ...(path !== '' && { path }),
  });
  const written = async () => [
    ...(await readTopic(own.log, 'gc.policies')),
    ...(await readTopic(own.log, 'gc.policy-versions')),
    ...(await readTopic(own.log, 'gc.dead-letters')),
  ];
  return { log: own.log, dashboard, opened: acting.opened, written };
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** With any headers, also those that `fetch` does not let anybody set. Without more it is as the page sends it. */
function send(
  { address, url }: Dashboard,
  { method = 'POST', path = '/api/actions/pause', headers = {}, body = JSON.stringify(pausing()) }: Sent = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const all = {
    origin: url,
    authorization: `Bearer ${OPERATOR}`,
    'content-type': 'application/json',
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const asking = request({ ...address, path, method, headers: given }, async (response) => {
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part;
    resolve({ status: response.statusCode ?? 0, text });
  });
  asking.on('error', reject);
  asking.end(body);
  return promise;
}

test('a pause from the page is that of the verb, and says who did it, how they signed in, and why', async () => {
  const { log, dashboard } = await served();
  const answer = await send(dashboard);
  expect(DashboardActionDone.parse(JSON.parse(answer.text))).toEqual({
    text: 'paused: cluster prod',
    notes: [expect.stringContaining('nothing was being removed')],
  });
  const [record] = await readTopic(log, 'gc.policies');
  expect(record && jsonOf(record)).toMatchObject({
    type: 'fleetgc.pause',
    selector: PROD,
    reason: 'disks',
    by: 'ann (dashboard, token)',
  });
  expect(record?.headers.ce_source).toBe('/fleetgc/dashboard');
  const headers = { authorization: `Bearer ${VIEWER}` };
  const pauses = DashboardPauses.parse(await (await dashboard.get('/api/pauses', headers)).json());
  expect(pauses).toMatchObject({
    pauses: [{ text: 'cluster prod', by: 'ann (dashboard, token)', reason: 'disks' }],
  });

  const resumed = await send(dashboard, {
    path: '/api/actions/resume',
    body: JSON.stringify({ id: randomUUID(), selector: PROD, reason: 'mended' }),
  });
  expect(JSON.parse(resumed.text)).toEqual({ text: 'resumed', notes: ['cluster prod'] });
  const [, deletion] = await readTopic(log, 'gc.policies');
  expect(deletion && jsonOf(deletion)).toMatchObject({
    type: 'fleetgc.policy-deletion',
    by: 'ann (dashboard, token)',
    reason: 'mended',
  });
});

const SMALL = JSON.stringify(pausing());

describe('nothing is written', () => {
  test.each<Sent & { readonly what: string; readonly status: number }>([
    { what: 'from another page', headers: { origin: 'https://evil.example' }, status: 403 },
    { what: 'from a page of nobody', headers: { origin: 'null' }, status: 403 },
    { what: 'without an origin', headers: { origin: undefined }, status: 403 },
    { what: 'from a page of another port', headers: { origin: 'http://127.0.0.1:1' }, status: 403 },
    { what: 'for another host', headers: { host: 'evil.example' }, status: 403 },
    { what: 'from a page of this site', headers: { 'sec-fetch-site': 'same-site' }, status: 403 },
    { what: 'from another site', headers: { 'sec-fetch-site': 'cross-site' }, status: 403 },
    { what: 'by navigation', headers: { 'sec-fetch-site': 'none' }, status: 403 },
    { what: 'without a sign-in', headers: { authorization: undefined }, status: 401 },
    { what: 'with a wrong token', headers: { authorization: 'Bearer nobody' }, status: 401 },
    { what: 'for a viewer', headers: { authorization: `Bearer ${VIEWER}` }, status: 403 },
    {
      what: 'for a viewer of a proxy',
      headers: { authorization: undefined, 'x-forwarded-user': 'eve' },
      status: 403,
    },
    { what: 'of a form', headers: { 'content-type': 'application/x-www-form-urlencoded' }, status: 415 },
    { what: 'of plain text', headers: { 'content-type': 'text/plain' }, status: 415 },
    {
      what: 'of a type that hides',
      headers: { 'content-type': 'text/plain; application/json' },
      status: 415,
    },
    { what: 'without a type', headers: { 'content-type': undefined }, status: 415 },
    { what: 'of too much', body: `{"id":"${'x'.repeat(40_000)}"}`, status: 413 },
    { what: 'of no JSON', body: '{', status: 400 },
    { what: 'of nothing', body: '', status: 400 },
    { what: 'without an id', body: JSON.stringify(pausing({ id: undefined })), status: 400 },
    { what: 'without a reason', body: JSON.stringify(pausing({ reason: ' ' })), status: 400 },
    { what: 'with more than is asked', body: JSON.stringify(pausing({ by: 'root' })), status: 400 },
    {
      what: 'of nodes by their labels',
      body: JSON.stringify(pausing({ selector: { ...PROD, nodeLabels: { a: 'b' } } })),
      status: 400,
    },
    { what: 'by PUT', method: 'PUT', status: 405 },
    { what: 'by DELETE', method: 'DELETE', body: '', status: 405 },
    { what: 'that is no action', path: '/api/actions/apply', status: 404 },
    { what: 'that is none either', path: '/api/actions/__proto__', status: 404 },
    { what: 'by GET', method: 'GET', body: '', status: 404 },
  ])('$what', async ({ what: _what, status, ...sent }) => {
    const { dashboard, opened, written } = await served();
    expect(await send(dashboard, sent)).toMatchObject({ status });
    expect(opened()).toBe(0);
    expect(await written()).toEqual([]);
  });

  test.each([
    ['{', 'what was sent is no JSON'],
    ['[]', 'has to be an object'],
    [pausing({ id: 'x' }), 'id has to be a UUID'],
    [pausing({ reason: ' ' }), 'reason has to have at least 1 character'],
    [pausing({ reason: undefined, by: 'root' }), expect.stringContaining('reason is missing')],
    [pausing({ by: 'root' }), 'may not have by, which nobody asks for here'],
    [pausing({ selector: { ...PROD, pools: [7] } }), 'selector.pools[0] has to be text'],
    [pausing({ selector: { ...PROD, clusters: Array(50).fill(1) } }), expect.stringMatching(/; and more$/)],
  ])('of what is not as it has to be, and the answer says what: %o', async (given, problem) => {
    const { dashboard, written } = await served();
    const body = typeof given === 'string' ? given : JSON.stringify(given);
    const { status, text } = await send(dashboard, { body });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toEqual({ problem });
    expect(await written()).toEqual([]);
  });

  test('without --allow-actions, whoever asks', async () => {
    const { dashboard, written } = await served({ isActing: false });
    for (const name of Object.keys(ACTIONS))
      expect(await send(dashboard, { path: `/api/actions/${name}` })).toMatchObject({
        status: 403,
        text: expect.stringContaining('without --allow-actions'),
      });
    expect(await written()).toEqual([]);
  });

  test('for whoever is not signed in, as nobody has a name then', async () => {
    const { log } = await ownLog();
    await expect(dashboardOf(log, { acting: actingOn(log) })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('--allow-actions needs --token-file or --trusted-proxy'),
    });
  });

  test('whatever is sent, unless the origin is right and an operator is signed in', async () => {
    const { dashboard, opened, written } = await served();
    const host = new URL(dashboard.url).host;
    const origins = [
      undefined,
      'null',
      'http://evil.example',
      `https://${host}`,
      `http://${host}.evil.example`,
    ];
    const people = [undefined, `Bearer ${VIEWER}`, 'Bearer x', `Basic ${OPERATOR}`, `bearer  ${OPERATOR}`];
    const right = { origin: dashboard.url, authorization: `Bearer ${OPERATOR}` };
    const wrong = fc
      .record({
        origin: fc.constantFrom(right.origin, ...origins),
        authorization: fc.constantFrom(right.authorization, ...people),
        cookie: fc.constantFrom(
          undefined,
          'fleetgc_session=ann~9999999999999~AAAA',
          `fleetgc_session=${OPERATOR}`,
        ),
        'x-forwarded-user': fc.constantFrom(undefined, 'eve', 'Root', 'root, eve'),
        'content-type': fc.constantFrom('application/json', 'text/plain'),
        'x-http-method-override': fc.constantFrom(undefined, 'POST'),
      })
      .filter(
        ({ origin, authorization }) => origin !== right.origin || authorization !== right.authorization,
      );
    const method = fc.constantFrom('POST', 'GET', 'PUT', 'OPTIONS', 'HEAD');
    const path = fc.constantFrom(
      ...Object.keys(ACTIONS).map((name) => `/api/actions/${name}`),
      '//api/actions/pause',
      '/api/actions/pause/',
      '/sign-in',
    );
    await fc.assert(
      fc.asyncProperty(method, path, wrong, async (by, at, headers) => {
        const { status } = await send(dashboard, { method: by, path: at, headers, body: SMALL });
        expect(status).toBeGreaterThanOrEqual(400);
      }),
      runs(200),
    );
    expect(opened()).toBe(0);
    expect(await written()).toEqual([]);
  });
});

describe('what is asked for twice', () => {
  test('under one id is done once, also at the same moment', async () => {
    const { log, dashboard, opened } = await served();
    const body = JSON.stringify(pausing());
    const answers = await Promise.all([1, 2, 3].map(() => send(dashboard, { body })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await send(dashboard, { body })).toEqual(answers[0]);
    expect(opened()).toBe(1);
    expect(await readTopic(log, 'gc.policies')).toHaveLength(1);
  });

  test('under an id that was for something else is refused', async () => {
    const { log, dashboard } = await served();
    const first = pausing();
    await send(dashboard, { body: JSON.stringify(first) });
    const other = { ...first, selector: { ...PROD, clusters: ['test'] } };
    expect(await send(dashboard, { body: JSON.stringify(other) })).toMatchObject({ status: 409 });
    expect(await readTopic(log, 'gc.policies')).toHaveLength(1);
  });

  test('by somebody else is another thing', async () => {
    const { log, dashboard } = await served();
    const body = JSON.stringify(pausing());
    await send(dashboard, { body });
    await send(dashboard, { body, headers: { authorization: undefined, 'x-forwarded-user': 'root' } });
    const said = (await readTopic(log, 'gc.policies')).map(jsonOf);
    expect(said).toMatchObject([{ by: 'ann (dashboard, token)' }, { by: 'root (dashboard, proxy)' }]);
  });

  test('after it failed is tried again', async () => {
    const { dashboard } = await served();
    const body = JSON.stringify({
      id: randomUUID(),
      ...{
        cluster: 'prod',
        name: 'Namespace',
        as: 'held-kind',
        objects: 5,
        shown: '0123456789abcdef',
        forMs: 3_600_000,
        reason: 'moved',
      },
    });
    for (const _try of [1, 2])
      expect(await send(dashboard, { path: '/api/actions/approve', body })).toEqual({
        status: 404,
        text: expect.stringContaining('nothing is held in cluster prod, so nothing of the name Namespace'),
      });
  });

  test('too often in a minute is refused', async () => {
    standingClock();
    const { dashboard } = await served();
    const body = JSON.stringify(pausing());
    const statuses: number[] = [];
    for (let number = 0; number < 31; number += 1) statuses.push((await send(dashboard, { body })).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    expect(statuses.at(-1)).toBe(429);
  });
});

test('who looks is told whether they may act, and why not', async () => {
  const { dashboard } = await served();
  const session = async (token: string) =>
    await (await dashboard.get('/api/session', { authorization: `Bearer ${token}` })).json();
  expect(await session(OPERATOR)).toMatchObject({ actions: { allowed: true } });
  expect(await session(VIEWER)).toMatchObject({
    actions: { allowed: false, why: 'only operators may act, and you are a viewer' },
  });
});

describe('whatever the code above it does, the log takes from the page', () => {
  async function isTaken(record: OutgoingRecord): Promise<boolean> {
    const published: unknown[] = [];
    const publish = async (records: readonly OutgoingRecord[]) => {
      published.push(...records);
      return madeUpPositions(records);
    };
    const log = onlyActs({ publish, read: () => Promise.reject(new Error('not asked')) as never });
    await log.publish([record]).catch(() => undefined);
    return published.length === 1;
  }
  const held = approval(approvedOwner('o', 1));
  const letter: DeadLetterRedrive = {
    type: 'fleetgc.dead-letter-redrive',
    version: 1,
    id: 'redrive-1',
    deadLetterId: 'dead-letter-1',
    key: null,
  };

  test('pauses, approvals, their ends, facts, and notes that these were put back', async () => {
    const taken = [
      outgoing({ topic: 'policies', key: pauseKey(EVERY_NODE), event: pauseRecord() }),
      outgoing({ topic: 'policies', key: approvalKey(held), event: held }),
      outgoing(deletionOutput(pauseKey(EVERY_NODE))),
      outgoing(deletionOutput(approvalKey(held))),
      outgoing({ topic: 'deadLetters', key: keyOf('deadLetters', letter), event: letter }),
      outgoing(nodeOutput('diskStats', diskStats())),
    ];
    for (const record of taken) expect(await isTaken(record), record.key).toBe(true);
  });

  test('also of what opens it', async () => {
    const { log } = await ownLog();
    const acting = actingOn(log);
    const policy = outgoing({ topic: 'policies', key: 'default', event: appliedPolicy({ name: 'default' }) });
    const dashboard = await dashboardOf(log, {
      access: { tokens: TOKENS },
      acting: {
        ...acting,
        openWriter: async (own, signal) => {
          await own.publish([policy]);
          return await acting.openWriter(own, signal);
        },
      },
    });
    expect(await send(dashboard)).toMatchObject({ status: 503 });
    expect(await readTopic(log, 'gc.policies')).toEqual([]);
  });

  test('no policy, no end of one, no order, no key and no made-up letter', async () => {
    const policy = appliedPolicy({ name: 'default' });
    const refused = [
      outgoing({ topic: 'policies', key: 'default', event: policy }),
      outgoing(deletionOutput('default')),
      outgoing(deletionOutput('!pauses')),
      ...(
        ['observe', 'commands', 'decisions', 'clusterCommands', 'clusterRemoved', 'keys', 'heads'] as const
      ).map((topic) => ({
        topic: TOPICS[topic].name,
        key: 'prod/web-1',
        value: Buffer.from('{}'),
        headers: {},
      })),
      { topic: TOPICS.deadLetters.name, key: 'prod/web-1', value: Buffer.from('{}'), headers: {} },
      { topic: TOPICS.policies.name, key: '!pause', value: null, headers: {} },
    ];
    for (const record of refused) expect(await isTaken(record), `${record.topic} ${record.key}`).toBe(false);
  });
});
