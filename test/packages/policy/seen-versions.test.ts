import { expect, onTestFinished, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { SeenVersions } from '../../../packages/policy/seen-versions.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { keyOf } from '../../../packages/records/parse/record-key.ts';
import { toRecord } from '../../../packages/records/publisher.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { RequiredTrust } from '../../../packages/records/trust/trust.ts';
import { type PolicyTopicRecord, pauseKey } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { deletionOutput, EVERY_NODE, pauseRecord } from '../../fixtures/policy.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { logLines, parsedLines } from '../../support/log-lines.ts';
import { NOW_MS, TRACEPARENT } from '../../support/logs/log-record.ts';
import { ScriptedLog, type ScriptedReading } from '../../support/logs/scripted-log.ts';

const DAY_MS = 86_400_000;
const [root, operator, pauser, decider, stranger] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const PUBLICATION = { source: '/fleetgc/cli', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };
const WEB = appliedPolicy({ name: 'web' });
const PAUSE = pauseRecord({ selector: EVERY_NODE });

interface Signing {
  readonly key?: typeof operator;
  readonly fleet?: string;
  readonly generation?: number | null;
}

const signed = (
  topic: 'policies' | 'policyVersions',
  event: PolicyTopicRecord,
  { key = operator, fleet = FLEET, generation = SIGNED_AT_MS }: Signing = {},
): LogRecord => {
  const record = toRecord({ topic, key: keyOf(topic, event), event }, PUBLICATION);
  return onLog(signRecord(record, { key, fleet, generation }));
};
const version = (event: PolicyTopicRecord, signing?: Signing) => signed('policyVersions', event, signing);
const state = (event: PolicyTopicRecord, signing?: Signing) => signed('policies', event, signing);

function ring(): KeyRing {
  const keys = new KeyRing(rootsOf(root));
  keys.add(certified(root, operator, { role: 'operator' }));
  keys.add(certified(root, pauser, { role: 'pauser' }));
  keys.add(certified(root, decider));
  return keys;
}

/** Lets everything happen that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** As a decision service starts, which keeps nothing of its own. */
function start() {
  const log = new ScriptedLog();
  const out = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, out);
  const keys = ring();
  const trust = new RequiredTrust({ ring: () => keys, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const seen = new SeenGenerations();
  const waits: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => waits.push(resolve));
  const sources = { now: () => 0, random: () => 0.5, wait };
  const versions = new SeenVersions({
    log,
    logger,
    trust,
    seen,
    sources,
    startsAfter: Promise.resolve(),
    onLearnt: () => undefined,
  });
  const policies = startPolicySource({
    log,
    logger,
    metrics: createMetrics(),
    trust,
    seen,
    recheckMs: null,
    startsAfter: versions.learnt,
    sources,
  });
  onTestFinished(async () => {
    await policies[Symbol.asyncDispose]();
    await versions[Symbol.asyncDispose]();
  });
  const reading = (index: number): ScriptedReading => {
    const found = log.readings[index];
    if (!found) throw new Error(`only ${log.readings.length} readings began`);
    return found;
  };
  return { log, out, seen, versions, policies, reading, waits };
}

async function startedWith(...versions: readonly LogRecord[]) {
  const started = start();
  await settle();
  started
    .reading(0)
    .records(...versions)
    .caughtUp()
    .end();
  await settle();
  return started;
}

test('a service is not ready before it has learnt which generations there ever were', async () => {
  const { log, versions, policies, reading } = start();
  await settle();
  expect(log.readings.map(({ request }) => request.topic)).toEqual(['gc.policy-versions']);
  expect([versions.problem(), policies.problem()]).toEqual([
    'gc.policy-versions is not read yet',
    'the policies are not read yet',
  ]);
  reading(0).records(version(WEB)).caughtUp().end();
  await settle();
  reading(1).records(state(WEB)).caughtUp();
  await settle();
  expect([versions.problem(), policies.problem()]).toEqual([null, null]);
  expect(policies.current.node().policies).toEqual([WEB]);
});

test('a service that starts refuses what was put back, and misses what was cut off, while none ran', async () => {
  const { policies, reading } = await startedWith(
    version(WEB, { generation: SIGNED_AT_MS + 5 }),
    version(PAUSE, { key: pauser }),
  );
  reading(1)
    .records(state(WEB, { generation: SIGNED_AT_MS + 4 }), state(PAUSE))
    .caughtUp();
  await settle();
  expect(policies.problem()).toMatch(/it is older than what it replaces: somebody put an old record back/);

  reading(1).records(state(WEB, { generation: SIGNED_AT_MS + 5 }));
  await settle();
  expect(policies.problem()).toBeNull();

  const cut = await startedWith(version(WEB), version(PAUSE));
  cut.reading(1).records(state(WEB)).caughtUp();
  await settle();
  expect(cut.policies.problem()).toMatch(/no longer holds the pause of all nodes although nobody deleted it/);
  expect(cut.policies.problem()).not.toMatch(/restart/);
});

test('a deletion has a generation too: what was deleted does not come back', async () => {
  const deletion = deletionOutput('web').event;
  const { policies, reading } = await startedWith(
    version(WEB),
    version(deletion, { generation: SIGNED_AT_MS + 1 }),
  );
  reading(1).records(state(WEB)).caughtUp();
  await settle();
  expect(policies.problem()).toMatch(/somebody put an old record back/);
});

test('a pause that has ended is not remembered: put back, it pauses again, and is ended again', async () => {
  const { seen, policies, reading } = await startedWith(version(WEB));
  const ends = (generation: number) => state(deletionOutput(pauseKey(EVERY_NODE)).event, { generation });
  reading(1)
    .records(state(WEB), state(PAUSE), ends(SIGNED_AT_MS + 1))
    .caughtUp();
  await settle();
  expect(seen.keys('policies')).toEqual(['web']);

  policies.readAgain();
  await settle();
  reading(2).records(state(WEB), state(PAUSE)).caughtUp();
  await settle();
  expect([policies.problem(), policies.current.node().pauses.length]).toEqual([null, 1]);
  reading(2).records(ends(SIGNED_AT_MS + 2));
  await settle();
  expect([policies.problem(), policies.current.node().pauses.length]).toEqual([null, 0]);
});

test('a pause that stood is remembered until it ends, so that pauses that come and go need no more room', async () => {
  const { seen, policies, reading } = await startedWith(version(WEB));
  reading(1).records(state(WEB), state(PAUSE)).caughtUp();
  await settle();
  expect(seen.keys('policies')).toEqual(['web', pauseKey(EVERY_NODE)]);
  const { event } = deletionOutput(pauseKey(EVERY_NODE));
  reading(1).records(state(event, { generation: SIGNED_AT_MS + 1 }));
  await settle();
  expect([policies.problem(), policies.current.node().pauses.length]).toEqual([null, 0]);
  expect(seen.keys('policies')).toEqual(['web']);
});

test('a pause that is buried under records that nobody can read has not ended', async () => {
  const { seen, policies, reading } = await startedWith(version(WEB), version(PAUSE));
  const rubbish = (key: string): LogRecord => ({ ...unsigned(state(WEB)), key });
  const keys = [...Array.from({ length: 1_000 }, (_, at) => `k${at}`), pauseKey(EVERY_NODE)];
  reading(1)
    .records(state(WEB), state(PAUSE), ...keys.map(rubbish))
    .caughtUp();
  await settle();
  expect(policies.problem()).toMatch(/more records that cannot be read/);
  expect(seen.keys('policies')).toEqual(['web', pauseKey(EVERY_NODE)]);
});

const AHEAD = SIGNED_AT_MS + DAY_MS - 1;
const unsigned = ({ headers, ...record }: LogRecord): LogRecord => {
  const { ce_fleetgckeyid, ce_fleetgcsignature, ...others } = headers;
  return { ...record, headers: others };
};

test.each<{ name: string; record: LogRecord; why: RegExp }>([
  {
    name: 'names a generation and is not signed',
    record: unsigned(version(WEB, { generation: AHEAD })),
    why: /its signature is malformed/,
  },
  { name: 'a stranger signed', record: version(WEB, { key: stranger, generation: AHEAD }), why: /no root/ },
  {
    name: 'was signed for another fleet',
    record: version(WEB, { fleet: 'other', generation: AHEAD }),
    why: /is not that of/,
  },
  {
    name: 'is of more than a day ahead',
    record: version(WEB, { generation: AHEAD + 2 }),
    why: /a day ahead/,
  },
  {
    name: 'only an operator may write',
    record: version(WEB, { key: pauser, generation: AHEAD }),
    why: /may only pause/,
  },
  {
    name: 'a decider signed',
    record: version(WEB, { key: decider, generation: AHEAD }),
    why: /of a decider/,
  },
  {
    name: 'was signed for gc.policies',
    record: { ...state(WEB, { generation: AHEAD }), topic: 'gc.policy-versions' },
    why: /is not that of/,
  },
  {
    name: 'lies under the key of another content',
    record: { ...version(WEB, { generation: AHEAD }), key: '0'.repeat(64) },
    why: /is not that of/,
  },
])('a version that $name is told of and raises nothing', async ({ record, why }) => {
  const { out, seen, policies, reading } = await startedWith(version(WEB), record);
  expect(seen.of('policies', 'web')).toBe(SIGNED_AT_MS);
  expect(seen.keys('policies')).toEqual(['web']);
  expect(parsedLines(out.lines)).toEqual([
    expect.objectContaining({
      msg: expect.stringMatching(
        new RegExp(`^gc.policy-versions: its generation does not count: .*${why.source}`),
      ),
    }),
  ]);
  reading(1).records(state(WEB)).caughtUp();
  await settle();
  expect(policies.problem()).toBeNull();
});

test('what says nothing of generations is passed over, as versions of before there were keys', async () => {
  const plain = toRecord({ topic: 'policyVersions', key: WEB.hash, event: WEB }, PUBLICATION);
  const { out, seen, versions } = await startedWith(onLog(plain), version(PAUSE, { generation: null }));
  expect(versions.problem()).toBeNull();
  expect([out.lines, seen.keys('policies')]).toEqual([[], []]);
});

test('a topic that cannot be read is told and read again, and read again where other keys count', async () => {
  const { seen, versions, policies, reading, waits } = start();
  await settle();
  reading(0).fail(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
  await settle();
  expect(versions.problem()).toBe('gc.policy-versions cannot be read: no broker answers');
  expect(policies.problem()).toBe('the policies are not read yet');
  waits.at(-1)?.();
  await settle();
  reading(1).records(version(WEB)).caughtUp().end();
  await settle();
  expect(versions.problem()).toBeNull();

  versions.readAgain();
  await settle();
  reading(3).records(version(PAUSE)).caughtUp().end();
  await settle();
  expect(seen.keys('policies')).toEqual(['web', pauseKey(EVERY_NODE)]);
});
