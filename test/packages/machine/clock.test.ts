import { writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linuxClock, parseUptimeMs } from '../../../packages/machine/clock.ts';
import { readMachineId } from '../../../packages/machine/machine-id.ts';
import { Instant } from '../../../schemas/events/time.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const file = (content: string): string => {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, content);
  return path;
};

test('the clock of this machine gives an instant between two readings of its uptime', () => {
  const clock = linuxClock();
  const before = Math.floor(uptime() * 1000);
  const now = Instant.parse(clock.now());
  const after = Math.ceil(uptime() * 1000);

  expect(now.sinceBootMs).toBeGreaterThanOrEqual(before);
  expect(now.sinceBootMs).toBeLessThanOrEqual(after);
  expect(clock.now().bootId).toBe(now.bootId);
});

test('time since boot is read anew each time, the boot id once', () => {
  const uptimeFile = file('10.00 5.00\n');
  const clock = linuxClock({ bootIdFile: file('boot-a\n'), uptimeFile });
  expect(clock.now()).toMatchObject({ bootId: 'boot-a', sinceBootMs: 10_000 });

  writeFileSync(uptimeFile, '11.25 5.00\n');
  expect(clock.now()).toMatchObject({ bootId: 'boot-a', sinceBootMs: 11_250 });
});

test.each([
  ['0.00 0.00', 0],
  ['1598.64 2942.01', 1_598_640],
  ['315360000.99 1.00', 315_360_000_990],
])('%s is %d ms since boot', (content, expected) => {
  expect(parseUptimeMs(content)).toBe(expected);
});

test('without the files of Linux there is no clock, and the error says why', () => {
  expect(() => linuxClock({ bootIdFile: '/nowhere/boot_id', uptimeFile: '/proc/uptime' })).toThrow(
    "FleetGC's node services need Linux with /proc",
  );
  expect(() => parseUptimeMs('up since yesterday')).toThrow('cannot read the time since boot');
});

test.each([
  ['a plain id', '3d1219c7c4c5404aaa1f6d2a48adfda4\n', '3d1219c7c4c5404aaa1f6d2a48adfda4'],
  ['an id with dashes', '3d1219c7-c4c5-404a-aa1f-6d2a48adfda4', '3d1219c7-c4c5-404a-aa1f-6d2a48adfda4'],
])('the machine id is read from %s', (_name, content, expected) => {
  expect(readMachineId(file(content))).toBe(expected);
});

test.each([
  ['an empty file', () => file('')],
  ['a machine that was never set up', () => file('uninitialized\n')],
  ['a missing file', () => '/nowhere/machine-id'],
])('%s is no machine id', (_name, path) => {
  expect(() => readMachineId(path())).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
