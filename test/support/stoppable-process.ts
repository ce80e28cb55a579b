import { createLogger } from '../../packages/process/logger.ts';
import { endProcess, processControl, runProcess } from '../../packages/process/run.ts';

/**
 * A process of its own for tests of signals: `waits` until it is told to stop, `throws` outside of every await, or
 * `forgets` a timer when it ends.
 */
const BODIES: Readonly<Record<string, (signal: AbortSignal) => Promise<void>>> = {
  waits: untilAborted,
  throws: (signal) => {
    setImmediate(() => {
      throw new RangeError('nobody waits for this');
    });
    return untilAborted(signal);
  },
  forgets: async () => {
    setInterval(() => undefined, 1_000);
  },
};

async function untilAborted(signal: AbortSignal): Promise<void> {
  const keepAlive = setInterval(() => undefined, 1_000);
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  clearInterval(keepAlive);
}

const [, , name = ''] = process.argv;
const body = BODIES[name];
if (!body) throw new Error(`no behaviour ${name}`);
const stderr = { isTerminal: false, write: (line: string) => process.stderr.write(line) };
const logger = createLogger({ service: 'test', level: 'info' }, stderr);
const running = runProcess(body, { logger, control: processControl, shutdownLimitMs: 5_000, endless: true });
process.stdout.write('ready\n');
endProcess(await running);
