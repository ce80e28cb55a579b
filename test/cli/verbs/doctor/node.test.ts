import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockState, openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { DoctorReport } from '../../../../schemas/reports/doctor.ts';
import { NODE_CHECKS } from '../../../../services/doctor/node.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';

const MACHINE_ID = '3d1219c7c4c5404aaa1f6d2a48adfda4';

/** A node that works, with a policy in force; `look` asks the doctor, with more arguments at the end. */
async function workingNode() {
  const node = await simulatedNode({ hasContainerdApi: true });
  const { path, run } = await ownLog();
  const directory = temporaryDirectory();
  const [machineIdFile, policy] = [join(directory, 'machine-id'), join(directory, 'policy.yaml')];
  writeFileSync(machineIdFile, MACHINE_ID);
  writeFileSync(policy, 'name: web\nmode: enforce\n');
  expect((await run('policy', 'apply', policy)).exitCode).toBe(0);
  const state = join(directory, 'state');
  openStateDirectory(state, MACHINE_ID);
  const look = async (...more: readonly string[]) => {
    const { exitCode, stdout, stderr } = await inProcess([
      ...['doctor', 'node', '-o', 'json', '--log', 'embedded', '--log-path', path],
      ...['--node-name', 'web-1', '--runtime-endpoint', node.endpoint, '--nodefs-path', directory],
      ...['--pod-logs-dir', node.podLogsDir, '--container-logs-dir', node.containerLogsDir],
      ...['--machine-id-file', machineIdFile, '--state-directory', state],
      ...more,
    ]);
    const report = DoctorReport.parse(JSON.parse(stdout));
    const of = (id: string) => report.checks.find((check) => check.id === id);
    return { exitCode, stderr, report, of };
  };
  return { node, run, state, directory, look };
}

test('of a node that works every check tells what it saw, and the exit code is 0', async () => {
  const { look, state } = await workingNode();
  using _working = lockState(state, ['agent', 'executor']);

  const { exitCode, stderr, report, of } = await look();

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(report).toMatchObject({ of: 'node', name: 'local/web-1' });
  expect(report.checks.map(({ id }) => id)).toEqual(Object.keys(NODE_CHECKS));
  expect(report.checks.filter(({ outcome }) => outcome === 'problem')).toEqual([]);
  for (const id of ['image-layers', 'state-directory', 'state-lock', 'event-log', 'topics', 'policy'])
    expect(of(id), id).toMatchObject({ outcome: 'ok', todo: null });
  // A simulated runtime is none that FleetGC is tested with.
  expect(of('runtime')).toMatchObject({ outcome: 'warning' });
  expect(of('policy')?.seen).toBe('web, mode enforce');
  expect(of('state-lock')?.seen).toContain(`agent: process ${process.pid} `);
  expect(of('rights')?.outcome).toBe('skipped');
});

test('what is wrong is told with what to do, and the exit code says so', async () => {
  const { look, directory, state, run } = await workingNode();
  writeFileSync(join(state, 'node.yaml'), 'hold: perhaps\n');
  expect((await run('pause', '--reason', 'moving house')).exitCode).toBe(0);

  const { exitCode, stderr, of } = await look('--runtime-endpoint', join(directory, 'none.sock'));

  expect(exitCode).toBe(1);
  expect(stderr).toBe('fleetgc doctor node: something is wrong: runtime, local-file\n');
  expect(of('runtime')).toMatchObject({ outcome: 'problem', todo: expect.stringContaining('docs/') });
  expect(of('image-layers')?.outcome).toBe('skipped');
  expect(of('local-file')).toMatchObject({ outcome: 'problem' });
  expect(of('policy')).toMatchObject({
    outcome: 'warning',
    seen: 'a pause holds: moving house',
    todo: expect.stringContaining('fleetgc resume'),
  });
});

test('settings with which nothing would start are found, and the other checks are made all the same', async () => {
  const { look } = await workingNode();
  const kafka = ['--log', 'kafka', '--kafka-brokers', 'kafka', '--trust', 'required'];

  const { exitCode, of } = await look(...kafka);

  expect(exitCode).toBe(1);
  expect(of('node-name')).toMatchObject({
    outcome: 'problem',
    seen: expect.stringMatching(/--cluster is missing/),
  });
  expect(of('event-log')).toMatchObject({ outcome: 'problem', seen: expect.stringMatching(/HOST:PORT/) });
  for (const id of ['topics', 'rights', 'clock', 'policy'])
    expect(of(id), id).toMatchObject({ outcome: 'skipped' });
  expect(of('image-layers')?.outcome).toBe('ok');
});

test('nothing is made where nothing is', async () => {
  const { look, directory } = await workingNode();
  const [state, log] = [join(directory, 'other'), join(directory, 'other.db')];

  const { of } = await look('--state-directory', state, '--log-path', log);

  expect(of('state-directory')).toMatchObject({ outcome: 'warning', seen: `${state} is not there` });
  expect(of('event-log')).toMatchObject({ outcome: 'problem' });
  // Whoever makes a directory fails where there is one.
  expect(() => mkdirSync(state)).not.toThrow();
});

test('people read first what is wrong', async () => {
  const { directory } = await workingNode();
  const { stdout } = await inProcess([
    'doctor',
    'node',
    '--log',
    'embedded',
    '--log-path',
    join(directory, 'none.db'),
  ]);

  expect(stdout).toMatch(/^problem {2}\S/);
  expect(stdout).toMatch(/^ {9}→ \S/m);
  expect(stdout).toMatch(/\n\n\d+ problems?, \d+ warnings?, \d+ ok, \d+ skipped\n$/);
});
