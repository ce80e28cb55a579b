import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EventLogOptions } from '../../../packages/log/open.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { serveHttp } from '../../../packages/process/http.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import type { TrustChoice } from '../../../packages/records/trust/process-trust.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { openServiceProcess, type ServiceProcess } from '../../../packages/service/service-process.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { certified, FLEET, newKey, revoked, rootsOf, signingWith } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { PATIENT } from '../../support/patience.ts';

async function logFile(): Promise<EventLogOptions> {
  const directory = await mkdtemp(join(tmpdir(), 'fleetgc-process-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return { kind: 'embedded', path: join(directory, 'log.db'), maxBytes: 2 ** 26 };
}

async function open(
  eventLog: EventLogOptions,
  trust: TrustChoice = { kind: 'off' },
): Promise<ServiceProcess> {
  const opened = await openServiceProcess({
    trust,
    build: { service: 'test', version: '1.2.3' },
    eventLog,
    httpAddress: { host: '127.0.0.1', port: 0 },
    logger: pino({ level: 'silent' }),
    sources: systemSources,
  });
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return opened;
}

const ask = async ({ httpAddress }: ServiceProcess, path: string) => {
  const response = await fetch(`http://127.0.0.1:${httpAddress?.port}${path}`);
  return { status: response.status, text: await response.text() };
};

test('is ready when its log, its policies and its own checks are well', async () => {
  const opened = await open(await logFile());
  await opened.log.createTopics();
  const policies = opened.followPolicies(60_000);
  await policies.caughtUp;
  let problem: string | null = 'has not joined yet';
  opened.addCheck({ name: 'image-gc', problem: () => problem });
  expect(await ask(opened, '/readyz?verbose')).toEqual({
    status: 503,
    text: '[+] event log\n[+] policies\n[-] image-gc: has not joined yet\nnot ready: image-gc\n',
  });
  problem = null;
  expect(await ask(opened, '/readyz')).toEqual({ status: 200, text: 'ready\n' });
  expect((await ask(opened, '/metrics')).text).toContain('fleetgc_build_info{service="test",version="1.2.3"');
});

const WEB = appliedPolicy({ name: 'web' });
const [root, operator] = [newKey(), newKey()];
const NOW_MS = Date.now();
const over = { role: 'operator', issuedAtMs: NOW_MS, notAfterMs: NOW_MS + 86_400_000 } as const;

const signed = (topic: 'policies' | 'policyVersions', generation: number) =>
  signRecord(outgoing({ topic, key: topic === 'policies' ? 'web' : WEB.hash, event: WEB }), {
    fleet: FLEET,
    key: operator,
    generation,
  });

test('a service that starts learns from the versions that an old policy was put back', async () => {
  const eventLog = await logFile();
  const opened = await open(eventLog, {
    kind: 'required',
    roots: rootsOf(root),
    signing: null,
    facts: 'off',
    seen: new SeenGenerations(),
    learnsFrom: 'policy-versions',
  });
  await opened.log.createTopics();
  const { topic, key, value, headers } = certified(root, operator, over);
  await opened.log.publish([
    { topic, key: key ?? '', value, headers },
    signed('policyVersions', NOW_MS),
    signed('policyVersions', NOW_MS + 1),
    signed('policies', NOW_MS),
  ]);
  const policies = opened.followPolicies(60_000);
  await policies.caughtUp;
  expect(policies.unreadable()).toMatch(/somebody put an old record back/);
  expect((await ask(opened, '/readyz?verbose')).text).toMatch(
    /^\[\+\] event log\n\[\+\] keys\n\[\+\] policy versions\n\[-\] policies: /,
  );
  await opened.log.publish([signed('policies', NOW_MS + 1)]);
  await vi.waitFor(async () => {
    expect((await ask(opened, '/readyz')).status).toBe(200);
  }, PATIENT);
  expect(policies.current.node().policies).toEqual([WEB]);
});

test('heads say what is known of keys, and none is signed with a key that was revoked', async () => {
  const decider = newKey();
  const opened = await open(await logFile(), {
    kind: 'required',
    roots: rootsOf(root),
    signing: signingWith(decider),
    facts: 'off',
    seen: new SeenGenerations(),
    learnsFrom: 'policy-versions',
  });
  await opened.log.createTopics();
  const say = async ({ topic, key, value, headers }: LogRecord) =>
    await opened.log.publish([{ topic, key: key ?? '', value, headers }]);
  await say(certified(root, decider, { ...over, role: 'decider' }));
  await vi.waitFor(() => {
    expect(opened.heads?.statements().get(decider.keyId)).toBe(NOW_MS);
  }, PATIENT);
  expect(opened.heads?.problem()).toBeNull();
  await say(revoked(root, decider, { issuedAtMs: NOW_MS }));
  await vi.waitFor(() => {
    expect(opened.heads?.problem()).toContain('was revoked');
  }, PATIENT);
});

test('is alive and says what it waits for while topics are missing', async () => {
  const opened = await open(await logFile());
  opened.followPolicies(null);
  await vi.waitFor(async () => {
    expect((await ask(opened, '/readyz?verbose')).text).toMatch(/\[-\] policies: .*missing/);
  }, PATIENT);
  expect((await ask(opened, '/livez')).status).toBe(200);
});

test('a log that cannot be opened leaves nothing open', async () => {
  const http = { metrics: createMetrics(), checks: () => [] };
  const free = await serveHttp({ ...http, address: { host: '127.0.0.1', port: 0 } });
  await free[Symbol.asyncDispose]();
  const opening = openServiceProcess({
    trust: { kind: 'off' },
    build: { service: 'test', version: '1.2.3' },
    eventLog: { kind: 'embedded', path: '/dev/null/log.db', maxBytes: 2 ** 26 },
    httpAddress: free.address,
    logger: pino({ level: 'silent' }),
    sources: systemSources,
  });
  await expect(opening).rejects.toMatchObject({ name: 'FleetGcError' });
  const again = await serveHttp({ ...http, address: free.address });
  await again[Symbol.asyncDispose]();
});
