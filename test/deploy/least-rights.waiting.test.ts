import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { linuxClock } from '../../packages/machine/clock.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../support/program.ts';
import { simulatedNode } from '../support/simulated-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { textOf } from './files.ts';

const BOUND_MS = 10_000;
/** Rights can be taken away only by who has them all, with the tool of util-linux. */
const canTakeAway =
  process.getuid?.() === 0 && spawnSync('setpriv', ['--bounding-set=-all', 'true']).status === 0;

/** Options of `setpriv` that leave a process what the unit leaves it. */
function rightsOf(unit: string): readonly string[] {
  const kept = /^CapabilityBoundingSet=(.*)$/m.exec(textOf(`deploy/systemd/${unit}`))?.[1] ?? 'none given';
  const names = kept.split(' ').filter((name) => name !== '');
  const set = ['-all', ...names.map((name) => `+${name.replace(/^CAP_/, '').toLowerCase()}`)].join(',');
  return [`--bounding-set=${set}`, '--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs'];
}

const POLICY = `
name: all
mode: enforce
maximumDeadContainersPerContainer: 0
`;

test.runIf(canTakeAway)(
  'a node with the rights of its unit removes a dead container and its log, where nobody but root may look',
  async () => {
    const node = await simulatedNode({ hasContainerdApi: true, clock: linuxClock() });
    const uid = await node.kubelet.startPod({
      name: 'web',
      namespace: 'default',
      containers: { main: 'registry.example/web:1' },
    });
    // The last that died of a pod that may come back stays. Which it is nobody knows of two that were created in one millisecond.
    for (let crashes = 0; crashes < 2; crashes += 1) {
      node.kubelet.crashPod(uid);
      await node.kubelet.restartContainers(uid);
    }
    const dead = [...node.runtime.containers.values()].filter(({ state }) => state === 'exited');
    for (const { logFile } of dead) writeFileSync(logFile ?? 'it has no log', 'a line\n', { mode: 0o640 });
    for (const directory of [node.podLogsDir, node.containerLogsDir]) chmodSync(directory, 0o700);
    chmodSync(node.endpoint.replace('unix://', ''), 0o600);
    const state = join(temporaryDirectory(), 'state');
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(join(state, 'policy.yaml'), POLICY);
    writeFileSync(join(state, 'machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n', { mode: 0o400 });

    const child = spawn(
      'setpriv',
      [
        ...rightsOf('fleetgc-node.service'),
        ...[PROGRAM, 'run', '--http-address', 'none', '--policy', join(state, 'policy.yaml')],
        ...['--runtime-endpoint', node.endpoint, '--state-directory', state],
        ...['--machine-id-file', join(state, 'machine-id')],
        ...['--pod-logs-dir', node.podLogsDir, '--container-logs-dir', node.containerLogsDir],
      ],
      { env: PROGRAM_ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });

    const kept = () =>
      dead.filter(({ id, logFile }) => node.runtime.containers.has(id) || existsSync(logFile ?? ''));
    expect(kept()).toHaveLength(2);
    await waitUntil('one container and its log to go', BOUND_MS, () => {
      if (kept().length < 2) return true;
      throw new Error(output);
    });
    expect(output).not.toMatch(/EACCES|EPERM|permission/i);
  },
);
