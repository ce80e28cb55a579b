import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runDemo } from '../../../cli/demo/run-demo.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { inProcess } from '../fleetgc.ts';

const Line = z.looseObject({ kind: z.string() });
const AnyLine = Line.extend({ node: z.string().optional(), logPath: z.string().optional() });
const Summary = z.object({
  kind: z.literal('summary'),
  freedBytes: z.string(),
  nodes: z.array(z.object({ node: z.string(), usedPercent: z.number() })),
  logPath: z.string(),
  questions: z.array(z.string()),
});

test('the demo shows its policy, what happens on three nodes, and a summary whose questions can be asked', async () => {
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
  const unused = { write: async () => undefined, terminalColumns: null, environment: {} };

  await runDemo({ duration: durationMs, json: true, plain: false }, { ...context, ...unused });

  // A timer may be early by a fraction of a millisecond.
  expect(performance.now() - allThereAtMs).toBeGreaterThan(durationMs - 2);
  await rm(dirname(logPath), { recursive: true });
});
