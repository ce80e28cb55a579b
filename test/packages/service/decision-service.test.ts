import { describe, expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { logLines } from '../../support/log-lines.ts';
import { bodyOf, decisionLog, fact } from '../../support/logs/decision-log.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SET = policySet('node', [appliedPolicy()], [pauseRecord()]);

test('the set of policies is on the log before the first decision under it', async () => {
  const { deps, publish, records } = await decisionLog(() => SET);
  const order: string[] = [];
  const noting: EventLog['publish'] = async (outgoing) => {
    const positions = await deps.log.publish(outgoing);
    order.push(...outgoing.map(({ topic }) => topic));
    return positions;
  };
  await using _ = await startDecider('image-gc', { ...deps, log: { ...deps.log, publish: noting } });
  await publish(...['a', 'b'].map((id) => fact('inventory', inventory({ id, images: [image('i')] }))));
  await records('decisions', 2);
  const [told, ...more] = await records('policyVersions', 1);
  expect(more).toEqual([]);
  expect(told?.key).toBe(SET.hash);
  expect(bodyOf(told)).toMatchObject({ type: 'fleetgc.policy-set', hash: SET.hash, pauses: SET.pauses });
  expect(order[0]).toBe(TOPICS.policyVersions.name);
});

test('nothing leaves while the set cannot be told, and the message comes again', async () => {
  const { deps, publish, records } = await decisionLog(() => SET);
  let refusals = 0;
  const refusing: EventLog['publish'] = async (outgoing) => {
    if (outgoing.some(({ topic }) => topic === TOPICS.policyVersions.name) && refusals++ === 0) {
      expect(await records('decisions', 0)).toEqual([]);
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    }
    return await deps.log.publish(outgoing);
  };
  await using _ = await startDecider('image-gc', { ...deps, log: { ...deps.log, publish: refusing } });
  await publish(fact('inventory', inventory()));
  expect(await records('decisions', 1)).toHaveLength(1);
  expect(refusals).toBeGreaterThan(1);
});

describe('a service whose key does not count', () => {
  const REVOKED = 'the key was revoked: nobody believes what it signs';
  const BOUND_MS = 10_000;
  const believedUnless = (problem: () => string | null) => ({
    problem,
    wait: (_: number, signal: AbortSignal) => pause(1, signal),
  });

  test('waits with what it reads, tells nobody of its policies, and says so; then it goes on where it was', async () => {
    const { deps, publish, records } = await decisionLog(() => SET);
    let problem: string | null = REVOKED;
    const output = logLines();
    const logger = createLogger({ service: 'test', level: 'info' }, output);
    const belief = believedUnless(() => problem);
    await using _ = await startDecider('image-gc', { ...deps, logger, belief });
    await publish(...['a', 'b'].map((id) => fact('inventory', inventory({ id }))));
    const waits = async (): Promise<string | undefined> =>
      /fleetgc_decisions_wait_for_key\{decider="image-gc"\} (\d)/.exec(await deps.metrics.text())?.[1];
    await waitUntil('messages to wait', BOUND_MS, async () => (await waits()) === '1');
    expect(await records('decisions', 0)).toEqual([]);
    expect(await records('policyVersions', 0)).toEqual([]);
    problem = null;
    expect(await records('decisions', 2)).toHaveLength(2);
    expect(await waits()).toBe('0');
    expect(output.lines.filter((line) => line.includes(REVOKED))).toHaveLength(1);
    expect(output.lines.filter((line) => line.includes('is believed again'))).toHaveLength(1);
  });

  test('lets nothing out that it decided before it knew', async () => {
    let problem: string | null = null;
    let sets = 0;
    const { deps, publish, records } = await decisionLog(() => {
      if (sets++ === 0) problem = REVOKED;
      return SET;
    });
    const belief = {
      problem: () => problem,
      wait: async () => {
        expect(await records('policyVersions', 0)).toEqual([]);
        problem = null;
      },
    };
    await using _ = await startDecider('image-gc', { ...deps, belief });
    await publish(fact('inventory', inventory()));
    expect(await records('decisions', 1)).toHaveLength(1);
    expect(sets).toBeGreaterThan(1);
  });

  test('ends at once when it is told to, and has acknowledged nothing', async () => {
    const { deps, publish, records } = await decisionLog(() => SET);
    const waiting = Promise.withResolvers<void>();
    const belief = {
      problem: () => REVOKED,
      wait: (ms: number, signal: AbortSignal) => {
        waiting.resolve();
        return pause(ms, signal);
      },
    };
    const first = await startDecider('image-gc', { ...deps, belief });
    await publish(fact('inventory', inventory()));
    await waiting.promise;
    await first.stop();
    await using _ = await startDecider('image-gc', { ...deps, metrics: createMetrics() });
    expect(await records('decisions', 1)).toHaveLength(1);
  });
});
