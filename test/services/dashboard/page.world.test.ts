import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { readTokens } from '../../../services/dashboard/access/sessions.ts';
import { fleetgc, ownLog } from '../../cli/fleetgc.ts';
import { readTopic } from '../../cli/read-topic.ts';
import { bury, deadLetter, lose, putBack } from '../../cli/verbs/dead-letters/letters.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { objectResult } from '../../fixtures/results.ts';
import { instant } from '../../fixtures/time.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { actingOn } from './support/acting.ts';
import {
  buildServedPage,
  builtPage,
  type Looked,
  openBrowser,
  openPage,
  suiteDirectory,
  violations,
} from './support/browser.ts';
import { livedCluster, published } from './support/cluster-log.ts';
import { caughtUp, dashboardOf, startDashboard } from './support/dashboard.ts';
import { openLog, type PlayedCluster, playCluster } from './support/played-cluster.ts';

const POLICY = `
name: default
mode: enforce
imageGCHighThresholdPercent: 85
imageGCLowThresholdPercent: 80
evictionHard: {}
`;

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const takenAt = () => instant({ wallTimeMs: Date.now() });

const directory = suiteDirectory();
let browser: Browser;
let pageDirectory: string;

beforeAll(async () => {
  pageDirectory = await builtPage(directory);
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe('over the log of a simulated fleet', () => {
  const processes: ChildProcess[] = [];
  const log = join(directory, 'fleet.db');
  let url = '';

  /** As a user starts it; resolves once it has written this. */
  async function start(args: readonly string[], says: RegExp): Promise<string> {
    const child = spawn(
      PROGRAM,
      [...args, '--log', 'embedded', '--log-path', log, '--http-address', '127.0.0.1:0'],
      {
        env: PROGRAM_ENVIRONMENT,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    processes.push(child);
    const said = { text: '' };
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.text += text;
    });
    return await waitUntil(`${args[0]} to say ${says}`, 60_000, () => says.exec(said.text)?.[1] ?? null);
  }

  beforeAll(async () => {
    const policy = join(directory, 'policy.yaml');
    writeFileSync(policy, POLICY);
    await fleetgc(['topics', 'create', '--log', 'embedded', '--log-path', log]);
    await buildServedPage();
    await start(['decide'], /(policies in force)/);
    await start(
      [
        'simulate-fleet',
        '--nodes',
        '20',
        '--rate',
        '10x',
        '--duration',
        '4h',
        '--policy',
        policy,
        '--vanished-percent',
        '0',
      ],
      /([1-9]\d*) removed/,
    );
    const projection = join(directory, 'projection.db');
    const port = await start(['dashboard', '--projection', projection], /"port":(\d+)/);
    url = `http://127.0.0.1:${port}`;
    await waitUntil('it to be ready', 30_000, async () =>
      (await (await fetch(`${url}/api/progress`)).text()).includes('"isCaughtUp":true'),
    );
    // What needs somebody is asked for once the nodes are there.
    await waitUntil(
      'its status',
      60_000,
      async () => !(await (await fetch(`${url}/api/status`)).text()).includes('"status":null'),
    );
  });
  afterAll(async () => {
    for (const child of processes) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  });

  const text = (shown: string) => (page: Page) => page.getByText(shown).filter({ visible: true }).first();
  const VIEWS = [
    { view: 'Fleet', path: '/fleet', shows: text('Freed today') },
    {
      view: 'Fleet by policy',
      path: '/fleet?group=policy',
      shows: (page: Page) => page.getByRole('img', { name: /Disk use of 20 nodes/ }),
    },
    { view: 'Node', path: '/node/simulated/node-00003', shows: text('imageGCHighThresholdPercent') },
    { view: 'Live', path: '/live', shows: text('removed') },
    { view: 'Live, filtered', path: '/live?what=commanded', shows: text('a command was sent') },
    {
      view: 'Policies',
      path: '/policies',
      shows: (page: Page) => page.getByRole('link', { name: 'default' }),
    },
    {
      view: 'Policy',
      path: '/policies/default',
      shows: (page: Page) => page.getByText('Valid: default.'),
    },
    {
      view: 'Images',
      path: '/images?sort=unused',
      shows: (page: Page) => page.getByRole('rowheader').first(),
    },
    {
      view: 'Images by namespace',
      path: '/images?holders=namespace',
      shows: text('pods of a namespace use'),
    },
    { view: 'Report', path: '/report', shows: text('Removed, by reason') },
    { view: 'Search', path: '/search?q=node-0000', shows: text('10 found') },
    { view: 'Dead letters', path: '/dead-letters', shows: text('There are no such dead letters.') },
    { view: 'History', path: '/history', shows: text('policy applied') },
  ];

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each(VIEWS)('$view is whole, and everybody can use it', async ({ path, shows }) => {
      const { page, complaints } = await openPage(browser, { colorScheme });
      await page.goto(`${url}${path}`);
      await shows(page).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  test.each(['light', 'dark'] as const)(
    'with the keyboard from the images of all nodes to the life of one of them, in %s',
    async (colorScheme) => {
      const { page, complaints } = await openPage(browser, { colorScheme });
      const follow = async (section: RegExp): Promise<void> => {
        const link = page
          .getByRole('region', { name: section })
          .getByRole('rowheader')
          .getByRole('link')
          .first();
        await link.focus();
        await page.keyboard.press('Enter');
      };
      await page.goto(`${url}/images?q=r`);
      await follow(/^Repositories/);
      await follow(/^Images of/);
      await follow(/^Where it is now/);
      expect(new URL(page.url()).pathname).toMatch(/^\/object\/image\//);
      await page
        .getByRole('region', { name: /^On/ })
        .getByText(/^(Stays|May go):/)
        .waitFor();
      await page.getByText(/^There at the last look/).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  test('the report is printed without what is not of it, and is there as a file', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/report`);
    const heading = page.getByRole('heading', { name: 'Removed, by reason' });
    await heading.waitFor();
    const markdown = page.getByRole('link', { name: 'Markdown' });
    const [download] = await Promise.all([page.waitForEvent('download'), markdown.click()]);
    expect(download.suggestedFilename()).toMatch(/^fleetgc-report-[\d-]+\.md$/);
    await page.emulateMedia({ media: 'print' });
    expect(await heading.isVisible()).toBe(true);
    expect(await markdown.isVisible()).toBe(false);
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
  });

  test('what is new comes in by itself, and can be held still', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/live`);
    const first = page.locator('tbody tr').first();
    const before = await first.textContent();
    await waitUntil('another first line', 60_000, async () => (await first.textContent()) !== before);
    await page.getByRole('button', { name: 'Hold still' }).click();
    const held = await first.textContent();
    await page.getByRole('button', { name: /Go on \([1-9]\d* new\)/ }).waitFor({ timeout: 600_000 });
    expect(await first.textContent()).toBe(held);
    await page.getByRole('button', { name: /Go on/ }).click();
    await waitUntil('what was held back', 10_000, async () => (await first.textContent()) !== held);
  });

  test('with the keyboard alone from the fleet to a node and back', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/fleet`);
    const link = page.locator('tbody a').first();
    await link.waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('To the content');
    const name = await link.textContent();
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `simulated/${name}` }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/node/simulated/${name}`);
    await page.goBack();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
  });

  test('a copy of a policy is corrected, simulated and taken along, with the keyboard alone', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${url}/policies/default`);
    const copy = page.getByLabel('Text of the policy default');
    await copy.fill(POLICY.replace('85', '850').trim());
    await page.getByText('Not valid').waitFor();
    expect(await page.getByRole('button', { name: 'Simulate' }).isDisabled()).toBe(true);
    await page
      .getByRole('button', { name: /^Line \d+$/ })
      .first()
      .press('Enter');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    await copy.fill(POLICY.replace('85', '70').replace('80', '60').trim());
    await page.getByText('Valid: default.').waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download default.yaml' }).press('Enter');
    expect((await saved).suggestedFilename()).toBe('default.yaml');
    await page.getByRole('button', { name: 'Simulate' }).press('Enter');
    await page.getByRole('table', { name: 'In total, and by pool' }).waitFor({ timeout: 600_000 });
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('a view that breaks says so in its place, and the others are there', async () => {
    const { page, complaints } = await openPage(browser);
    await page.route('**/api/images?*', (asked) => asked.fulfill({ json: {} }));
    await page.goto(`${url}/images`);
    const broken = page.getByRole('heading', { name: 'This view cannot be shown' });
    await broken.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'History' }).click();
    await text('policy applied')(page).waitFor();
    await page.getByRole('link', { name: 'Images', exact: true }).click();
    await broken.waitFor();
    await page.unroute('**/api/images?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('rowheader').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('a stream that breaks is told, and comes back', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/live`);
    await page.locator('tbody tr').first().waitFor();
    await page.context().setOffline(true);
    await page.route('**/api/events', (route) => route.abort());
    await page.reload().catch(() => undefined);
    await page.context().setOffline(false);
    await page.goto(`${url}/live`);
    await page.getByText('What is new does not come in any more').waitFor();
    await page.unroute('**/api/events');
    await page
      .getByText('What is new does not come in any more')
      .waitFor({ state: 'detached', timeout: 600_000 });
  });
});

test('an operator pauses with the keyboard, decision services stop, and audit says who it was', async () => {
  const { log, path, run } = await ownLog();
  const policy = join(directory, 'own-policy.yaml');
  writeFileSync(policy, POLICY);
  await run('policy', 'apply', policy);
  const own = ['--log', 'embedded', '--log-path', path];
  const decide = spawn(PROGRAM, ['decide', ...own, '--http-address', '127.0.0.1:0'], {
    env: PROGRAM_ENVIRONMENT,
    stdio: 'ignore',
  });
  onTestFinished(async () => {
    decide.kill('SIGKILL');
    await once(decide, 'close');
  });
  /** What each decision service says of one more inventory. */
  const decided = async (id: string): Promise<readonly string[]> => {
    await log.publish([outgoing(nodeOutput('inventory', inventory({ id, takenAt: takenAt() })))]);
    return await waitUntil('both decisions', 60_000, async () => {
      const decisions = (await readTopic(log, 'gc.node.decisions')).map(({ value }) => String(value));
      const outcomes = decisions
        .filter((text) => text.includes(`"${id}"`))
        .map((text) => /"outcome":"([a-z-]+)"/.exec(text)?.[1] ?? '');
      return outcomes.length === 2 && outcomes;
    });
  };
  expect(await decided('before')).not.toContain('paused');

  const [operator, viewer] = ['o'.repeat(40), 'v'.repeat(40)];
  const tokens = readTokens('tokens', `operator ann ${operator}\nviewer bob ${viewer}`);
  const dashboard = await dashboardOf(log, { pageDirectory, access: { tokens }, acting: actingOn(log) });
  const lookAs = async (token: string): Promise<Looked> => {
    const looked = await openPage(browser, { extraHTTPHeaders: { authorization: `Bearer ${token}` } });
    await looked.page.goto(`${dashboard.url}/fleet`);
    await looked.page.getByText('Nothing is paused.').waitFor();
    return looked;
  };
  const theirs = await lookAs(viewer);
  const refused = theirs.page.getByRole('button', { name: 'Pause …: Pause the fleet, clusters or nodes' });
  expect(await refused.getAttribute('aria-disabled')).toBe('true');
  await theirs.page.getByText('You cannot use these buttons: only operators may act').waitFor();
  await refused.click({ force: true });
  expect(await theirs.page.getByRole('dialog').count()).toBe(0);
  expect(await violations(theirs.page)).toEqual([]);

  const { page, complaints } = await lookAs(operator);
  await page.getByRole('button', { name: 'Pause …: Pause the fleet, clusters or nodes' }).focus();
  await page.keyboard.press('Enter');
  await page
    .getByText('This pauses the whole fleet: all nodes, and the Kubernetes objects of all clusters.')
    .waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.getByLabel('Reason, for the audit trail').fill('the registry is down');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('paused: all nodes').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'ann (dashboard, token)' }).waitFor();

  expect(await decided('after')).toEqual(['paused', 'paused']);
  const { stdout } = await run('audit', 'report', '-o', 'json', '--from', '1h');
  expect(AuditReport.parse(JSON.parse(stdout)).pauses).toMatchObject([
    { by: 'ann (dashboard, token)', reason: 'the registry is down', ended: null },
  ]);

  await page.getByRole('button', { name: 'Resume: Resume all nodes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Nothing is paused.').waitFor();
  await page.goto(`${dashboard.url}/history`);
  await page.getByRole('cell', { name: 'resumed' }).waitFor();
  expect(await page.getByRole('cell', { name: 'ann (dashboard, token)' }).count()).toBe(2);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('what a dead letter holds stays text, and it goes back from the page', async () => {
  const { log } = await ownLog();
  await bury(
    log,
    ...(await lose(log, [HOSTILE])),
    deadLetter({ id: 'order', topic: 'gc.node.commands', message: HOSTILE }),
  );
  const token = 't'.repeat(40);
  const tokens = readTokens('tokens', `operator ann ${token}`);
  const dashboard = await dashboardOf(log, { pageDirectory, access: { tokens }, acting: actingOn(log) });
  const { page, complaints } = await openPage(browser, {
    extraHTTPHeaders: { authorization: `Bearer ${token}` },
  });
  await page.goto(`${dashboard.url}/dead-letters`);
  await page.getByText('2 dead letters').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${dashboard.url}/dead-letters?id=order`);
  await page.getByText('messages of gc.node.commands are not put back').waitFor();
  await page.goto(`${dashboard.url}/dead-letters?id=dead-letter-0`);
  await page.locator('pre').getByText(HOSTILE).waitFor();
  expect(await page.locator('main script, main img').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Put back: Put back dead-letter-0' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Put back' }).click();
  await page.getByText('1 message put back').waitFor();
  expect(await putBack(log, 1)).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test('names that others chose stay text', async () => {
  const { log } = await ownLog();
  await log.publish([
    outgoing(
      nodeOutput(
        'diskStats',
        diskStats({}, { takenAt: takenAt(), nodeLabels: { [`x${HOSTILE}`]: HOSTILE } }),
      ),
    ),
    outgoing(
      nodeOutput(
        'inventory',
        inventory({ takenAt: takenAt(), images: [image('image-1', { repoTags: [HOSTILE] })] }),
      ),
    ),
    outgoing(nodeOutput('results', objectResult())),
  ]);
  const dashboard = await dashboardOf(log, { pageDirectory });
  await caughtUp(dashboard);
  const { page, complaints } = await openPage(browser);
  const now = new Date().toISOString();
  for (const path of [
    '/fleet',
    '/live',
    '/search?q=script',
    '/node/prod/web-1',
    '/images',
    `/images?repository=${encodeURIComponent(HOSTILE)}&by=pool&of=${encodeURIComponent(HOSTILE)}`,
    '/object/image/image-1?node=prod/web-1',
    `/object/image/${encodeURIComponent(HOSTILE)}?node=${encodeURIComponent(HOSTILE)}`,
    `/report?from=${now.slice(0, 11)}00:00:00.000Z`,
  ]) {
    await page.goto(`${dashboard.url}${path}`);
    await page.locator('table, [role=alert]').first().waitFor();
    expect(await page.locator('main script, main img[src]').count(), path).toBe(0);
  }
  await page.goto(`${dashboard.url}/search?q=script`);
  await page.getByText(HOSTILE).waitFor();
  // Chromium itself tells of answers that say that something is not there.
  expect(complaints.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
});

test('somebody signs in, and out again', async () => {
  const token = 't'.repeat(40);
  const { log } = await ownLog();
  const tokens = readTokens('tokens', `operator ann ${token}`);
  const dashboard = await dashboardOf(log, { pageDirectory, access: { tokens } });
  const { page } = await openPage(browser);
  await page.goto(`${dashboard.url}/fleet`);
  await page.getByLabel('Your token').fill('x'.repeat(40));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Nobody has this token.').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Your token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('ann (operator)').waitFor();
  expect(await page.evaluate('document.cookie')).toBe('');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Your token').waitFor();
});

test('ten thousand nodes are there at once, each can be reached, and what is new is shown', async () => {
  const { log } = await ownLog();
  const nodes = Array.from({ length: 10_000 }, (_, index) => `node-${String(index).padStart(5, '0')}`);
  const statsOf = (node: string, availableBytes: string) =>
    outgoing(
      nodeOutput(
        'diskStats',
        diskStats({ availableBytes }, { id: `stats-${node}-${availableBytes}`, node, takenAt: takenAt() }),
      ),
    );
  for (let from = 0; from < nodes.length; from += 500)
    await log.publish(
      nodes
        .slice(from, from + 500)
        .map((node, index) => statsOf(node, String(100 + ((from + index) % 90) * 10))),
    );
  const dashboard = await dashboardOf(log, { pageDirectory });
  await caughtUp(dashboard);
  const { page, complaints } = await openPage(browser);
  await page.goto(`${dashboard.url}/fleet`);
  const map = page.getByRole('img', { name: /Disk use of 10,000 nodes/ });
  await map.waitFor();
  await page.getByText('10,000 nodes, page 1 of 200').waitFor();
  await page.getByLabel('Name has').fill('node-09999');
  await page.getByText('1 nodes, page 1 of 1').waitFor();
  await log.publish([statsOf('node-09999', '20')]);
  await page.getByRole('cell', { name: '98 %' }).waitFor({ timeout: 600_000 });
  await map.click({ position: { x: 5, y: 27 } });
  await page.getByRole('heading', { name: 'prod/node-00000' }).waitFor();
  await page.getByText('This node has not reported yet what is on it.').waitFor();
  expect(complaints).toEqual([]);
});

describe('over the logs of clusters', () => {
  const suite = new AsyncDisposableStack();
  afterAll(() => suite.disposeAsync());
  let played: PlayedCluster;
  let ran = '';
  let told = '';

  async function served(log: EventLog, logPath: string): Promise<string> {
    const path = join(directory, `projection-${basename(logPath)}`);
    const from = { kind: 'embedded', log, name: logPath, path: logPath } as const;
    const dashboard = await startDashboard(log, { pageDirectory, path, from });
    suite.defer(dashboard.stop);
    return dashboard.url;
  }

  beforeAll(async () => {
    played = suite.use(await playCluster(directory));
    ran = await served(played.log, played.logPath);
    const logPath = join(directory, 'told.db');
    const log = suite.use(await openLog(logPath));
    await log.createTopics();
    for (const record of published(livedCluster(HOSTILE))) await log.publish([record]);
    told = await served(log, logPath);
    await waitUntil('the census of the cluster', 60_000, async () =>
      (await (await fetch(`${ran}/api/cluster?cluster=demo`)).text()).includes('"kinds":[{'),
    );
  });

  test.each(['light', 'dark'] as const)(
    'each view is whole in %s, whatever the names are',
    async (colorScheme) => {
      const { heldUid, goneUid } = played;
      const { page, complaints } = await openPage(browser, { colorScheme });
      for (const { path, shown } of [
        { path: `${ran}/clusters`, shown: 'What needs somebody' },
        { path: `${ran}/clusters/demo`, shown: 'fleetgc approve demo' },
        { path: `${told}/clusters/c1`, shown: 'The controller of shop.example has to take it away' },
        { path: `${ran}/clusters/demo/object?uid=${heldUid}`, shown: 'shop/acme-01' },
        { path: `${ran}/clusters/demo/object?uid=${goneUid}`, shown: 'deleted by FleetGC' },
        { path: `${told}/clusters/c1/object?uid=tenant`, shown: HOSTILE },
        { path: `${told}/clusters/c1/object?uid=nobody`, shown: 'names no owner and no dependent' },
      ]) {
        await page.goto(path);
        await page.locator('main').getByText(shown).filter({ visible: true }).first().waitFor();
        expect(await violations(page), path).toEqual([]);
        expect(await page.locator('main script, main img[src]').count(), path).toBe(0);
      }
      // What is not there is answered so.
      expect(complaints.filter((each) => !each.includes('404'))).toEqual([]);
    },
  );

  test('an owner graph is walked through with the keyboard, to another object and back', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${told}/clusters/c1/object?uid=rs`);
    await page.getByText('The same as a list').waitFor();
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.locator('figure a.start').focus();
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toContain('web-1-a');
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toContain('web-1-b');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Pod ns/web-1-b' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'ReplicaSet ns/web-1' }).waitFor();
  });
});
