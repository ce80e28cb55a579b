import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { lying, unsignedDocument } from '../../services/deciders/functions/support/function-events.ts';
import { lambdaEvent } from '../../services/deciders/functions/support/lambda-events.ts';
import { say } from '../context.ts';
import type { Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { spreadOf } from '../statistics.ts';

const ROUNDS = 15;
const BOUND_MS = 60_000;
const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const run = promisify(execFile);

/** A function that nobody has called before, from the start of its process to its first answer; beside Node.js that only reads the event. */
export async function benchFunctions(): Promise<Findings> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-bench-functions-'));
  try {
    return await measured(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measured(folder: string): Promise<Findings> {
  await run(process.execPath, [join(CHECKOUT, 'bin/functions.ts'), '--into', folder, '--only', 'image-gc'], {
    timeout: BOUND_MS,
  });
  const bundle = join(folder, 'image-gc', 'index.mjs');
  const document = join(folder, 'policies.jsonl');
  const event = join(folder, 'event.json');
  writeFileSync(document, unsignedDocument([appliedPolicy()], Date.now()));
  const inventory = fullNode('node-1', { images: 200, containers: 30 });
  writeFileSync(event, JSON.stringify(lambdaEvent([lying('inventory', inventory)])));
  const environment = { PATH: process.env.PATH ?? '', FLEETGC_TRUST: 'off', FLEETGC_POLICY: document };
  const scripts = {
    bare: scriptOf(event, 'given'),
    decides: scriptOf(event, `(await import(${JSON.stringify(pathToFileURL(bundle).href)})).handler(given)`),
  };
  const times: Record<keyof typeof scripts, number[]> = { bare: [], decides: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    say(`functions, round ${round} of ${ROUNDS}`);
    for (const name of ['bare', 'decides'] as const) {
      const ms = await timed(scripts[name], environment);
      // What Node.js compiled is kept for the next start.
      if (round > 0) times[name].push(ms);
    }
  }
  return {
    figures: [
      {
        benchmark: 'functions',
        name: 'image-gc as a function, from the start of its process to its first decision',
        unit: 'ms',
        value: spreadOf(times.decides),
        baseline: spreadOf(times.bare),
        baselineName: 'Node.js, which only reads the event',
        samples: ROUNDS,
        aim: { kind: 'difference-at-most', limit: 500 },
      },
    ],
    notes: [`The bundle has ${statSync(bundle).size} bytes. The inventory has 200 images and 30 containers.`],
  };
}

/** Says something when the answer is there. */
const scriptOf = (event: string, answer: string): string =>
  `const { readFileSync } = await import('node:fs'); const given = JSON.parse(readFileSync(${JSON.stringify(event)}, 'utf8')); console.log(JSON.stringify(await ${answer}).length);`;

async function timed(script: string, environment: Readonly<Record<string, string>>): Promise<number> {
  const startMs = performance.now();
  await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: environment,
    timeout: BOUND_MS,
  });
  return performance.now() - startMs;
}
