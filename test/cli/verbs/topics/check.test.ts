import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pino from 'pino';
import { expect, test } from 'vitest';
import { openEmbeddedLog } from '../../../../packages/log/embedded.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';

async function logWithoutTopics(name: string): Promise<string> {
  const path = join(temporaryDirectory(), name);
  const log = await openEmbeddedLog(
    { path, maxBytes: 64 * 1024 * 1024 },
    { logger: pino({ level: 'silent' }), now: Date.now, random: Math.random, newId: randomUUID },
  );
  await log[Symbol.asyncDispose]();
  return path;
}

test('a log without topics: each is missing, with the whole command that creates them', async () => {
  const path = await logWithoutTopics("it's here.db");
  const options = ['--log', 'embedded', '--log-path', path];
  const checked = await inProcess(['topics', 'check', ...options]);

  expect(checked.exitCode).toBe(1);
  for (const { name } of Object.values(TOPICS)) {
    expect(checked.stdout).toMatch(new RegExp(`^${name} +missing$`, 'm'));
    expect(checked.stderr).toContain(
      `Topic ${name} is missing: create it with: fleetgc topics create --log embedded --log-path '${path.replace("'", `'\\''`)}'\n`,
    );
  }
  expect((await inProcess(['topics', 'create', ...options])).exitCode).toBe(0);
  expect((await inProcess(['topics', 'check', ...options])).stderr).toBe('');
});

test('another number of partitions is told beside the declared one', async () => {
  const { path, run } = await ownLog();
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec("INSERT INTO partitions (topic, partition) VALUES ('gc.policies', 1)");
  db.close();

  expect((await run('topics', 'check')).stdout).toMatch(
    /^gc\.policies +2 partitions instead of 1 partitions$/m,
  );
});
