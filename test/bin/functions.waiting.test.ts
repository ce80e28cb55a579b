import { execFile } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { lying, unsignedDocument } from '../services/deciders/functions/support/function-events.ts';
import { lambdaEvent } from '../services/deciders/functions/support/lambda-events.ts';
import { patiently } from '../support/patience.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);
const timeout = patiently(30_000);

test('a decision service is one file of less than 2 MB, which decides where there is nothing but Node.js', async () => {
  const folder = temporaryDirectory();
  const made = await run(
    process.execPath,
    [join(REPOSITORY, 'bin/functions.ts'), '--into', folder, '--only', 'pressure'],
    { timeout },
  );
  expect(made.stdout).toMatch(/^pressure {2}\d+ bytes\n$/);
  expect(readdirSync(join(folder, 'pressure'))).toEqual(['index.mjs']);
  const file = join(folder, 'pressure', 'index.mjs');
  expect(statSync(file).size).toBeLessThan(2 * 1024 * 1024);

  const document = join(folder, 'policies.jsonl');
  writeFileSync(document, unsignedDocument([appliedPolicy()], Date.now()));
  const event = lambdaEvent([lying('diskStats', diskStats())]);
  const script = [
    `const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)});`,
    `console.log(JSON.stringify(await handler(${JSON.stringify(event)})));`,
    'process.exit(0);',
  ].join('\n');
  const env = { ...PROGRAM_ENVIRONMENT, FLEETGC_POLICY: document };
  const called = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder,
    env,
    timeout,
  });
  expect(JSON.parse(called.stdout)).toMatchObject({
    batchItemFailures: [],
    events: [
      { type: 'fleetgc.node.decision.v1', source: '/fleetgc/pressure' },
      { type: 'fleetgc.node.observe.v1' },
    ],
  });
});

test('what cannot be set up says so to whoever calls, and so does a topic that a function cannot follow', async () => {
  const script =
    "const { lambdaHandler } = await import('./cli/lambda/handler.ts'); const { decider } = await import('./packages/deciders/pod-gc/decider.ts'); const handler = lambdaHandler(decider); await handler({}).catch((error) => console.log(error.message)); process.exit(0);";
  const said = async (env: Readonly<Record<string, string>>): Promise<string> =>
    (
      await run(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: REPOSITORY,
        env: { PATH: PROGRAM_ENVIRONMENT.PATH ?? '', ...env },
        timeout,
      })
    ).stdout;
  expect(await said({})).toContain('--trust is missing');
  expect(await said({ FLEETGC_TRUST: 'off', FLEETGC_POLICY: 'topic' })).toContain('FLEETGC_POLICY is topic');
  expect(await said({ FLEETGC_TRUST: 'off' })).toContain('no event of a Kafka event source');
});
