import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { answerLines } from '../../../cli/run/answer-lines.ts';
import { Plan, PlanLine } from '../../../schemas/reports/plan.ts';
import { container, image, incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { policySet } from '../../fixtures/policy.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { fleetgc, inProcess } from '../fleetgc.ts';

const node = inventory({ images: [image('a', { sizeBytes: 60 }), image('b', { sizeBytes: 60 })] });
const line = JSON.stringify(node);

function file(content: string, name = 'file'): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}
const asked = (...args: readonly string[]) => ['plan', '--inventory', file(line), ...args];
const linesOf = (text: string): readonly PlanLine[] =>
  text
    .trimEnd()
    .split('\n')
    .map((answer) => PlanLine.parse(JSON.parse(answer)));

test('an inventory from standard input, for people', async () => {
  const { exitCode, stdout, stderr } = await fleetgc(['plan', '--inventory', '-'], { stdin: line });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/all triggers of the policy \(\d\), policy default \(dry-run, profile fleetgc\)\n/);
  expect(stdout).toMatch(
    /^1 +image +registry\.example\/a:1 +60 B +unused, and least recently used \(D11\)$/m,
  );
  expect(stdout).toContain('Would be removed: 2 images; the images free about 120 B.\n');
  expect(stdout).toContain('Policy default says dry-run: while it does, none of this goes.\n');
});

test('[M7] that all layers stay with other images is said, whatever the listed sizes', async () => {
  const layers = [{ kind: 'snapshot' as const, digest: 'base', sizeBytes: 50 }];
  const shared = { ...node, layers, images: node.images.map((one) => ({ ...one, layers: [0] })) };
  const staying = image('pinned', { pinned: true, layers: [0] });
  const text = JSON.stringify({ ...shared, images: [...shared.images, staying] });
  const { stdout } = await inProcess(['plan', '--inventory', file(text)]);

  expect(stdout).toMatch(/^Would be removed: 2 images; the images free nothing: those that stay have /m);
});

test('lines from standard input: a bad one is answered too, the others go on, and the exit code says so', async () => {
  const stdin = `${line}\n{"inventory":1}\n${JSON.stringify({ inventory: node, trigger: 'forced' })}`;
  const { exitCode, stdout, stderr } = await fleetgc(['plan', '-o', 'ndjson'], { stdin });

  expect(exitCode).toBe(1);
  expect(linesOf(stdout)).toMatchObject([
    { type: 'fleetgc.plan', trigger: 'all' },
    { type: 'fleetgc.plan-failure', error: { line: 2, causes: [expect.stringContaining('inventory: ')] } },
    { type: 'fleetgc.plan', trigger: 'forced' },
  ]);
  expect(stderr).toBe('fleetgc plan: 1 of 3 lines got no plan; the answer to each says why\n');
});

test('a reader that has seen enough ends it without a complaint', async () => {
  const lines = file(`${line}\n`.repeat(300));
  const shell = '"$0" plan -o ndjson < "$1" | head -n 1';
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', shell, PROGRAM, lines], {
    env: PROGRAM_ENVIRONMENT,
  });

  expect(stderr).toBe('');
  expect(linesOf(stdout)).toHaveLength(1);
});

const asking = { policies: policySet(), trigger: 'periodic', override: {} } as const;
const answering = { signal: new AbortController().signal, mostWaiting: 0 };

test('no more is answered than is taken', async () => {
  const path = file(`${line}${' '.repeat(300_000)}\n`.repeat(3));
  const taken: (() => void)[] = [];
  const write = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    taken.push(resolve);
    return promise;
  };
  const running = answerLines(path, asking, { ...answering, write });
  for (let answers = 1; answers <= 3; answers += 1) {
    await waitUntil('the next answer', 5_000, () => taken.length === answers);
    taken.at(-1)?.();
  }
  await running;
  expect(taken).toHaveLength(3);
});

test('an inventory from a file, as one document, of the same bytes every time', async () => {
  const first = await inProcess(asked('-o', 'json'));
  expect(Plan.parse(JSON.parse(first.stdout)).remove.map(({ id }) => id)).toEqual(['a', 'b']);
  expect((await inProcess(asked('-o', 'json'))).stdout).toBe(first.stdout);
});

test('of several policies the one that holds for the node, and its notes on stderr', async () => {
  const policies = file(
    'name: other\nmode: enforce\npriority: 9\nselector:\n  clusters: [test]\n---\nname: web\nmode: enforce\nimageMinimumGCAge: 0s\n',
  );
  const { stdout, stderr } = await inProcess(asked('--policy', policies, '-o', 'json'));
  expect(Plan.parse(JSON.parse(stdout)).policy).toMatchObject({ name: 'web', mode: 'enforce' });
  expect(stderr).toContain('imageMinimumGCAge: zero means the default');
});

test('[F1, M14] the other profile on the same inventory', async () => {
  const forced = async (profile: string) =>
    Plan.parse(
      JSON.parse((await inProcess(asked('--trigger', 'forced', '--profile', profile, '-o', 'json'))).stdout),
    );
  const [fleetgcs, kubelets] = [await forced('fleetgc'), await forced('kubelet')];
  expect([fleetgcs.reason, kubelets.reason]).toEqual([
    '100 bytes are missing to the target',
    'forced: every image goes that nothing protects',
  ]);
});

test('how to look at this machine may stand in the environment and in a config file', async () => {
  const config = file('podLogsDir: /no/such\nkubeletUrl: https://127.0.0.1:1\n', 'config.yaml');
  const environment = { FLEETGC_RUNTIME_ENDPOINT: 'unix:///no/such.sock', FLEETGC_CLUSTER: 'other' };
  const { exitCode, stdout } = await inProcess(asked('--config', config, '-o', 'json'), environment);
  expect(exitCode).toBe(0);
  expect(Plan.parse(JSON.parse(stdout)).inventory.cluster).toBe('prod');
});

test('names are made harmless for a terminal', async () => {
  const evil = inventory({ containers: [container('c', { state: 'running', name: 'a\u001b[2J' })] });
  const { stdout } = await inProcess(['plan', '--inventory', file(JSON.stringify(evil))]);
  expect(stdout).toContain('default/web/a\\u{1b}[2J#0');
});

test('[P3] an incomplete inventory: the plan says so, and so does the exit code', async () => {
  const path = file(JSON.stringify(incompleteInventory));
  const { exitCode, stdout, stderr } = await inProcess(['plan', '--inventory', path]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'Not believed: runtime-changed-meanwhile: a container vanished while it was read (P3).',
  );
  expect(stdout).not.toContain('Would be removed');
  expect(stderr).toBe(
    'fleetgc plan: the inventory is not complete, so nothing would go: runtime-changed-meanwhile: a container vanished while it was read\n',
  );
});

describe('what is wrong is one clear sentence', () => {
  const bad = 'name: a\nmode: enforce\nmaximumDeadContainerAge: 1h\n';
  test.each<{ name: string; args: () => readonly string[]; exitCode: number; says: string | RegExp }>([
    {
      name: 'an unknown trigger',
      args: () => asked('--trigger', 'eviction:memory.available'),
      exitCode: 2,
      says: /--trigger must be one of all, periodic, forced, eviction:nodefs\.available, .*, not "eviction:memory\.available"\n$/,
    },
    {
      name: 'a bad policy',
      args: () => asked('--policy', file('name: a\nmode: on\n', 'bad.yaml')),
      exitCode: 2,
      says: /bad\.yaml:2:7: mode: must be dry-run .*\nfleetgc plan: 1 problem; no plan was made\n$/,
    },
    {
      name: 'a policy that cannot have the profile',
      args: () => asked('--profile', 'kubelet', '--policy', file(bad, 'bad.yaml')),
      exitCode: 2,
      says: /bad\.yaml:3:26: maximumDeadContainerAge: is no part of profile: kubelet/,
    },
    {
      name: 'a file that is not there',
      args: () => ['plan', '--inventory', '/no/such.json'],
      exitCode: 2,
      says: 'fleetgc plan: /no/such.json cannot be read: there is no such file\n',
    },
    {
      name: 'the same with lines',
      args: () => ['plan', '-o', 'ndjson', '--inventory', '/no/such.json'],
      exitCode: 2,
      says: 'fleetgc plan: /no/such.json cannot be read: there is no such file\n',
    },
    {
      name: 'standard input twice',
      args: () => ['plan', '--inventory', '-', '--policy', '-'],
      exitCode: 2,
      says: 'fleetgc plan: --inventory and --policy cannot both read standard input\n',
    },
    {
      name: 'an inventory, and how to look at this machine',
      args: () => asked('--state-directory', '/no/such', '--no-image-layers', '--cluster', 'prod'),
      exitCode: 2,
      says: 'fleetgc plan: with --inventory this machine is not looked at, so leave out what says how: --cluster, --state-directory, --no-image-layers\n',
    },
    {
      name: 'lines, and how to look at this machine',
      args: () => ['plan', '-o', 'ndjson', '--runtime-endpoint', 'unix:///no/such.sock'],
      exitCode: 2,
      says: 'fleetgc plan: with -o ndjson this machine is not looked at, so leave out what says how: --runtime-endpoint\n',
    },
    {
      name: 'many inventories where one is meant',
      args: () => ['plan', '--inventory', file(`${line}\n${line}\n`)],
      exitCode: 1,
      says: /the value is not JSON; many inventories, one a line, are for -o ndjson\n$/,
    },
    {
      name: 'another event',
      args: () => ['plan', '--inventory', file(JSON.stringify({ ...node, type: 'fleetgc.policy' }))],
      exitCode: 1,
      says: /: inventory: fleetgc\.policy does not belong on gc\.node\.inventory\n$/,
    },
    {
      name: 'no runtime',
      args: () => ['plan', '--runtime-endpoint', 'unix:///no/such.sock'],
      exitCode: 1,
      says: /^fleetgc plan: There is no runtime socket at \/no\/such\.sock\./,
    },
  ])('$name', async ({ args, exitCode, says }) => {
    const ended = await inProcess(args());
    expect({ ...ended, stderr: '' }).toEqual({ exitCode, stdout: '', stderr: '' });
    if (typeof says === 'string') expect(ended.stderr).toBe(says);
    else expect(ended.stderr).toMatch(says);
  });
});
