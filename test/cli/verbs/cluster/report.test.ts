import { expect, test } from 'vitest';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import { randomTraceIds } from '../../../../packages/process/system-sources.ts';
import { clusterSource, createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import type { Census } from '../../../../schemas/events/census.ts';
import { census, fullCensus } from '../../../fixtures/census.ts';
import { type OwnLog, ownLog } from '../../fleetgc.ts';
import { rootedLog } from '../rooted-log.ts';

async function told({ log }: OwnLog, ...events: readonly Census[]): Promise<void> {
  const publisher = createPublisher({
    log,
    source: clusterSource('c1'),
    now: Date.now,
    ids: randomTraceIds,
    signer: UNSIGNED,
  });
  for (const event of events) await publisher.publish([clusterOutput('clusterCensus', event)]);
}

const object = { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'd', uid: 'd' };
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'n' };
const bad = census({ badReferences: { count: 1, first: [{ object, owner, state: 'unseen' }] } });

test('what each cluster told last is shown', async () => {
  const own = await ownLog();
  await told(own, bad, { ...census(), cluster: 'c2' }, { ...bad, id: 'newer' });
  const { exitCode, stdout, stderr } = await own.run('cluster', 'report');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toContain(
    'References that lead nowhere: 1\n  ConfigMap ns/d: ConfigMap nobody, which is not there',
  );
  expect(stdout).toContain('Nothing waits, and no reference leads nowhere.');
  const json = await own.run('cluster', 'report', '--cluster', 'c1', '--output', 'json');
  expect(JSON.parse(json.stdout)).toEqual([{ ...bad, id: 'newer' }]);
});

test('what is counted and not told is said', async () => {
  const own = await ownLog();
  await told(own, fullCensus({ name: 'x' }));
  const { stdout } = await own.run('cluster', 'report');
  expect(stdout).toContain('Waiting for dependents: 1000000');
  expect(stdout).toContain('  and 999950 more');
});

test.each([[], ['--cluster', 'other']])('a log on which nobody told anything: %j', async (...args) => {
  const own = await ownLog();
  if (args.length > 0) await told(own, bad);
  const { exitCode, stderr } = await own.run('cluster', 'report', ...args);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('on this event log');
});

test('whose word it is stands beside it, and with roots it is said where no key signed it', async () => {
  const { own, file } = await rootedLog();
  await told(own, bad);
  expect((await own.run('cluster', 'report')).stdout).toContain(', not proved: signatures are not checked');
  const { stdout, stderr } = await own.run('cluster', 'report', '--trust-roots', file('roots.yaml'));
  expect(stdout).toContain(', NOT PROVED: no key of the cluster signed it');
  expect(stderr).toContain('No key of the cluster c1 signed what is reported of it');
});
