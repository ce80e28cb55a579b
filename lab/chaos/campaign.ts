import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ChaosBroker, startChaosBroker } from './broker/broker.ts';
import { startImageSource } from './fleet/image-source.ts';
import { type Outcome, runRound } from './round.ts';
import type { Schedule } from './schedule/schedule.ts';

/** Rounds beside each other, as many as there are brokers; what comes then waits for a free one. */
export interface Campaign extends AsyncDisposable {
  /** What a round that did not hold left behind is kept beside the file of outcomes. */
  round(name: string, schedule: Schedule): Promise<Outcome>;
}

interface CampaignSettings {
  readonly program: string;
  /** Gets a line for each round. */
  readonly out: string;
  /** Keeps what every round left behind. */
  readonly keepAll: boolean;
  /** So many rounds may run beside each other. */
  readonly lanes: number;
  /** Ends the round in hand. */
  readonly signal: AbortSignal;
}

export async function startCampaign({
  program,
  out,
  keepAll,
  lanes,
  signal,
}: CampaignSettings): Promise<Campaign> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-chaos-'));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const brokers = await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const ofLane = join(directory, `lane-${lane + 1}`);
      mkdirSync(ofLane);
      return starting.use(await startChaosBroker(ofLane));
    }),
  );
  const withBroker = inLanes(brokers);
  mkdirSync(dirname(out), { recursive: true });
  const owned = starting.move();
  const images = lazily(() => startImageSource(), owned);
  return {
    round: async (name, schedule) => {
      const ofRound = join(directory, name);
      mkdirSync(ofRound);
      const outcome = await withBroker((broker) =>
        runRound({ broker, images, program, directory: ofRound, signal }, schedule),
      );
      appendFileSync(
        out,
        `${JSON.stringify({ name, at: new Date().toISOString(), ...outcome, schedule })}\n`,
      );
      if (keepAll || outcome.outcome !== 'held') keep(ofRound, join(dirname(out), name));
      rmSync(ofRound, { recursive: true, force: true });
      return outcome;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Begun when it is asked for first, and ended with the stack. */
function lazily<T extends AsyncDisposable>(
  start: () => Promise<T>,
  stack: AsyncDisposableStack,
): () => Promise<T> {
  let started: Promise<T> | null = null;
  return () => {
    started ??= start().then((begun) => stack.use(begun));
    return started;
  };
}

/** Lets each act have one of them for itself, in the order in which they come. */
function inLanes(
  brokers: readonly ChaosBroker[],
): <T>(act: (broker: ChaosBroker) => Promise<T>) => Promise<T> {
  const free = [...brokers];
  const waiting: ((broker: ChaosBroker) => void)[] = [];
  return async (act) => {
    const broker = free.pop() ?? (await new Promise<ChaosBroker>((resolve) => waiting.push(resolve)));
    try {
      return await act(broker);
    } finally {
      const next = waiting.shift();
      if (next) next(broker);
      else free.push(broker);
    }
  };
}

/** Sockets cannot be copied, and disks are gone by then. */
function keep(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    force: true,
    filter: (path) => !/(\.sock|\/disk|\/state)$/.test(path),
  });
}
