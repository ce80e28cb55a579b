import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NO_PROGRESS } from '../../../cli/framework/verb.ts';
import { WrittenRecords } from '../../../cli/framework/written-records.ts';
import { runDemo } from '../../../lab/demo/run-demo.ts';
import { DashboardNodes } from '../../../schemas/reports/dashboard.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { waitUntil } from '../../support/wait-until.ts';

const Line = z.looseObject({ kind: z.string() });
const AnyLine = Line.extend({ node: z.string().optional(), logPath: z.string().optional() });
const Summary = z.object({
  kind: z.literal('summary'),
  freedBytes: z.string(),
  nodes: z.array(z.object({ node: z.string(), usedPercent: z.number() })),
  logPath: z.string(),
  questions: z.array(z.string()),
});

const Scene = z.object({ kind: z.literal('scene'), command: z.string() });
const News = z.object({
  kind: z.enum(['cluster-decided', 'cluster-done']),
  steps: z.array(
    z.object({
      action: z.string(),
      rule: z.string(),
      outcome: z.string(),
      object: z.object({ kind: z.string(), namespace: z.string(), name: z.string() }),
    }),
  ),
});

/** What of the cluster was decided and done, as `keep S4 Secret staging/web-tls`. */
const stepsIn = (lines: readonly unknown[]): ReadonlySet<string> =>
  new Set(
    lines.flatMap((line) =>
      (News.safeParse(line).data?.steps ?? []).map(
        ({ action, rule, object: { kind, namespace, name } }) =>
          `${action} ${rule} ${kind} ${namespace}/${name}`,
      ),
    ),
  );

test('the demo shows its policies, what happens on three nodes and in a cluster, and a summary whose questions can be asked', async () => {
  const demo = ['demo', '--duration', '8s', '--json'];
  const { stdout } = await promisify(execFile)(PROGRAM, demo, {
    env: PROGRAM_ENVIRONMENT,
  });
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => Line.parse(JSON.parse(line)));

  expect(lines[0]?.kind).toBe('policy');
  const summary = Summary.parse(lines.at(-1));
  expect(lines.flatMap((line) => Scene.safeParse(line).data?.command.split(' -n ')[0] ?? [])).toEqual([
    'kubectl get secret web-tls',
    'kubectl delete deployment web',
    'kubectl delete deployment api',
    'kubectl delete deployment jobs',
    'kubectl delete tenant acme',
  ]);
  const steps = stepsIn(lines);
  for (const step of [
    'keep S4 Secret staging/web-tls',
    'delete D14 Pod shop/web-5d9c7b8f6d-1',
    'finish D17 Deployment shop/api',
    'drop-references E1 ReplicaSet shop/jobs-6f8d9c7b54',
    'finish E3 Deployment shop/jobs',
    'hold S1 Secret shop/acme-30',
  ])
    expect(steps).toContain(step);
  for (const step of steps) expect(step).not.toMatch(/^delete \S+ (Secret staging|\S+ shop\/(acme|jobs))/);
  const held = await inProcess(['held', '--log', 'embedded', '--log-path', summary.logPath]);
  const approvals = [...held.stdout.matchAll(/fleetgc approve .*/g)].map(([command]) => `bin/${command}`);
  expect(approvals).toHaveLength(1);
  expect(summary.questions).toEqual(expect.arrayContaining(approvals));
  expect(summary.nodes.map(({ node }) => node).toSorted()).toEqual(['node-1', 'node-2', 'node-3']);
  for (const question of summary.questions) {
    const [, ...args] = question.split(' ');
    expect(await inProcess(args), question).toMatchObject({ exitCode: 0 });
  }
  await rm(dirname(summary.logPath), { recursive: true });
});

test('its time counts from the moment in which all three nodes have reported, however long they took to start', async () => {
  const durationMs = 1_000;
  const missing = new Set(['node-1', 'node-2', 'node-3']);
  let allThereAtMs = Number.NaN;
  let logPath = '';
  const print = (text: string): void => {
    const line = AnyLine.parse(JSON.parse(text));
    if (line.kind === 'usage' && missing.delete(line.node ?? '') && missing.size === 0)
      allThereAtMs = performance.now();
    if (line.kind === 'summary') logPath = line.logPath ?? '';
  };
  const context = { signal: new AbortController().signal, logger: pino({ level: 'silent' }), print };
  const unused = {
    write: async () => undefined,
    terminalColumns: null,
    progress: NO_PROGRESS,
    environment: {},
    written: new WrittenRecords(),
    allVerbs: async () => [],
  };

  await runDemo({ duration: durationMs, json: true, plain: false }, { ...context, ...unused });

  // A timer may be early by a fraction of a millisecond.
  expect(performance.now() - allThereAtMs).toBeGreaterThan(durationMs - 2);
  await rm(dirname(logPath), { recursive: true });
});

test('whoever ends it in the first act sees no second one, and may ask of what there was', async () => {
  const stop = new AbortController();
  const printed: string[] = [];
  const print = (text: string): void => {
    printed.push(text);
    if (text.includes('"kind":"usage"')) stop.abort();
  };
  const context = { signal: stop.signal, logger: pino({ level: 'silent' }), print };
  const unused = {
    write: async () => undefined,
    terminalColumns: null,
    progress: NO_PROGRESS,
    environment: {},
    written: new WrittenRecords(),
    allVerbs: async () => [],
  };
  await runDemo({ duration: 600_000, json: true, plain: false }, { ...context, ...unused });
  expect(printed.some((text) => text.includes('"kind":"scene"'))).toBe(false);
  const summary = Summary.parse(JSON.parse(printed.at(-1) ?? ''));
  expect(summary.questions.some((question) => question.includes(' held '))).toBe(false);
  await rm(dirname(summary.logPath), { recursive: true });
});

test('it ends with the page of its own log, for as long as it is told', async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const asked = Promise.withResolvers<unknown>();
  const print = (text: string): void => {
    lines.push(text);
    const { url } = z.object({ url: z.string().optional() }).parse(JSON.parse(text));
    if (url !== undefined)
      void waitUntil('the three nodes on the page', 30_000, async () => {
        const { nodes } = DashboardNodes.parse(await (await fetch(`${url}api/nodes`)).json());
        return nodes.length === 3 && nodes.map(({ node }) => node);
      }).then(asked.resolve, asked.reject);
  };
  const context = { signal: stop.signal, logger: pino({ level: 'silent' }), print };
  const unused = {
    write: async () => undefined,
    terminalColumns: null,
    progress: NO_PROGRESS,
    environment: {},
    written: new WrittenRecords(),
    allVerbs: async () => [],
  };
  const demo = runDemo(
    { duration: 1_000, json: true, plain: false, for: 600_000 },
    { ...context, ...unused },
  );
  expect(await asked.promise).toEqual(['node-1', 'node-2', 'node-3']);
  stop.abort();
  await demo;
  expect(lines.at(-1)).toContain('"kind":"page"');
  const { logPath } = Summary.parse(JSON.parse(lines.at(-2) ?? ''));
  await rm(dirname(logPath), { recursive: true });
});
