import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { auditLogOptions, threadSource } from '../../../cli/options/archive-options.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { AuditSimulation } from '../../../schemas/reports/audit-simulation.ts';
import {
  DashboardPolicies,
  DashboardPolicy,
  DashboardPolicyCheck,
  DashboardSimulation,
} from '../../../schemas/reports/dashboard-policies.ts';
import { readTokens } from '../../../services/dashboard/access/sessions.ts';
import { PersonBound } from '../../../services/dashboard/bounds.ts';
import { inProcess, ownLog } from '../../cli/fleetgc.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';

const IN_FORCE =
  'name: default\nmode: enforce\nevictionHard: {}\nimageMinimumGCAge: 1m\nimageGCHighThresholdPercent: 90\n';
const COPY = IN_FORCE.replace('90', '70\nimageGCLowThresholdPercent: 65');
const ELSEWHERE = 'name: elsewhere\nmode: dry-run\nselector:\n  clusters: [nowhere]\n';

const post = (
  { url }: Pick<Dashboard, 'url'>,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    body,
    headers: { origin: url, 'content-type': 'text/plain', ...headers },
  });

/** A node at 75 % of a disk of 1000 bytes, of which 100 are an image that is used at the second look: then another goes. */
async function recordedPast() {
  const { log, path, publishAt, hearAt } = await timedLog();
  const nowMs = Date.now();
  for (const minute of [0, 5]) {
    const atMs = nowMs - HOUR + minute * MINUTE;
    const takenAt = instant({ wallTimeMs: atMs, sinceBootMs: 24 * HOUR + minute * MINUTE });
    const event = inventory({
      id: `i${minute}`,
      takenAt,
      images: [
        image('a', {
          sizeBytes: 100,
          usedBy: minute === 0 ? [] : [{ kind: 'container', id: 'c1' }],
          firstDetectedMs: nowMs - 9 * HOUR,
          lastUsedMs: nowMs - 9 * HOUR,
        }),
        image('b', { sizeBytes: 100, firstDetectedMs: nowMs - 9 * HOUR, lastUsedMs: nowMs - 3 * HOUR }),
      ],
      filesystems: filesystems({ availableBytes: '250' }),
    });
    await publishAt(atMs, outgoing(nodeOutput('inventory', event)));
  }
  await hearAt(
    nowMs,
    outgoing(nodeOutput('diskStats', diskStats({}, { takenAt: instant({ wallTimeMs: nowMs }) }))),
  );
  const file = (name: string, text: string): string => {
    const written = join(dirname(path), name);
    writeFileSync(written, text);
    return written;
  };
  const own = ['--log', 'embedded', '--log-path', path];
  const inForce = file('in-force.yaml', `${IN_FORCE}---\n${ELSEWHERE}`);
  await inProcess(['policy', 'apply', inForce, '--trust', 'off', ...own]);
  const source = threadSource(z.object(auditLogOptions).parse({ log: 'embedded', logPath: path }));
  return { log, own, inForce, copy: file('copy.yaml', `${COPY}---\n${ELSEWHERE}`), source };
}

test('what a copy would have done is what fleetgc audit simulate says, beside the policies in force', async () => {
  const { log, own, inForce, copy, source } = await recordedPast();
  const dashboard = await dashboardOf(log, { simulationSource: source });
  await caughtUp(dashboard);
  const asked = await post(dashboard, '/api/policies/simulate?days=1', COPY);
  expect(asked.status).toBe(202);
  const { id } = z.object({ id: z.string() }).parse(await asked.json());
  const { outcome, by, policies } = await waitUntil('the simulation to end', 60_000, async () => {
    const told = DashboardSimulation.parse(await dashboard.json(`/api/simulation?id=${id}`));
    expect(told.problem).toBeNull();
    return told.state === 'done' && told;
  });
  expect({ by, policies }).toEqual({ by: 'local', policies: ['default'] });
  const { fromMs, toMs } = outcome?.simulation.range ?? {};
  const { stdout } = await inProcess([
    ...['audit', 'simulate', '--policy', copy, '--against', inForce, '-o', 'json', ...own],
    ...['--from', new Date(Number(fromMs)).toISOString(), '--to', new Date(Number(toMs)).toISOString()],
  ]);
  const verb = AuditSimulation.parse(JSON.parse(stdout));
  expect(outcome).toEqual({
    simulation: verb,
    nodeCount: 1,
    poolCount: verb.pools.length,
    regretCount: verb.regrets.length,
  });
  // It is no comparison of nothing with nothing.
  expect(verb.total.policy.removed.images).toBeGreaterThan(verb.total.against.removed.images);
  expect(verb.regrets).toHaveLength(1);
});

test('policies are counted as by fleetgc status, and one that holds for no node says 0', async () => {
  const { log, own } = await recordedPast();
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  const { policies } = await waitUntil('both policies', 20_000, async () => {
    const told = DashboardPolicies.parse(await dashboard.json('/api/policies'));
    return told.policies.length === 2 && told;
  });
  const { stdout } = await inProcess(['status', '-o', 'json', ...own]);
  const counted = policies.map(({ name, policyVersion, mode, nodes }) => ({
    name,
    policyVersion,
    mode,
    nodes,
  }));
  expect(counted).toEqual(JSON.parse(stdout).policies);
  expect(counted).toMatchObject([
    { name: 'default', nodes: 1 },
    { name: 'elsewhere', nodes: 0 },
  ]);
  const told = DashboardPolicy.parse(await dashboard.json('/api/policy?name=default'));
  expect(told).toMatchObject({ someNodes: ['prod/web-1'], policyVersion: 1 });
  expect(told.source.trim()).toBe(IN_FORCE.trim());
});

test('a text is checked as by fleetgc policy validate, with line and column', async () => {
  const { log, path } = await ownLog();
  const dashboard = await dashboardOf(log);
  const texts = [
    COPY,
    'name: x\nmode: maybe\nimageGCHighThresholdPercent: 101\n',
    'name: [',
    `kind: ClusterPolicy\n${ELSEWHERE}`,
  ];
  for (const [index, text] of texts.entries()) {
    const file = join(dirname(path), `${index}.yaml`);
    writeFileSync(file, text);
    const { stdout } = await inProcess(['policy', 'validate', file, '-o', 'json']);
    const verb = JSON.parse(stdout);
    const told = DashboardPolicyCheck.parse(
      await (await post(dashboard, '/api/policies/check', text)).json(),
    );
    const places = (found: readonly object[] = []) => found.map((each) => ({ ...each, file: '' }));
    expect({ ...told, policies: [] }).toEqual({
      valid: verb.valid,
      policies: [],
      problems: places(verb.problems).map((each) => ({ ...each, file: 'policy.yaml' })),
      warnings: places(verb.warnings).map((each) => ({ ...each, file: 'policy.yaml' })),
      isMore: false,
    });
  }
});

const UNKNOWN_SETTINGS = Array.from({ length: 2_000 }, (_, each) => `k${each}: 1\n`).join('');

test.each([
  { what: 'documents', text: '---\na: 1\n'.repeat(3_000) },
  { what: 'names', text: '---\nname: a\n'.repeat(2_000) },
  { what: 'unknown settings', text: `name: x\n${UNKNOWN_SETTINGS}` },
  { what: 'lost keys', text: `name: x\n${'__proto__: 1\n'.repeat(2_000)}` },
])('of too many problems with $what some are told, and that there are more', async ({ text }) => {
  const { log } = await ownLog();
  const answer = await post(await dashboardOf(log), '/api/policies/check', text);
  const told = DashboardPolicyCheck.parse(await answer.json());
  expect({ ...told, problems: told.problems.length }).toEqual({
    valid: false,
    policies: [],
    problems: 50,
    warnings: [],
    isMore: true,
  });
});

test('whoever asks too much about policies is told when to come again, and others are answered', async () => {
  const { log } = await ownLog();
  const [ann, bob] = ['a'.repeat(40), 'b'.repeat(40)];
  const tokens = readTokens('tokens', `viewer ann ${ann}\nviewer bob ${bob}`);
  const dashboard = await dashboardOf(log, { access: { tokens }, now: () => 1_000_000 });
  const check = (token: string) =>
    post(dashboard, '/api/policies/check', COPY, { authorization: `Bearer ${token}` });
  for (let asked = 0; asked < 120; asked += 1) expect((await check(ann)).status).toBe(200);
  const refused = await check(ann);
  expect({ status: refused.status, again: refused.headers.get('retry-after') }).toEqual({
    status: 429,
    again: '60',
  });
  expect((await check(bob)).status).toBe(200);
});

test('a person asks two things about policies at once, however slowly they send them', () => {
  const bound = new PersonBound({ atOnce: 2, inAMinute: 1_000 });
  const [first, second, third] = [1, 2, 3].map(() => bound.begin('ann', 0));
  expect([first, second, third].map((each) => each?.waitMs)).toEqual([0, 0, 1_000]);
  expect(bound.begin('bob', 0).waitMs).toBe(0);
  third?.[Symbol.dispose]();
  expect(bound.begin('ann', 0).waitMs).toBe(1_000);
  first?.[Symbol.dispose]();
  expect(bound.begin('ann', 0).waitMs).toBe(0);
  expect(bound.begin('ann', 0).waitMs).toBe(1_000);
});

test('viewers may check, and operators alone simulate; nobody asks from another page, or for more than is read', async () => {
  const { log } = await ownLog();
  const [viewer, operator] = ['v'.repeat(40), 'o'.repeat(40)];
  const tokens = readTokens('tokens', `viewer vera ${viewer}\noperator ann ${operator}`);
  const dashboard = await dashboardOf(log, { access: { tokens } });
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const status = async (path: string, body: string, headers: Readonly<Record<string, string>>) =>
    (await post(dashboard, path, body, headers)).status;
  expect(await status('/api/policies/check', COPY, {})).toBe(401);
  expect(await status('/api/policies/check', COPY, as(viewer))).toBe(200);
  expect(await status('/api/policies/simulate?days=1', COPY, as(viewer))).toBe(403);
  expect(await status('/api/policies/cancel?id=x', '', as(viewer))).toBe(403);
  expect(await status('/api/policies/cancel?id=x', '', as(operator))).toBe(404);
  expect(await status('/api/policies/simulate?days=1', COPY, as(operator))).toBe(503);
  expect(await status('/api/policies/simulate?days=15', COPY, as(operator))).toBe(400);
  expect(await status('/api/policies/check', COPY, { ...as(operator), origin: 'http://evil.example' })).toBe(
    403,
  );
  expect(await status('/api/policies/check', '#'.repeat(65 * 1024), as(operator))).toBe(413);
  expect(await status('/api/policies/apply', COPY, as(operator))).toBe(404);
  expect(await status('/api/policies/constructor', COPY, as(operator))).toBe(404);
});
