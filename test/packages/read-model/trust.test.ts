import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { FactTrust } from '../../../packages/read-model/trust.ts';
import type { SigningKey } from '../../../packages/records/trust/key-pair.ts';
import type { FactsTrust } from '../../../packages/records/trust/process-trust.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { DashboardFreed, DashboardNodes, DashboardProgress } from '../../../schemas/reports/dashboard.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { objectResult, removed } from '../../fixtures/results.ts';
import { instant } from '../../fixtures/time.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { caughtUp, dashboardOf } from '../../services/dashboard/support/dashboard.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { positionsOn } from '../../support/logs/positions.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { logOf } from '../audit/support/archives.ts';

const [root, own, other, stranger] = [newKey(), newKey(), newKey(), newKey()];
const DAY_MS = 86_400_000;

const signed = (record: OutgoingRecord, key: SigningKey): OutgoingRecord =>
  signRecord(record, { fleet: FLEET, key, generation: null });

const listed = (): OutgoingRecord => outgoing(nodeOutput('inventory', inventory()));

const certificates = (): readonly LogRecord[] => [
  certified(root, own, { role: 'node', clusters: ['prod'], nodes: ['web-1'] }),
  certified(root, other, { role: 'node', clusters: ['prod'], nodes: ['web-2'] }),
];

async function trusting(
  facts: FactsTrust,
  keys: readonly LogRecord[] = certificates(),
  now = () => SIGNED_AT_MS,
) {
  const records = [...keys];
  const trust = new FactTrust({ log: logOf(records), roots: rootsOf(root), facts, now });
  await trust.readKeys(new AbortController().signal);
  return { trust, records };
}

describe('what nodes and clusters report', () => {
  test.each([
    { name: 'nobody signed', record: () => onLog(listed()) },
    { name: 'a stranger signed', record: () => onLog(signed(listed(), stranger)) },
    { name: 'another node signed', record: () => onLog(signed(listed(), other)) },
    { name: 'was changed', record: () => ({ ...onLog(signed(listed(), own)), value: Buffer.from('{}') }) },
    {
      name: 'came after its key had ended',
      record: () => onLog(signed(listed(), own), SIGNED_AT_MS + 31 * DAY_MS),
    },
  ])('and $name is not believed, and counted', async ({ record }) => {
    const { trust } = await trusting('required');
    expect(trust.believes('inventory', record())).toBe(false);
    expect(trust.notBelieved).toEqual({ records: 1, areShown: false });
  });

  test('and its node signed is believed; so is what nobody has to sign', async () => {
    const { trust } = await trusting('required');
    expect(trust.believes('inventory', onLog(signed(listed(), own)))).toBe(true);
    expect(trust.believes('decisions', onLog(listed()))).toBe(true);
    expect(trust.notBelieved).toEqual({ records: 0, areShown: false });
  });

  test('counts as of when the log took it: a key that was revoked later proves it', async () => {
    const later = revoked(root, own, { issuedAtMs: SIGNED_AT_MS + DAY_MS });
    const { trust } = await trusting('required', [...certificates(), later]);
    const record = (timestampMs: number): LogRecord => onLog(signed(listed(), own), timestampMs);
    expect(trust.believes('inventory', record(SIGNED_AT_MS))).toBe(true);
    expect(trust.believes('inventory', record(SIGNED_AT_MS + DAY_MS))).toBe(false);
  });

  test('is shown and counted where that is asked for, and not looked at where nothing is', async () => {
    const { trust } = await trusting('warn');
    expect(trust.believes('inventory', onLog(listed()))).toBe(true);
    expect(trust.notBelieved).toEqual({ records: 1, areShown: true });
    const { trust: off } = await trusting('off');
    expect(off.believes('inventory', onLog(listed()))).toBe(true);
    expect(off.notBelieved).toBeNull();
  });

  test('with a key that was certified meanwhile is believed, and strangers have keys read once a second', async () => {
    const { signal } = new AbortController();
    const time = { nowMs: SIGNED_AT_MS };
    const { trust, records } = await trusting('required', [], () => time.nowMs);
    const record = onLog(signed(listed(), own));
    records.push(...certificates());
    await trust.knowSigner('inventory', record, signal);
    expect(trust.believes('inventory', record)).toBe(false);
    time.nowMs += 1_000;
    await trust.knowSigner('inventory', record, signal);
    expect(trust.believes('inventory', record)).toBe(true);
  });

  test('with such a key waits for keys that are read for another', async () => {
    const { signal } = new AbortController();
    const time = { nowMs: SIGNED_AT_MS };
    const { trust, records } = await trusting('required', [], () => time.nowMs);
    const record = onLog(signed(listed(), own));
    records.push(...certificates());
    time.nowMs += 1_000;
    const first = trust.knowSigner('inventory', onLog(signed(listed(), stranger)), signal);
    await trust.knowSigner('inventory', record, signal);
    expect(trust.believes('inventory', record)).toBe(true);
    await first;
  });
});

test('a page that believes what is signed shows nothing else, and says how much it does not believe', async () => {
  const { log } = await ownLog();
  const nowMs = Date.now();
  const takenAt = instant({ wallTimeMs: nowMs });
  const stats = (node: string): OutgoingRecord =>
    outgoing(nodeOutput('diskStats', diskStats({}, { id: `stats-${node}`, node, takenAt })));
  const result = (id: string): OutgoingRecord =>
    outgoing(nodeOutput('results', objectResult({ id, result: removed(10) })));
  const certificate = certified(root, own, {
    role: 'node',
    clusters: ['prod'],
    nodes: ['web-1'],
    issuedAtMs: nowMs - DAY_MS,
    notAfterMs: nowMs + DAY_MS,
  });
  const { topic, key, value, headers } = certificate;
  await log.publish([
    { topic, key: key ?? '', value, headers },
    signed(stats('web-1'), own),
    stats('made-up'),
    signed(result('result-1'), own),
    result('result-2'),
  ]);
  for (const { latest, record } of await positionsOn(log, 'diskStats'))
    await log.publish([
      latest.fact === 'diskStats' && latest.node === 'web-1' ? signed(record, own) : record,
    ]);
  const path = join(temporaryDirectory(), 'projection.db');
  const shown = async (facts: FactsTrust) => {
    const dashboard = await dashboardOf(log, { path, believing: { roots: rootsOf(root), facts } });
    await caughtUp(dashboard);
    const { nodes } = DashboardNodes.parse(await dashboard.json('/api/nodes'));
    const { objects } = DashboardFreed.parse(await dashboard.json('/api/freed?from=0'));
    const { notBelieved, unreadable } = DashboardProgress.parse(await dashboard.json('/api/progress'));
    await dashboard.stop();
    return { nodes: nodes.map(({ node }) => node), objects, notBelieved, unreadable };
  };
  expect(await shown('off')).toMatchObject({
    nodes: ['made-up', 'web-1'],
    objects: 2,
    notBelieved: null,
  });
  // What was stored before is not believed any more.
  const believed = await shown('required');
  expect(believed).toMatchObject({ nodes: ['web-1'], objects: 1, unreadable: 0 });
  expect(believed.notBelieved).toMatchObject({ areShown: false });
  expect(believed.notBelieved?.records).toBeGreaterThanOrEqual(1);
  expect(await shown('warn')).toMatchObject({ nodes: ['made-up', 'web-1'], notBelieved: { areShown: true } });
});
