import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { operatorPublication } from '../../../cli/framework/task-event-log.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { deleteUnheld } from '../../../packages/policy/write-policies.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { UNSIGNED_STATE } from '../../../packages/records/trust/state-signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { logLines } from '../../support/log-lines.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { pauseFor } from '../../support/pause-for.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { silentContext, until } from '../log/probe.ts';

const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: {} };
const pause = pauseRecord();
const policyOutput = outgoing({
  topic: 'policies',
  key: 'default',
  event: appliedPolicy({ name: 'default' }),
});
const pauseOutput = outgoing({ topic: 'policies', key: pauseKey(pause.selector), event: pause });

async function openLog(path: string) {
  const log = await openEmbeddedLog({ path, maxBytes: 64 * 1024 * 1024 }, silentContext());
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return log;
}

/** As a node's executor follows them: without rechecks. */
function follow(log: Awaited<ReturnType<typeof openLog>>) {
  const source = startPolicySource({
    trust: TRUST_OFF,
    seen: new SeenGenerations(),
    log,
    logger: createLogger({ service: 'test', level: 'info' }, logLines()),
    metrics: createMetrics(),
    recheckMs: null,
    sources: {
      now: () => performance.now(),
      random: Math.random,
      wait: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    },
  });
  onTestFinished(() => source[Symbol.asyncDispose]());
  return source;
}

function deletePolicies(path: string): void {
  const db = new DatabaseSync(path, { timeout: 1000 });
  const [{ id } = {}] = db.prepare("SELECT id FROM partitions WHERE topic = 'gc.policies'").all();
  db.prepare('DELETE FROM records WHERE partition_id = ?').run(id ?? null);
  db.prepare('DELETE FROM partitions WHERE id = ?').run(id ?? null);
  db.close();
}

test('an executor obeys a pause that was written to a recreated gc.policies, however short the topic', async () => {
  const path = join(temporaryDirectory(), 'events.sqlite');
  const log = await openLog(path);
  await log.publish([policyOutput, policyOutput, policyOutput]);
  const source = follow(log);
  await source.caughtUp;
  expect(pauseFor(source, NODE)).toBeNull();

  deletePolicies(path);
  const operator = await openLog(path);
  await until('the loss to show', () => source.problem() !== null);
  await operator.publish([pauseOutput]);
  await until('what is lost to be named', () => /no longer holds "default"/.test(source.problem() ?? ''));
  await operator.publish([policyOutput]);
  await until('the policies to be readable', () => source.problem() === null);
  expect(pauseFor(source, NODE)).toEqual(pause);
});

test('what went with the old topic is let go of when its end is written to the new one, which never held it', async () => {
  const path = join(temporaryDirectory(), 'events.sqlite');
  const log = await openLog(path);
  await log.publish([policyOutput, pauseOutput]);
  const source = follow(log);
  await source.caughtUp;
  deletePolicies(path);
  const operator = await openLog(path);
  await until('the loss to show', () =>
    /"default", the pause of .*: fleetgc resume/.test(source.problem() ?? ''),
  );

  await deleteUnheld({ signer: UNSIGNED_STATE, log: operator, publication: operatorPublication() }, [
    pauseKey(pause.selector),
    'default',
  ]);
  await until('the policies to be readable', () => source.problem() === null);
  expect(pauseFor(source, NODE)).toBeNull();
});
