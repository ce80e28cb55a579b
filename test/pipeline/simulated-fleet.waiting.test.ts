import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openServiceOn } from '../../cli/framework/open-service.ts';
import { isClean } from '../../lab/sim/fleet-run/account.ts';
import { runSimulatedFleet } from '../../lab/sim/fleet-run/run-fleet.ts';
import { createLogger } from '../../packages/process/logger.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { logLines } from '../support/log-lines.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const MINUTE_MS = 60_000;
const FAULTS = {
  killedPercent: 15,
  rebootedPercent: 10,
  vanishedPercent: 5,
  oldClockPercent: 0,
  failedRemovalPercent: 5,
  slowRemovalPercent: 5,
  usedMeanwhilePercent: 30,
};

test('a fleet lives for some minutes under faults: images go, and nothing is wrong, lost or done twice', async () => {
  const lines = logLines();
  const process = await openServiceOn({
    trust: { kind: 'off' },
    service: 'test',
    eventLog: { kind: 'embedded', path: join(temporaryDirectory(), 'log.db'), maxBytes: 512 * 1024 * 1024 },
    httpAddress: null,
    logger: createLogger({ service: 'test', level: 'error' }, lines),
  });
  onTestFinished(() => process[Symbol.asyncDispose]());
  await process.log.createTopics();
  const record = appliedPolicy({
    imageGCHighThresholdPercent: 75,
    imageGCLowThresholdPercent: 74,
    evictionThresholds: [],
  });
  await process.log.publish([outgoing({ topic: 'policies', key: record.policy.name, event: record })]);
  const policies = process.followPolicies(null);
  await policies.caughtUp;
  const stopping = new AbortController();
  const deciding = runDeciders(['pressure', 'container-gc', 'image-gc'], {
    process,
    policies,
    signal: stopping.signal,
  });
  onTestFinished(async () => {
    stopping.abort();
    await deciding;
  });

  const account = await runSimulatedFleet(
    {
      process,
      policies,
      cluster: `fleet-${randomUUID()}`,
      nodes: 10,
      seed: 7,
      rate: 30,
      durationMs: 2 * MINUTE_MS,
      drainMs: 10 * MINUTE_MS,
      faults: FAULTS,
      say: () => {},
    },
    new AbortController().signal,
  );

  expect(account.removals).toMatchObject({
    wrong: 0,
    wrongs: [],
    lost: 0,
    twice: 0,
    saidNotDone: 0,
    doneNotSaid: 0,
  });
  expect(isClean(account)).toBe(true);
  expect(account.removals.done.image).toBeGreaterThan(0);
  const { received, answered, open, ofNodesAway } = account.commands;
  expect(received).toBe(answered + open + ofNodesAway);
  expect(account.pressure.toFirstRemovalMs.count).toBeGreaterThan(0);
  expect(account.fates).not.toEqual({});
  expect(lines.lines).toEqual([]);
});
