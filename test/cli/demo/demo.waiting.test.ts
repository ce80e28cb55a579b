import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../support/program.ts';
import { inProcess } from '../fleetgc.ts';

const Line = z.looseObject({ kind: z.string() });
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
