import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import { pauseKey } from '../../../../schemas/policy/policy.ts';
import { AuditReport } from '../../../../schemas/reports/audit-report.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { deletionOutput, EVERY_NODE } from '../../../fixtures/policy.ts';
import { objectResult, pressureUnrelieved, removed } from '../../../fixtures/results.ts';
import { HOUR, instant } from '../../../fixtures/time.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { inProcess } from '../../fleetgc.ts';

/** Long past what any topic keeps: who asks deletes nothing. */
const T = Date.UTC(2026, 0, 1);
const RANGE = ['--from', timeText(T), '--to', timeText(T + HOUR)];

/** Logs of a pod went too, and freed a third of what the image did. */
const logs = objectResult({
  id: 'object-result-2',
  object: { kind: 'pod-log-directory', id: 'default_web_pod-1' },
  rule: 'I3',
  result: removed(500_000),
});

const PAUSE = { type: 'fleetgc.pause', version: 1, id: 'p1', selector: EVERY_NODE, reason: '' } as const;

/** An image with a name made to mislead goes and comes back, and the reclaim ends above its target. */
async function recordedLog() {
  const { log, path, publishAt } = await timedLog();
  const images = [image('image-1', { repoTags: ['evil|`\u001b[2J<script>'], sizeBytes: 2_000_000 })];
  await publishAt(T, outgoing(nodeOutput('inventory', inventory({ images }))));
  await publishAt(
    T + 1_000,
    outgoing(nodeOutput('results', objectResult({ result: removed(1_500_000) }))),
    outgoing(nodeOutput('results', logs)),
    outgoing(
      nodeOutput(
        'results',
        objectResult({
          id: 'object-result-3',
          object: { kind: 'image', id: 'image-3' },
          rule: '<b>|*x*',
          result: removed(0),
        }),
      ),
    ),
    outgoing(nodeOutput('results', pressureUnrelieved())),
  );
  const pause = { ...PAUSE, reason: 'a|b' };
  await publishAt(T + 2_000, outgoing({ topic: 'policies', key: pauseKey(pause.selector), event: pause }));
  await publishAt(T + 3_000, outgoing(deletionOutput('old')));
  const takenAt = instant({ sinceBootMs: 25 * HOUR });
  await publishAt(T + 61_000, outgoing(nodeOutput('inventory', inventory({ id: 'i2', takenAt, images }))));
  await log[Symbol.asyncDispose]();
  return (...args: readonly string[]) =>
    inProcess(['audit', 'report', ...args, '--log', 'embedded', '--log-path', path]);
}

test('markdown says what people ask, and what looks like markup stays text', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run(...RANGE);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain('3 objects removed, 2.0 MB freed as the nodes measured it.');
  expect(stdout).toContain('| image | unused, and least recently used | D11 | 1 | 1.5 MB |');
  expect(stdout).toContain('| image | rule \\<b\\>\\|\\*x\\* | \\<b\\>\\|\\*x\\* | 1 | 0 B |');
  expect(stdout).toContain(
    `| \`prod/web-1\` | 1 | ${timeText(T + 1_000)} | imageGC | 2 images in use 700 B |`,
  );
  expect(stdout).toContain(
    `| \`evil\\|'\\u{1b}[2J<script>\` | \`prod/web-1\` | 2.0 MB | unused, and least recently used | ${timeText(T + 1_000)} | 1m |`,
  );
  expect(stdout).toContain(`| ${timeText(T + 3_000)} | deleted | \`old\` |  |  |  |`);
  expect(stdout).toContain(
    `| ${timeText(T + 2_000)} | still holds | \`all nodes\` | none given | \`a\\|b\` |`,
  );
});

test('html is one file with plots, without scripts, and what looks like markup stays text', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run(...RANGE, '-o', 'html');

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain("default-src 'none'");
  expect(stdout).toContain('<code>evil|`\\u{1b}[2J&lt;script&gt;</code>');
  expect(stdout).not.toMatch(/<script|<link|<img|src=|href=/);
  expect(stdout).not.toContain('\u001b');
  const bars = [...stdout.matchAll(/<rect x="440" y="\d+" width="(\d+)"/g)].map(([, width]) => width);
  expect(bars).toEqual(['370', '123', '0']);
  const open = [...stdout.matchAll(/<(table|svg|tr|td|th|p|h2|code|body|html|head|style)\b/g)].length;
  const closed = [...stdout.matchAll(/<\/(table|svg|tr|td|th|p|h2|code|body|html|head|style)>/g)].length;
  expect(closed).toBe(open);
});

test('ndjson has a line for each entry, and one for the rest', async () => {
  const run = await recordedLog();
  const { stdout } = await run(...RANGE, '-o', 'ndjson');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const report = JSON.parse((await run(...RANGE, '-o', 'json')).stdout);

  expect(lines.filter(({ part }) => part === 'decisions')).toEqual(
    report.decisions.map((entry: object) => ({ part: 'decisions', ...entry })),
  );
  expect(lines.at(-1)).toMatchObject({ part: 'summary', removed: report.removed, read: report.read });
});

test('json is what its schema says', async () => {
  const run = await recordedLog();
  const { stdout } = await run(...RANGE, '-o', 'json');

  expect(AuditReport.parse(JSON.parse(stdout))).toMatchObject({
    removed: { objects: 3, freedBytes: '2000000' },
    pulledAgain: [{ imageId: 'image-1' }],
  });
});

describe('what a policy in dry-run would have removed', () => {
  async function tried() {
    const { log, path, publishAt } = await timedLog();
    const images = [image('image-1', { repoTags: ['registry.example/a|b:1'] })];
    await publishAt(T, outgoing(nodeOutput('inventory', inventory({ id: 'inventory-1', images }))));
    const removes = {
      kind: 'image',
      position: 0,
      action: 'remove',
      rule: 'D11',
      facts: { estimatedBytes: 1_500_000 },
    } as const;
    const verdicts = [removes];
    for (const id of ['d1', 'd2'])
      await publishAt(
        T + 1_000,
        outgoing(nodeOutput('decisions', decision({ id, outcome: 'dry-run', verdicts }))),
      );
    await log[Symbol.asyncDispose]();
    return (...args: readonly string[]) =>
      inProcess(['audit', 'report', ...RANGE, ...args, '--log', 'embedded', '--log-path', path]);
  }

  test('is a page of the report, and can be asked for alone', async () => {
    const run = await tried();
    const { stdout } = await run();
    const planned = 'while the policy said dry-run, at 2026-01-01T00:00:01Z';
    expect(stdout).toContain(`1 object would have gone ${planned}: see "Dry run: what would have gone".`);
    expect(stdout).toContain(
      'Nothing of it was removed then: the policies said dry-run, at 2026-01-01T00:00:01Z.',
    );
    expect(stdout).toContain(
      '## Dry run: what would have gone\n\n1 object, each counted once on its node; the images would have freed about 1.5 MB.',
    );
    expect(stdout).toContain('## Removed, by reason');
    const alone = (await run('--part', 'dry-run')).stdout;
    expect(alone).toContain('| `prod/web-1` | 1 | 0 | 1.5 MB |');
    expect(alone).toContain(
      '| `registry.example/a\\|b:1` | 1 | 1.5 MB | unused, and least recently used | D11 |',
    );
    expect(alone).not.toContain('Removed, by reason');
  });

  test('is in every form', async () => {
    const run = await tried();
    expect((await run('-o', 'html', '--part', 'dry-run')).stdout).toContain(
      '<h2>Dry run: what would have gone</h2>',
    );
    const { stdout } = await run('-o', 'json');
    expect(AuditReport.parse(JSON.parse(stdout))).toMatchObject({
      dryRun: { decisions: 2, unnamed: 0, objects: 1, estimatedBytes: '1500000' },
      wouldGo: [{ node: 'web-1', name: 'registry.example/a|b:1', decisions: 2 }],
    });
    const lines = (await run('-o', 'ndjson')).stdout.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('{"part":"wouldGo"'))).toHaveLength(1);
  });

  test('is nothing where there was none', async () => {
    const run = await recordedLog();
    expect((await run(...RANGE)).stdout).not.toContain('Dry run');
    expect((await run(...RANGE, '--part', 'dry-run')).stdout).toContain(
      'No policy in dry-run would have removed anything.',
    );
  });
});

test('a period ends where --to says', async () => {
  const run = await recordedLog();
  const at = async (...args: readonly string[]) =>
    AuditReport.parse(JSON.parse((await run(...args, '-o', 'json')).stdout)).range;

  expect(await at('--to', '2026-01-06', '--period', '2d')).toEqual({
    fromMs: Date.UTC(2026, 0, 4),
    toMs: Date.UTC(2026, 0, 6),
  });
  expect(await at('--to', '2026-01-06')).toMatchObject({ fromMs: Date.UTC(2025, 11, 30) });
});

test('a time without a record is no report of nothing', async () => {
  const run = await recordedLog();
  const { exitCode, stdout, stderr } = await run('--from', '2026-01-07', '--to', '2026-01-08');

  expect(exitCode).toBe(3);
  const kept = `there are inventories from ${timeText(T)} to ${timeText(T + 61_000)}`;
  expect(stdout).toContain(`No record of any node or cluster lies in that time; ${kept}.`);
  expect(stdout).not.toContain('removed');
  expect(stderr).toContain(
    `there is nothing to report: no record of any node or cluster lies in that time; ${kept}\n`,
  );
});

test('of a time that the log does not reach to nothing is known, of one between its records it is', async () => {
  const run = await recordedLog();
  const before = (await run('--to', '2020-01-01')).stdout;
  const between = (await run('--from', timeText(T + 4_000), '--to', timeText(T + 60_000))).stdout;

  expect(before.match(/^Not known: there is no record of that time\.$/gm)).toHaveLength(2);
  expect(between).toContain('No policy was applied or deleted.');
  expect(between).not.toContain('Not known');
});

test.each([
  { args: ['--period', '0s'], says: '--period must be a length of time such as 7d, 24h or 90m' },
  { args: ['--period', '7d', '--from', '2h'], says: 'give either --period or --from' },
])('$args is refused', async ({ args, says }) => {
  const run = await recordedLog();
  const { exitCode, stderr } = await run(...args);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});
