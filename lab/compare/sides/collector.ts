import type { RunningProcess } from './process.ts';

/** `always`: by itself. `when-started`: all there is once, when it starts, and then so seldom that nobody waits for it. */
export type Looks = 'always' | 'when-started';

/** A collector as histories meet it. */
export interface Collector extends AsyncDisposable {
  /** Rejects when it ends by itself. */
  readonly ended: Promise<never>;
  readonly looks: Looks;
  /** Has it look at all there is, where it does not by itself. */
  look(): Promise<void>;
  /** It does nothing until it looks again; nothing at all for one that looks by itself. */
  rest(): Promise<void>;
}

/** `start` starts its process, once or for each look. */
export async function collector(looks: Looks, start: () => Promise<RunningProcess>): Promise<Collector> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  let running: RunningProcess | null = null;
  const begin = async (): Promise<void> => {
    running = await start();
    running.ended.catch(reject);
  };
  const stop = async (): Promise<void> => {
    await running?.[Symbol.asyncDispose]();
    running = null;
  };
  if (looks === 'always') await begin();
  return {
    ended,
    looks,
    look: async () => {
      if (looks === 'always') return;
      await stop();
      await begin();
    },
    rest: async () => {
      if (looks === 'when-started') await stop();
    },
    [Symbol.asyncDispose]: stop,
  };
}
