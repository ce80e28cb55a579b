import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { FleetAccount } from '../../../../lab/sim/fleet-run/account.ts';
import { fleetgc } from '../../../cli/fleetgc.ts';
import { startBroker } from '../../../support/kafka/kafka.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../../support/program.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const BOUND_MS = 200_000;

const POLICY = `
name: default
mode: enforce
imageGCHighThresholdPercent: 85
imageGCLowThresholdPercent: 84
evictionHard: {}
`;

test('a fleet on Kafka ends with a clean account, though a decision worker is killed in the middle', async () => {
  const broker = await startBroker();
  onTestFinished(() => broker[Symbol.asyncDispose]());
  const environment = {
    FLEETGC_KAFKA_BROKERS: broker.address,
    FLEETGC_TRUST: 'off',
    FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
    FLEETGC_HTTP_ADDRESS: 'none',
  };
  await fleetgc(['topics', 'create'], { environment });
  const workers = [start(['decide'], environment), start(['decide'], environment)];
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, POLICY);

  const fleet = start(
    [
      'simulate-fleet',
      ...['--nodes', '80', '--duration', '40s', '--rate', '2x'],
      ...['--slow-removal-percent', '0', '--rebooted-percent', '0', '--old-clock-percent', '0'],
      ...['--policy', policy],
    ],
    environment,
  );
  const ended = once(fleet.child, 'close');
  const commanded = waitUntil('commands', BOUND_MS, () => /[1-9]\d* commands/.test(fleet.stderr()));
  await Promise.race([commanded, ended]);
  workers[0]?.child.kill('SIGKILL');
  const [exitCode] = await ended;

  expect(exitCode, fleet.stderr()).toBe(0);
  const account: FleetAccount = JSON.parse(fleet.stdout());
  expect(account.removals).toMatchObject({ wrong: 0, wrongs: [], lost: 0, twice: 0 });
  expect(account.removals.done.image).toBeGreaterThan(0);
  expect(account.published['gc.node.inventory']?.events).toBeGreaterThan(80);
});

interface Started {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

function start(args: readonly string[], environment: Readonly<Record<string, string>>): Started {
  const child = spawn(PROGRAM, args, {
    env: { ...PROGRAM_ENVIRONMENT, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  return { child, stdout: () => said.stdout, stderr: () => said.stderr };
}
