import { setTimeout as sleep } from 'node:timers/promises';
import type { RunVerb } from './verb.ts';

const AGAIN_MS = 500;

/** Runs a verb until it succeeds, as somebody does whose broker is away; resolves to what it printed, `null` when told to stop. */
export type UntilDone = (args: readonly string[], stdin?: string) => Promise<string | null>;

export const untilDone =
  (run: RunVerb, signal: AbortSignal): UntilDone =>
  async (args, stdin = '') => {
    while (!signal.aborted) {
      const { exitCode, stdout } = await run(args, stdin);
      if (exitCode === 0) return stdout;
      await sleep(AGAIN_MS);
    }
    return null;
  };
