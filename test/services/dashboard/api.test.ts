import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pino from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { clusterOutput, nodeOutput } from '../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import {
  DashboardActivity,
  DashboardFleet,
  DashboardFreed,
  DashboardNode,
  DashboardNodes,
  DashboardProgress,
  DashboardSearch,
  DashboardSession,
  DashboardStatus,
} from '../../../schemas/reports/dashboard.ts';
import { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import {
  DashboardCluster,
  DashboardClusterObjects,
  DashboardClusterOutcomes,
  DashboardClusters,
  DashboardHeld,
  DashboardObjectLife,
  DashboardOwnerGraph,
} from '../../../schemas/reports/dashboard-clusters.ts';
import { DashboardHistory } from '../../../schemas/reports/dashboard-history.ts';
import {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  DashboardReturned,
} from '../../../schemas/reports/dashboard-images.ts';
import { DashboardLetterShown, DashboardLetters } from '../../../schemas/reports/dashboard-letters.ts';
import {
  DashboardLife,
  DashboardListed,
  DashboardObject,
} from '../../../schemas/reports/dashboard-object.ts';
import { DashboardPlan } from '../../../schemas/reports/dashboard-plan.ts';
import {
  DashboardPolicies,
  DashboardPolicy,
  DashboardSimulations,
} from '../../../schemas/reports/dashboard-policies.ts';
import { DashboardReport } from '../../../schemas/reports/dashboard-report.ts';
import { readTokens } from '../../../services/dashboard/access/sessions.ts';
import { ROUTES } from '../../../services/dashboard/api/routes.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { bury, deadLetter } from '../../cli/verbs/dead-letters/letters.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { fullCensus } from '../../fixtures/census.ts';
import { clusterObjectResults } from '../../fixtures/cluster.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { objectResult, removed } from '../../fixtures/results.ts';
import { instant } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { publishWithPositions } from '../../support/logs/positions.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { caughtUp, type Dashboard, dashboardOf, startDashboard } from './support/dashboard.ts';

const TOKEN = 't'.repeat(40);
const HOSTILE = '<script>alert(1)</script>"\'&\u202e\u0000';

const takenAt = () => instant({ wallTimeMs: Date.now() });

/** One for all tests that only ask. */
const suite = new AsyncDisposableStack();
afterAll(() => suite.disposeAsync());
let shared: Promise<Dashboard> | undefined;
function served(): Promise<Dashboard> {
  shared ??= startShared();
  return shared;
}

async function startShared(): Promise<Dashboard> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  suite.defer(() => rmSync(directory, { recursive: true, force: true }));
  const log = suite.use(
    await openEmbeddedLog(
      { path: join(directory, 'event-log.db'), maxBytes: 64 * 1024 * 1024 },
      { logger: pino({ level: 'silent' }), now: Date.now, random: Math.random, newId: randomUUID },
    ),
  );
  await log.createTopics();
  await publishWithPositions(log, [
    outgoing({ topic: 'policies', key: 'default', event: appliedPolicy() }),
    outgoing(
      nodeOutput(
        'diskStats',
        diskStats({}, { takenAt: takenAt(), nodeLabels: { 'fleetgc.io/pool': HOSTILE } }),
      ),
    ),
    outgoing(
      nodeOutput(
        'inventory',
        inventory({ takenAt: takenAt(), images: [image('image-1', { repoTags: [HOSTILE] })] }),
      ),
    ),
    outgoing(nodeOutput('results', objectResult({ result: removed(10) }))),
    outgoing(clusterOutput('clusterCensus', fullCensus({ name: HOSTILE }))),
    outgoing(
      clusterOutput(
        'clusterOwnership',
        ownership({
          candidates: [candidate({ object: { name: HOSTILE }, references: [owner('o', { name: HOSTILE })] })],
        }),
      ),
    ),
    outgoing(clusterOutput('clusterResults', clusterObjectResults())),
  ]);
  await bury(log, deadLetter({ message: HOSTILE }));
  const dashboard = await startDashboard(log, { path: join(directory, 'projection.db') });
  suite.defer(dashboard.stop);
  await caughtUp(dashboard);
  return dashboard;
}

const ANSWERS = {
  '/api/session': DashboardSession,
  '/api/progress': DashboardProgress,
  '/api/fleet': DashboardFleet,
  '/api/nodes': DashboardNodes,
  '/api/status': DashboardStatus,
  '/api/freed?from=0': DashboardFreed,
  '/api/node?cluster=prod&node=web-1': DashboardNode,
  '/api/pauses': DashboardPauses,
  '/api/plan?cluster=prod&node=web-1': DashboardPlan,
  '/api/policies': DashboardPolicies,
  '/api/policy?name=default': DashboardPolicy,
  '/api/simulations': DashboardSimulations,
  '/api/activity': DashboardActivity,
  '/api/dead-letters': DashboardLetters,
  '/api/dead-letter?id=dead-letter-aaaa1': DashboardLetterShown,
  '/api/history': DashboardHistory,
  '/api/search?q=web': DashboardSearch,
  '/api/clusters?since=0,1': DashboardClusters,
  '/api/cluster?cluster=c1': DashboardCluster,
  '/api/cluster/outcomes?cluster=c1&from=0': DashboardClusterOutcomes,
  '/api/cluster/held?cluster=c1': DashboardHeld,
  '/api/cluster/objects?cluster=c1&q=x': DashboardClusterObjects,
  '/api/cluster/graph?cluster=c1&uid=x': DashboardOwnerGraph,
  '/api/cluster/life?cluster=c1&uid=x': DashboardObjectLife,
  '/api/object?kind=image&id=image-1': DashboardObject,
  '/api/object/life?kind=image&id=image-1&node=prod/web-1&from=0': DashboardLife,
  '/api/node/listed?cluster=prod&node=web-1': DashboardListed,
  '/api/images': DashboardImages,
  [`/api/images/repository?name=${encodeURIComponent(HOSTILE)}`]: DashboardRepository,
  '/api/images/holders?by=pool': DashboardHolders,
  '/api/images/returned': DashboardReturned,
  '/api/report?from=0': DashboardReport,
} as const;

/** What tests of their own compare with the verbs: the report of a time as a file, and what came of a simulation. */
const TESTED_ELSEWHERE = ['/api/simulation', '/api/report/file'];

test('every answer is as its schema says, and no route is left out', async () => {
  const { json } = await served();
  for (const [path, schema] of Object.entries(ANSWERS)) {
    const answer = await json(path);
    expect(schema.parse(answer), path).toEqual(answer);
  }
  expect(Object.keys(ANSWERS).map((path) => path.split('?')[0])).toEqual(
    ROUTES.map(({ path }) => path).filter((path) => !TESTED_ELSEWHERE.includes(path)),
  );
});

test('a hostile name stays the text that it is', async () => {
  const { json } = await served();
  expect(await json('/api/fleet?group=pool')).toMatchObject({ groups: [HOSTILE] });
  for (const name of ['__proto__', 'constructor'])
    expect(await json(`/api/fleet?group=label:${name}`)).toMatchObject({ groups: ['(none)'] });
  expect(await json('/api/search?q=script')).toMatchObject({
    found: [
      { kind: 'image', name: HOSTILE },
      { kind: 'cluster-object', name: `ConfigMap ns/${HOSTILE}` },
    ],
  });
  expect(await json('/api/activity')).toMatchObject({ activity: [{ what: 'removed', name: HOSTILE }] });
  expect(await json('/api/cluster/graph?cluster=c1&uid=o')).toMatchObject({
    objects: [
      { uid: 'o', name: HOSTILE },
      { uid: 'x', name: HOSTILE },
    ],
  });
});

test.each([
  ['/api/freed', 400],
  ['/api/freed?from=-1', 400],
  ['/api/freed?from=1e3', 400],
  ['/api/freed?from=99999999999999999999', 400],
  ['/api/report?from=9000000000000000', 400],
  ['/api/report?from=1&to=9000000000000000', 400],
  ['/api/report/file?from=9000000000000000&form=json', 400],
  ['/api/nodes?limit=0', 400],
  ['/api/nodes?limit=1001', 400],
  ['/api/nodes?after=a', 400],
  ['/api/nodes?other=1', 400],
  ['/api/activity?before=1', 400],
  ['/api/activity?what=everything', 400],
  ['/api/fleet?group=colour', 400],
  [`/api/fleet?group=label:${'x'.repeat(400)}`, 400],
  ['/api/dead-letters?cause=none', 400],
  ['/api/dead-letters?topic=gc.none', 400],
  ['/api/dead-letters?all=yes', 400],
  ['/api/dead-letters?before=x', 400],
  ['/api/dead-letters?before=1:%00%F0%9F%98%80', 200],
  ['/api/dead-letter', 400],
  ['/api/dead-letter?id=nobody', 404],
  ['/api/history?what=slept', 400],
  ['/api/history?before=99:x', 200],
  ['/api/search?q=a', 400],
  [`/api/search?q=${'a'.repeat(301)}`, 400],
  ["/api/search?q='%20OR%201=1%20--", 200],
  ['/api/search?q=%25%25', 200],
  ['/api/node?cluster=prod&node=..%2f..%2fetc', 400],
  ['/api/node?cluster=prod&node=nobody', 404],
  ['/api/plan?cluster=prod&node=nobody', 404],
  ['/api/plan?cluster=prod&node=web-1&trigger=now', 400],
  ['/api/clusters?since=a', 400],
  ['/api/clusters?since=1,2,3,4,5', 400],
  ['/api/clusters?limit=501', 400],
  ['/api/clusters?after=a/b', 400],
  ['/api/cluster', 400],
  ['/api/cluster?cluster=..', 400],
  ['/api/cluster?cluster=nobody', 404],
  ['/api/cluster/outcomes?cluster=c1', 400],
  ['/api/cluster/outcomes?cluster=nobody&from=0', 200],
  ['/api/cluster/held?cluster=nobody', 200],
  ['/api/cluster/graph?cluster=c1&uid=a%2fb', 400],
  ['/api/cluster/graph?cluster=c1&uid=nobody', 404],
  [`/api/cluster/life?cluster=c1&uid=${'x'.repeat(129)}`, 400],
  ['/api/cluster/life?cluster=c1&uid=%20', 400],
  ["/api/cluster/objects?cluster=c1&q='%20OR%201=1%20--", 200],
  ['/clusters', 200],
  ['/clusters/prod', 200],
  ['/clusters/prod/object?uid=x', 200],
  ['/clusters/prod/other', 404],
  ['/api/none', 404],
  ['/../../package.json', 404],
  ['/page.js/..%2f..%2fpackage.json', 404],
  ['/__proto__', 404],
  [`/${'x'.repeat(5_000)}`, 400],
  ['/%zz', 404],
  ['/api/images?sort=colour', 400],
  ['/api/images?by=pool', 400],
  ['/api/images?limit=501', 400],
  [`/api/images?q=${'a'.repeat(301)}`, 400],
  ['/api/images/holders', 400],
  ['/api/images/holders?by=label:x', 400],
  ['/api/images/repository?name=', 400],
  ['/api/images/repository?name=nobody', 404],
  ['/api/object?kind=node&id=web-1', 400],
  ['/api/object?kind=image&id=', 400],
  ['/api/object?kind=image&id=nobody', 404],
  ["/api/object?kind=image&id='%20OR%201=1%20--", 404],
  ['/api/object/life?kind=image&id=a&node=web-1&from=1', 400],
  ['/api/object/life?kind=image&id=a&node=..%2f..&from=1', 400],
  ['/api/node/listed?cluster=prod&node=nobody', 404],
  ['/api/report', 400],
  ['/api/report?from=1&to=x', 400],
  ['/api/report?from=1&leaving=yes', 400],
  ['/api/report/file?from=1&form=pdf', 400],
  ['/api/report/file?from=1&form=json', 404],
  ['/images', 200],
  ['/report', 200],
  ['/object/image/sha256:aa', 200],
  ['/object/image/a%2fb', 200],
  ['/fleet', 200],
  ['/dead-letters', 200],
  ['/history', 200],
  ['/node/prod/web-1', 200],
  ['/', 200],
])('%s is answered with %i', async (path, status) => {
  const { get } = await served();
  const answer = await get(path);
  expect(answer.status).toBe(status);
  expect(await answer.text()).not.toMatch(/at .*\.ts|node_modules|SQLITE/);
});

test('every answer says that nothing else may be loaded, framed or guessed', async () => {
  const { get } = await served();
  for (const path of ['/', '/api/session', '/api/none', '/page.js']) {
    const { headers } = await get(path);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe|data:|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  }
});

test('a file that is known is not sent again', async () => {
  const { get } = await served();
  const etag = (await get('/page.js')).headers.get('etag') ?? '';
  expect(etag).not.toBe('');
  expect((await get('/page.js', { 'if-none-match': etag })).status).toBe(304);
});

test('probes and metrics have an address of their own, and the page has none of them', async () => {
  const { get, probes } = await served();
  const probe = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${probes.port}${path}`)).text();
  expect(await probe('/livez')).toBe('ok\n');
  await waitUntil('it to be ready', 20_000, async () => (await probe('/readyz')) === 'ready\n');
  expect(await probe('/readyz?verbose')).toBe('[+] event log\n[+] projection\nready\n');
  expect(await probe('/metrics')).toMatch(/^fleetgc_build_info\{service="dashboard",/m);
  for (const path of ['/livez', '/readyz', '/metrics']) expect((await get(path)).status, path).toBe(404);
});

test('whoever holds all connections of an address to the page keeps no probe waiting', async () => {
  const { address, probes } = await served();
  const held = Array.from({ length: 110 }, () => connect(address.port, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of held) socket.destroy();
  });
  const states = held.map((socket) => {
    socket.on('error', () => undefined).resume();
    return once(socket, 'close').then(() => socket);
  });
  await Promise.race(states);
  expect((await fetch(`http://127.0.0.1:${probes.port}/livez`)).status).toBe(200);
});

test('a file of the page is packed once, and sent as it is to whoever cannot unpack it', async () => {
  const { address } = await served();
  const [packed, again, plain] = await Promise.all(
    ['gzip', 'gzip', 'identity'].map((encoding) =>
      rawAnswer(address.port, '/page.js', { 'accept-encoding': encoding }),
    ),
  );
  expect(packed?.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(packed?.body ?? '').toString()).toBe('the file page.js\n');
  expect(again?.body.equals(packed?.body ?? Buffer.alloc(0))).toBe(true);
  expect(plain?.headers['content-encoding']).toBeUndefined();
  expect(plain?.body.toString()).toBe('the file page.js\n');
});

/** As it came, which `fetch` unpacks. */
async function rawAnswer(port: number, path: string, headers: Readonly<Record<string, string>>) {
  const asked = request({ host: '127.0.0.1', port, path, headers });
  asked.end();
  const [response] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asked, 'response'));
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(Buffer.from(part));
  return { headers: response.headers, body: Buffer.concat(parts) };
}

test('pipelined requests for the page leave one answer in memory, and others are answered meanwhile', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-page-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const size = 1024 * 1024;
  for (const name of ['index.html', 'page.css', 'icon.svg']) writeFileSync(join(directory, name), name);
  writeFileSync(join(directory, 'page.js'), randomBytes(size));
  const { log } = await ownLog();
  const { address, get } = await dashboardOf(log, { pageDirectory: directory });
  const before = process.memoryUsage().arrayBuffers;
  // Whoever reads nothing of what it asks for.
  const greedy = connect(address.port, '127.0.0.1').pause();
  onTestFinished(() => void greedy.destroy());
  greedy.on('error', () => undefined);
  greedy.write(`GET /page.js HTTP/1.1\r\nhost: 127.0.0.1:${address.port}\r\n\r\n`.repeat(1_000));
  for (let count = 0; count < 20; count += 1) expect((await get('/api/session')).status).toBe(200);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * size);
});

/** With headers that `fetch` does not let anybody set. */
function statusOf(
  { address }: Dashboard,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
) {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asking = request({ ...address, path, method, headers }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asking.on('error', reject);
  asking.end();
  return promise;
}

describe('requests of other pages', () => {
  test.each([
    { headers: { host: 'evil.example' } },
    { headers: { origin: 'https://evil.example' } },
    { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } },
  ])('get nothing: $headers', async ({ headers }) => {
    const dashboard = await served();
    for (const path of ['/', '/api/fleet', '/api/events', '/page.js'])
      expect(await statusOf(dashboard, path, headers), path).toBe(403);
  });

  test.each(['cross-site', 'same-site'])(
    'ask nothing in a frame or by a link, but may lead to the page: %s',
    async (site) => {
      const dashboard = await served();
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' };
      for (const path of ['/api/fleet', '/api/events', '/api/report'])
        expect(await statusOf(dashboard, path, headers), path).toBe(403);
      expect(await statusOf(dashboard, '/fleet', headers)).toBe(200);
    },
  );

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('change nothing: %s', async (method) => {
    const dashboard = await served();
    expect(await statusOf(dashboard, '/api/fleet', {}, method)).toBe(403);
    expect(await statusOf(dashboard, '/api/fleet', { origin: dashboard.url }, method)).toBe(405);
  });
});

describe('what is asked wrongly is told in our words', () => {
  /** As zod says it. */
  const OTHERS = /invalid|unrecognized|too (small|big)|expected|received|pattern|[✖→{}]|\n/i;

  const wrong = ROUTES.flatMap(({ path, params }) => {
    const names = params instanceof z.ZodObject ? Object.keys(params.shape) : [];
    const given = ['\u0000', 'x'.repeat(3_500), '-1', ''];
    const own = names.flatMap((name) => given.map((value) => ({ path, name, value })));
    return [{ path, name: 'nobody', value: '1' }, ...own];
  });

  test('of every parameter', async () => {
    const { get } = await served();
    let told = 0;
    for (const { path, name, value } of wrong) {
      const answer = await get(`${path}?${new URLSearchParams({ [name]: value })}`);
      if (answer.status !== 400) continue;
      const { problem } = z.object({ problem: z.string() }).parse(await answer.json());
      expect(problem, `${path} ${name}`).not.toMatch(OTHERS);
      told += 1;
    }
    expect(told).toBeGreaterThan(ROUTES.length);
  });

  test.each([
    ['/api/nodes?limit=0', 'limit has to be a whole number from 1 to 1000'],
    ['/api/nodes?limit=1&limi=2', 'may not have limi, which nobody asks for here'],
    ['/api/node?cluster=prod', 'node is missing'],
    ['/api/freed?from=now', 'from has to be a time, in milliseconds since 1970 as a whole number'],
    ['/api/fleet?group=label:', 'group has to be cluster, pool, policy, or label:NAME'],
    ['/api/pauses?node=web-1', 'node has to be a node as CLUSTER/NODE'],
    ['/api/history?what=all', expect.stringMatching(/^what has to be one of [a-z-]+, /)],
    ['/api/activity?before=x', 'before has to be what the last answer says as before'],
    ['/api/search?q=x', 'q has to have at least 2 characters'],
    ['/api/search?q=xy&a=1&b=2&c=3&d=4&e=5&f=6', expect.stringContaining('a, b, c, d, e and more')],
    ['/api/images?by=pool', 'by and of belong together'],
  ])('%s', async (path, problem) => {
    const answer = await (await served()).get(path);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ problem });
  });
});

describe('where people sign in', () => {
  const withTokens = async (): Promise<Dashboard> => {
    const { log } = await ownLog();
    return dashboardOf(log, { access: { tokens: readTokens('tokens', `viewer ann ${TOKEN}`) } });
  };

  test('nobody is told anything before, but the page on which to sign in', async () => {
    const { get } = await withTokens();
    for (const { path } of ROUTES) expect((await get(path)).status, path).toBe(401);
    expect((await get('/api/events')).status).toBe(401);
    expect((await get('/api/none')).status).toBe(401);
    expect((await get('/')).status).toBe(200);
  });

  test('a token opens it, by a header or once for a session', async () => {
    const { get, url } = await withTokens();
    expect((await get('/api/session', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', body: TOKEN, headers: { origin: url } });
    expect(signedIn.status).toBe(200);
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const session = await get('/api/session', { cookie });
    expect(await session.json()).toEqual({
      user: 'ann',
      role: 'viewer',
      by: 'token',
      version: '1.2.3',
      actions: { allowed: false, why: expect.stringContaining('without --allow-actions') },
    });
    const nobody = await fetch(`${url}/sign-out`, { method: 'POST', headers: { origin: url } });
    expect(nobody.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await get('/api/session', { cookie })).status).toBe(200);
  });

  test('whoever signs out is out, also with a copy of the cookie, and hears nothing more', async () => {
    const { get, url } = await withTokens();
    const headers = { origin: url };
    const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', body: TOKEN, headers });
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const events = await get('/api/events', { cookie });
    expect(events.status).toBe(200);
    await fetch(`${url}/sign-out`, { method: 'POST', headers: { ...headers, cookie } });
    expect((await get('/api/session', { cookie })).status).toBe(401);
    expect((await get('/api/events', { cookie })).status).toBe(401);
    // The stream has an end.
    expect(await events.text()).toContain('event: progress');
    expect((await get('/api/session', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  test('whoever goes in the middle of a sign-in is no failure of the dashboard', async () => {
    const { log } = await ownLog();
    const told: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void told.push(line) });
    const { url, address, get } = await dashboardOf(log, { logger });
    const headers = { origin: url, 'content-type': 'text/plain', 'content-length': '100' };
    const asking = request({ ...address, path: '/sign-in', method: 'POST', headers });
    asking.on('error', () => undefined);
    await new Promise<void>((resolve) => void asking.write('abc', () => resolve()));
    await get('/api/session');
    const closed = new Promise<void>((resolve) => void asking.once('close', () => resolve()));
    asking.destroy();
    await closed;
    await get('/api/session');
    expect(told.filter((line) => line.includes('could not be answered'))).toEqual([]);
  });

  test.each([
    { body: 'wrong', headers: {}, status: 401 },
    { body: 'x'.repeat(5_000), headers: {}, status: 413 },
    { body: TOKEN, headers: { 'content-type': 'application/x-www-form-urlencoded' }, status: 415 },
    { body: TOKEN, headers: { origin: 'https://evil.example' }, status: 403 },
  ])('$status for a sign-in that is none', async ({ body, headers, status }) => {
    const { url } = await withTokens();
    const answer = await fetch(`${url}/sign-in`, {
      method: 'POST',
      body,
      headers: { origin: url, ...headers },
    });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });
});

test('one person cannot have all the places of those who hear what is new', async () => {
  const { log } = await ownLog();
  const [ann, bob] = [TOKEN, 'b'.repeat(40)];
  const tokens = readTokens('tokens', `viewer ann ${ann}\nviewer bob ${bob}`);
  const { get } = await dashboardOf(log, { access: { tokens } });
  const follow = async (token: string): Promise<string> => {
    const { body } = await get('/api/events', { authorization: `Bearer ${token}` });
    const { value } = (await body?.getReader().read()) ?? {};
    return Buffer.from(value ?? []).toString('utf8');
  };
  for (let count = 0; count < 20; count += 1) expect(await follow(ann)).toContain('retry: ');
  expect(await follow(ann)).toContain('event: full');
  expect(await follow(bob)).toContain('retry: ');
});

test('what is new is told as it happens', async () => {
  const { log } = await ownLog();
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  const ending = new AbortController();
  const events = await fetch(`${dashboard.url}/api/events`, { signal: ending.signal });
  const heard = { text: '' };
  void (async () => {
    for await (const part of events.body ?? []) heard.text += Buffer.from(part).toString('utf8');
  })().catch(() => undefined);
  await waitUntil('the first event', 5_000, () => heard.text.includes('event: progress'));
  await publishWithPositions(log, [
    outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: takenAt() }))),
    outgoing(nodeOutput('results', objectResult())),
  ]);
  await waitUntil(
    'what is new',
    10_000,
    () => heard.text.includes('event: nodes') && heard.text.includes('event: activity'),
  );
  expect(heard.text).toContain('"node":"web-1","used":90');
  ending.abort();
});

test('a second process does not take the same file', async () => {
  const { log, path } = await ownLog();
  const projection = path.replace('event-log.db', 'projection.db');
  await dashboardOf(log, { path: projection });
  await expect(dashboardOf(log, { path: projection })).rejects.toMatchObject({
    code: 'STATE_IN_USE',
  });
});
