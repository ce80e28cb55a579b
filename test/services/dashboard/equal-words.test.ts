import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { DashboardImages, DashboardReturned } from '../../../schemas/reports/dashboard-images.ts';
import {
  DashboardLife,
  DashboardListed,
  DashboardObject,
} from '../../../schemas/reports/dashboard-object.ts';
import { DashboardReport } from '../../../schemas/reports/dashboard-report.ts';
import { Explanation } from '../../../schemas/reports/explanation.ts';
import { Plan, type PlannedObject } from '../../../schemas/reports/plan.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { container, image, inventory, pod } from '../../fixtures/inventory.ts';
import { objectResult, removed } from '../../fixtures/results.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';

const ID = `sha256:${'ab'.repeat(32)}`;
const OTHER = `sha256:${'cd'.repeat(32)}`;
const HOSTILE = '<b>shop</b>';

/** A node on which an image is used, goes, and comes back; and another that keeps it. */
async function recorded() {
  const { log, path, publishAt } = await timedLog();
  const nowMs = Date.now();
  let count = 0;
  const look = (node: string, atMs: number, over: Parameters<typeof inventory>[0]): OutgoingRecord => {
    count += 1;
    const takenAt = instant({ wallTimeMs: atMs, sinceBootMs: 24 * HOUR + atMs - nowMs });
    return outgoing(nodeOutput('inventory', inventory({ id: `inventory-${count}`, node, takenAt, ...over })));
  };
  const web = image(ID, { repoTags: ['registry.example/shop/web:1'], sizeBytes: 1_000 });
  const job = image(OTHER, { repoTags: ['registry.example/job:1'], lastUsedMs: null, sizeBytes: 300 });
  const app = container('c1', { name: 'app', imageId: ID, state: 'running' });
  const used = {
    images: [{ ...web, usedBy: [{ kind: 'container' as const, id: 'c1' }] }, job],
    containers: [app],
    pods: [pod('pod-1')],
  };
  const gone = (id: string, node: string, atMs: number): OutgoingRecord =>
    outgoing(
      nodeOutput(
        'results',
        objectResult({
          id,
          node,
          at: instant({ wallTimeMs: atMs, sinceBootMs: 24 * HOUR + atMs - nowMs }),
          object: { kind: 'image', id: ID },
          result: removed(1_000),
        }),
      ),
    );
  const policy = appliedPolicy({ name: 'default' });
  await publishAt(nowMs - 6 * HOUR, outgoing({ topic: 'policies', key: 'default', event: policy }));
  const at = async (agoMs: number, record: (atMs: number) => OutgoingRecord): Promise<void> =>
    await publishAt(nowMs - agoMs, record(nowMs - agoMs));
  await at(5 * HOUR, (ms) => look('web-1', ms, used));
  await at(4 * HOUR, (ms) => look('web-1', ms, { images: [web, job] }));
  await at(3 * HOUR, (ms) => gone('gone-1', 'web-1', ms));
  await at(3 * HOUR - MINUTE, (ms) => look('web-1', ms, { images: [job] }));
  await at(2 * HOUR, (ms) => look('web-1', ms, { images: [web] }));
  await at(HOUR, (ms) => gone('gone-2', 'web-1', ms));
  await at(50 * MINUTE, (ms) => gone('gone-3', 'web-2', ms));
  const newest = inventory({
    id: 'newest',
    takenAt: instant({ wallTimeMs: nowMs - 3 * MINUTE, sinceBootMs: 24 * HOUR - 3 * MINUTE }),
    ...used,
  });
  await at(3 * MINUTE, () => outgoing(nodeOutput('inventory', newest)));
  await at(2 * MINUTE, (ms) => look('web-2', ms, { images: [{ ...web, pinned: true }] }));
  await at(MINUTE, (ms) =>
    outgoing(
      nodeOutput(
        'diskStats',
        diskStats({}, { takenAt: instant({ wallTimeMs: ms }), nodeLabels: { x: HOSTILE } }),
      ),
    ),
  );
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  const verb = async (...args: string[]): Promise<string> => {
    const { stdout } = await inProcess([...args, '--log', 'embedded', '--log-path', path]);
    return stdout;
  };
  return { dashboard, verb, nowMs, newest };
}

const asked = async (dashboard: Dashboard, path: string): Promise<unknown> =>
  await waitUntil(`an answer to ${path}`, 20_000, async () => {
    const answer = await dashboard.json(path);
    const isThere = JSON.stringify(answer).startsWith('{"state":"read"');
    return isThere ? answer : null;
  });

const image_ = encodeURIComponent(ID);

test('the life of an image is what audit explain tells, in its words', async () => {
  const { dashboard, verb, nowMs } = await recorded();
  const from = nowMs - 12 * HOUR;
  const path = `/api/object/life?kind=image&id=${image_}&node=prod/web-1&from=${from}`;
  const life = DashboardLife.parse(await asked(dashboard, path));
  if (life.state !== 'read' || life.value.status !== 'explained') throw new Error('is not explained');
  const { subject, sentences, entries, leftOut } = life.value;
  const args = [
    'audit',
    'explain',
    `image/${ID}`,
    '--node',
    'prod/web-1',
    '--from',
    new Date(from).toISOString(),
  ];
  const explanation = Explanation.parse(JSON.parse(await verb(...args, '-o', 'json')));
  if (explanation.status !== 'explained') throw new Error('is not explained');
  expect(subject).toEqual(explanation.subject);
  expect(entries.map(({ atMs }) => atMs)).toEqual(explanation.timeline.map(({ loggedAtMs }) => loggedAtMs));
  expect(leftOut).toBe(0);
  const table = await verb(...args);
  for (const text of [...sentences, ...entries.flatMap(({ word, text: told }) => [word, told])])
    expect(table).toContain(text.trimEnd());
  expect(entries.map(({ word }) => word)).toContain('removed');
});

test('a name that nothing has is told as such, and not as an error', async () => {
  const { dashboard, nowMs } = await recorded();
  const path = `/api/object/life?kind=image&id=none&node=prod/web-1&from=${nowMs - HOUR}`;
  expect(DashboardLife.parse(await asked(dashboard, path))).toMatchObject({ value: { status: 'not-found' } });
});

describe('the report', () => {
  test('is that of audit report, in every form', async () => {
    const { dashboard, verb, nowMs } = await recorded();
    const [from, to] = [nowMs - 24 * HOUR, nowMs];
    const range = `from=${from}&to=${to}`;
    const report = DashboardReport.parse(await asked(dashboard, `/api/report?${range}`));
    if (report.state !== 'read') throw new Error('is not read');
    const args = [
      'audit',
      'report',
      '--from',
      new Date(from).toISOString(),
      '--to',
      new Date(to).toISOString(),
    ];
    for (const form of ['json', 'markdown', 'html', 'ndjson']) {
      const file = await dashboard.get(`/api/report/file?${range}&form=${form}`);
      expect(file.headers.get('content-disposition')).toMatch(
        /^attachment; filename="fleetgc-report-[\d-]+\.\w+"$/,
      );
      expect(await file.text(), form).toBe(await verb(...args, '-o', form));
    }
    const html = await verb(...args, '-o', 'html');
    const { introduction, parts } = report.value;
    const escaped = (text: string): string =>
      text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
    expect(html).toContain(escaped(introduction.join(' ')));
    for (const { heading, text } of parts) {
      expect(html).toContain(`<h2>${escaped(heading)}</h2>`);
      expect(html).toContain(escaped(text.join(' ')));
    }
  });

  test('of a time that no page can show is refused in a sentence, and nothing is read', async () => {
    const { dashboard, nowMs } = await recorded();
    expect(await dashboard.json('/api/report?from=0')).toMatchObject({ state: 'failed', problem: /92 days/ });
    expect(await dashboard.json(`/api/report?from=${nowMs}&to=1`)).toMatchObject({ state: 'failed' });
    expect((await dashboard.get('/api/report/file?from=0&form=json')).status).toBe(404);
  });
});

test('an object is told on all nodes: who has it, how often it went, and whether it came back', async () => {
  const { dashboard, verb, nowMs } = await recorded();
  const told = DashboardObject.parse(await dashboard.json(`/api/object?kind=image&id=${image_}`));
  expect(told).toMatchObject({
    names: ['registry.example/shop/web:1'],
    holders: { nodes: 2, used: 1, pinned: 1, after: null },
    went: { times: 3, nodes: 2, back: 3 },
  });
  expect(told.holders.page.map(({ node, users, pinned }) => [node, users, pinned])).toEqual([
    ['prod/web-1', 1, false],
    ['prod/web-2', 0, true],
  ]);
  expect(told.went.last.map(({ node, isBack }) => [node, isBack])).toEqual([
    ['prod/web-2', true],
    ['prod/web-1', true],
    ['prod/web-1', true],
  ]);
  const page = DashboardObject.parse(
    await dashboard.json(`/api/object?kind=image&id=${image_}&limit=1&after=prod/web-1`),
  );
  expect(page.holders.page.map(({ node }) => node)).toEqual(['prod/web-2']);
  const returned = DashboardReturned.parse(await dashboard.json('/api/images/returned'));
  const from = new Date(nowMs - 7 * 24 * HOUR).toISOString();
  const { pulledAgain, removed: sums } = AuditReport.parse(
    JSON.parse(await verb('audit', 'report', '--from', from, '-o', 'json')),
  );
  expect(returned).toMatchObject({ removals: sums.objects, returns: pulledAgain.length });
  expect(returned.images).toMatchObject([
    { id: ID, name: 'registry.example/shop/web:1', removals: 3, returns: 3 },
  ]);
});

test('repositories are those that the nodes list now', async () => {
  const { dashboard } = await recorded();
  const images = DashboardImages.parse(await dashboard.json('/api/images'));
  expect(images).toMatchObject({
    nodes: 2,
    nodesWithoutLayers: 2,
    sums: { bytes: '2300', unusedBytes: '1300', neverUsedBytes: '300', images: 2, repositories: 2 },
  });
  expect(images.repositories.map(({ repository, nodes, bytes }) => [repository, nodes, bytes])).toEqual([
    ['registry.example/shop/web', 2, '2000'],
    ['registry.example/job', 1, '300'],
  ]);
  const never = DashboardImages.parse(await dashboard.json('/api/images?sort=never&q=JOB'));
  expect(never).toMatchObject({ matching: 1, repositories: [{ repository: 'registry.example/job' }] });
  expect(await dashboard.json('/api/images?by=cluster&of=prod')).toMatchObject({ nodes: 1 });
  expect(await dashboard.json('/api/images?by=cluster&of=none')).toMatchObject({
    nodes: 0,
    repositories: [],
  });
  expect(await dashboard.json('/api/images/repository?name=registry.example/job')).toMatchObject({
    images: [{ id: OTHER, nodes: 1, usedOn: 0, neverUsedOn: 1 }],
  });
  expect((await dashboard.get('/api/images/repository?name=nobody')).status).toBe(404);
  expect(await dashboard.json('/api/images/holders?by=namespace')).toMatchObject({
    holders: [
      { name: '(nobody)', bytes: '1300' },
      { name: 'default', bytes: '1000' },
    ],
  });
});

test('what is on a node, and why it stays, is what a forced plan of its newest inventory says', async () => {
  const { dashboard, newest } = await recorded();
  const listed = DashboardListed.parse(await dashboard.json('/api/node/listed?cluster=prod&node=web-1'));
  expect(listed.things.map(({ kind, name }) => [kind, name])).toEqual([
    ['image', 'registry.example/shop/web:1'],
    ['image', 'registry.example/job:1'],
    ['pod', 'default/web'],
    ['container', 'default/web/app#0'],
  ]);
  expect(listed.things[0]).toMatchObject({
    sizeBytes: 1_000,
    users: [{ kind: 'container', name: 'default/web/app#0' }],
    judged: { action: 'keep', rule: 'C8' },
  });
  expect(listed.policy).toBe('default');
  const directory = temporaryDirectory();
  const [file, policy] = [join(directory, 'inventory.json'), join(directory, 'policy.yaml')];
  writeFileSync(file, JSON.stringify(newest));
  writeFileSync(policy, 'name: default\nmode: enforce\n');
  const asks = ['plan', '--inventory', file, '--policy', policy, '--trigger', 'forced', '-o', 'json'];
  const { stdout } = await inProcess(asks);
  const { keep, remove } = Plan.parse(JSON.parse(stdout));
  const judged = (of: readonly PlannedObject[], action: string) =>
    of.map(({ kind, id, rule, because }) => ({ kind, id, judged: { action, rule, because } }));
  const planned = [...judged(keep, 'keep'), ...judged(remove, 'remove')];
  expect(planned).toHaveLength(3);
  for (const one of planned)
    expect(listed.things).toContainEqual(
      expect.objectContaining({ ...one, judged: expect.objectContaining(one.judged) }),
    );
  const only = `/api/node/listed?cluster=prod&node=web-1&kind=image&id=${image_}`;
  expect(await dashboard.json(only)).toMatchObject({ matching: 1, things: [{ id: ID }] });
  expect(
    await dashboard.json('/api/node/listed?cluster=prod&node=web-1&q=JOB&offset=0&limit=1'),
  ).toMatchObject({
    matching: 1,
    things: [{ id: OTHER }],
  });
  expect((await dashboard.get('/api/node/listed?cluster=prod&node=nobody')).status).toBe(404);
});
