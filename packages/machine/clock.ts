import { readFileSync } from 'node:fs';
import type { Instant } from '../../schemas/events/time.ts';
import { FleetGcError } from '../process/errors.ts';

/** The node's clock, injected wherever time is needed. */
export interface NodeClock {
  /** Wall time, boot id and time since boot, read together. */
  now(): Instant;
}

/** Where Linux tells the time; the defaults are right in a container too, which shares the kernel of its node. */
export interface LinuxClockFiles {
  readonly bootIdFile: string;
  readonly uptimeFile: string;
}

const FILES: LinuxClockFiles = {
  bootIdFile: '/proc/sys/kernel/random/boot_id',
  uptimeFile: '/proc/uptime',
};

/**
 * The clock of a Linux node. Time since boot comes from /proc/uptime, which is CLOCK_BOOTTIME cut to 10 ms:
 * `process.hrtime` is CLOCK_MONOTONIC, stands still while the machine sleeps, and would make everything younger and
 * every order live longer. The cut makes an instant at most 10 ms earlier than it was, never later.
 * Throws `INTERNAL` where there is no such file.
 */
export function linuxClock({ bootIdFile, uptimeFile }: LinuxClockFiles = FILES): NodeClock {
  const bootId = readLine(bootIdFile);
  return {
    now: () => ({
      wallTimeMs: Date.now(),
      bootId,
      sinceBootMs: parseUptimeMs(readLine(uptimeFile)),
    }),
  };
}

/** `1598.64 2942.01` becomes 1598640. */
export function parseUptimeMs(content: string): number {
  const match = /^(\d+)\.(\d{2}) /.exec(content);
  if (!match) throw new FleetGcError('INTERNAL', `cannot read the time since boot from "${content}"`);
  return Number(match[1]) * 1000 + Number(match[2]) * 10;
}

function readLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new FleetGcError(
      'INTERNAL',
      `cannot read ${file}, so times on this machine cannot be compared: FleetGC's node services need Linux with /proc`,
      { cause },
    );
  }
}
