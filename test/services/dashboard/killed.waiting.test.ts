import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { BOUND_MS, type SpawnedVerb, spawnVerb } from '../../cli/service-process.ts';
import { EVERY_NODE } from '../../fixtures/policy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TOKEN = 'o'.repeat(40);
const PAUSES = Array.from({ length: 15 }, (_, each) => ({
  id: randomUUID(),
  selector: { ...EVERY_NODE, clusters: [`cluster-${each}`] },
  reason: 'disks',
}));

test('a dashboard that is killed among many actions does each of them once it is asked again', async () => {
  const { log, path } = await ownLog();
  const directory = temporaryDirectory();
  const tokens = join(directory, 'tokens');
  writeFileSync(tokens, `operator ann ${TOKEN}\n`, { mode: 0o600 });
  const start = async (): Promise<{ readonly running: SpawnedVerb; readonly url: string }> => {
    const running = spawnVerb(
      ...['dashboard', '--log', 'embedded', '--log-path', path, '--allow-actions'],
      ...['--token-file', tokens, '--projection', join(directory, 'projection.db')],
    );
    const port = await waitUntil(
      'it to serve',
      BOUND_MS,
      () => /"port":(\d+),"msg":"serving the page"/.exec(running.output.stderr)?.[1] ?? null,
    );
    return { running, url: `http://127.0.0.1:${port}` };
  };
  const pause = async (url: string, asked: (typeof PAUSES)[number]): Promise<number> => {
    const headers = { origin: url, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const body = JSON.stringify(asked);
    return (await fetch(`${url}/api/actions/pause`, { method: 'POST', headers, body })).status;
  };
  const first = await start();
  const asked = PAUSES.map((each) => pause(first.url, each).catch(() => null));
  expect(await Promise.race(asked)).toBe(200);
  await first.running.kill();
  await Promise.all(asked);

  const second = await start();
  for (const each of PAUSES) expect(await pause(second.url, each)).toBe(200);
  const { pauses } = await readStoredPolicies(log, AbortSignal.timeout(60_000));
  const clusters = [...pauses.values()].flatMap(({ selector }) => selector.clusters);
  expect(clusters.toSorted()).toEqual(PAUSES.flatMap(({ selector }) => selector.clusters).toSorted());
  expect(await second.running.terminate()).toBe(0);
});
