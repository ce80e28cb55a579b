import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY, textOf, verbNamed } from './files.ts';

const PREFIX = '/opt/fleetgc/';
const units = readdirSync(join(REPOSITORY, 'deploy/systemd')).filter((file) => file.endsWith('.service'));

const setting = (unit: string, name: string): string =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(textOf(`deploy/systemd/${unit}`))?.[1] ?? '';

describe.each(units)('%s', (unit) => {
  const [program = '', ...verb] = setting(unit, 'ExecStart').split(' ');

  test('starts what is in the package', () => {
    expect(program.startsWith(PREFIX)).toBe(true);
    expect(existsSync(join(REPOSITORY, program.slice(PREFIX.length)))).toBe(true);
    expect(existsSync(join(REPOSITORY, setting(unit, 'Documentation').replace(`file:${PREFIX}`, '')))).toBe(
      true,
    );
  });

  test('gives it the time that a stop may take', () => {
    const limitMs = verbNamed(verb.join(' ')).shutdownLimitMs;
    expect(Number(setting(unit, 'TimeoutStopSec')) * 1000).toBeGreaterThanOrEqual(limitMs);
  });

  test('reads the environment file that comes with it, and does not repeat what wrong options say', () => {
    expect(setting(unit, 'EnvironmentFile')).toBe('/etc/fleetgc/fleetgc.env');
    expect(setting(unit, 'RestartPreventExitStatus')).toBe('2');
  });
});

test('the unit of a node lets it write where it must, and nowhere else', () => {
  const options = verbNamed('node').options;
  const standard = (key: string): string => options.find((option) => option.key === key)?.default ?? '';
  const unit = 'fleetgc-node.service';

  expect(`/var/lib/${setting(unit, 'StateDirectory')}`).toBe(standard('stateDirectory'));
  expect(setting(unit, 'ReadWritePaths').split(' ')).toEqual([
    `-${standard('podLogsDir')}`,
    `-${standard('containerLogsDir')}`,
  ]);
});
