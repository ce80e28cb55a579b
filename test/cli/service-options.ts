import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { inProcess } from './fleetgc.ts';
import { BOUND_MS, type RunningVerb } from './service-process.ts';

/** Nobody listens on the port for discarding. */
export const NO_BROKER = ['--kafka-brokers', '127.0.0.1:9'];

/** The answer to a probe, once it is as wanted. */
export const readiness = (running: RunningVerb, wanted: { readonly status: number; readonly says: string }) =>
  waitUntil(`readiness: ${wanted.status} with "${wanted.says}"`, BOUND_MS, async () => {
    const answer = await running.get('/readyz?verbose');
    return answer.status === wanted.status && answer.text.includes(wanted.says) && answer;
  });

/** Options for an embedded log of this test's own, with all topics. */
export async function embeddedLog(): Promise<readonly string[]> {
  const options = ['--log', 'embedded', '--log-path', join(temporaryDirectory(), 'log.db')];
  await inProcess(['topics', 'create', ...options]);
  return options;
}

/** Options for a node without a runtime. */
export const nodeOptions = (): readonly string[] => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  return [
    ...['--state-directory', join(directory, 'state')],
    ...['--machine-id-file', join(directory, 'machine-id')],
    ...['--runtime-endpoint', join(directory, 'no-runtime.sock')],
  ];
};
