import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFaketime } from '../../../test/support/toolchain/faketime.ts';

/** From then on a clock is so far from the true one. */
export interface ClockStep {
  readonly atMs: number;
  readonly offsetMs: number;
}

/** The wall clock that the processes of one machine see; time since boot, and what timers wait for, is everybody's. */
export interface MachineClock {
  readonly environment: Readonly<Record<string, string>>;
  /** From now on it is so far from the true one. */
  set(offsetMs: number): void;
  readonly steps: readonly ClockStep[];
}

export async function machineClock(name: string, directory: string): Promise<MachineClock> {
  const path = join(directory, `${name}.clock`);
  const steps: ClockStep[] = [];
  const set = (offsetMs: number): void => {
    const seconds = Math.round(offsetMs / 1000);
    steps.push({ atMs: Date.now(), offsetMs: seconds * 1000 });
    writeFileSync(path, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  };
  set(0);
  return {
    set,
    steps,
    environment: {
      LD_PRELOAD: await ensureFaketime(),
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  };
}
