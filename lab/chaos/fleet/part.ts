import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const END_MS = 15_000;
/** How long a slowed part runs at a time. */
const TURN_MS = 20;
/** Nothing of a round outlives the campaign, however that ends. */
const WITH_US = ['setpriv', '--pdeathsig', 'KILL', '--'];

/** A process of the product, kept running as an init system does. */
export interface Part extends AsyncDisposable {
  readonly name: string;
  kill(): void;
  /** Ends it at once, and leaves it so. */
  killAndHold(): void;
  freeze(): void;
  thaw(): void;
  /** Lets it run in one of so many turns, also when it is started again; 1 lets it run as it can. */
  slow(factor: number): void;
  /** Ends it as an operator does, and leaves it so. */
  hold(): Promise<void>;
  release(): void;
  /** How often it was started. */
  starts(): number;
  /** Of the process that runs now. Throws where it could not be started. */
  pid(): number;
  /** Exit codes of ends that nobody asked for. */
  readonly ends: readonly (number | null)[];
}

interface PartSettings {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** How long an init system waits before it starts again what ended. */
  readonly restartMs: number;
  /** Gets what it writes. */
  readonly logPath: string;
}

export function startPart({ name, command, environment, restartMs, logPath }: PartSettings): Part {
  const log = openSync(logPath, 'a');
  const ends: (number | null)[] = [];
  const [program = '', ...args] = [...WITH_US, ...command];
  /** How many want it down: faults overlap. */
  let holds = 0;
  let wasKilled = false;
  let starts = 0;
  let isFrozen = false;
  let turns: NodeJS.Timeout | null = null;
  let child = begin();
  function begin(): ChildProcess {
    starts += 1;
    const begun = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH ?? '', ...environment },
    });
    begun.once('error', () => ends.push(null));
    begun.once('exit', (code) => void again(begun, code));
    return begun;
  }
  async function again(ended: ChildProcess, code: number | null): Promise<void> {
    const isToBegin = (): boolean => holds === 0 && child === ended;
    if (!isToBegin()) return;
    if (!wasKilled) ends.push(code);
    wasKilled = false;
    await sleep(restartMs);
    if (isToBegin()) child = begin();
  }
  /** What is ending has to end. */
  function turn(): void {
    if (isFrozen || holds > 0) return;
    child.kill('SIGCONT');
    setTimeout(() => {
      if (turns !== null && !isFrozen && holds === 0) child.kill('SIGSTOP');
    }, TURN_MS);
  }
  return {
    name,
    ends,
    starts: () => starts,
    pid: () => {
      if (child.pid !== undefined) return child.pid;
      throw new Error(`${name} could not be started`);
    },
    kill: () => {
      wasKilled = true;
      child.kill('SIGKILL');
    },
    killAndHold: () => {
      holds += 1;
      child.kill('SIGKILL');
    },
    hold: () => {
      holds += 1;
      return ended(child);
    },
    release: () => {
      holds -= 1;
      if (holds === 0) child = begin();
    },
    freeze: () => {
      isFrozen = true;
      child.kill('SIGSTOP');
    },
    thaw: () => {
      isFrozen = false;
      child.kill('SIGCONT');
    },
    slow: (factor) => {
      if (turns !== null) clearInterval(turns);
      turns = factor === 1 ? null : setInterval(turn, TURN_MS * factor);
      if (factor === 1 && !isFrozen) child.kill('SIGCONT');
    },
    [Symbol.asyncDispose]: () => {
      holds += 1;
      if (turns !== null) clearInterval(turns);
      turns = null;
      return ended(child);
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  for (const signal of ['SIGCONT', 'SIGTERM'] as const) child.kill(signal);
  const impatience = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await gone;
  clearTimeout(impatience);
}
