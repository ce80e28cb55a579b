/** The runtime of a node as a process of its own: it outlives whoever uses its runtime. Started with its settings as JSON. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CriServer } from '../../../packages/cri/server.ts';
import type { ChaosNode } from './chaos-node.ts';
import { containerdNode } from './containerd/node.ts';
import { createLife, rollBack } from './life.ts';
import { type Change, NodeStart, type RuntimeTrouble, ToNode } from './messages.ts';
import { simulatedNode } from './simulated/node.ts';

/** What was removed may free its space late. */
const WEIGH_EVERY_MS = 250;
const USAGE_CHANGE_EVERY_MS = 1_500;
const PRESSURE_PERCENT = 88n;

let goOn = (): void => undefined;
const stopped = (): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  goOn = resolve;
  process.send?.('stopped');
  return promise;
};
const start = NodeStart.parse(JSON.parse(process.argv[2] ?? ''));
const node: ChaosNode =
  start.runtimeEndpoint === null
    ? simulatedNode(start, stopped)
    : await containerdNode({ ...start, runtimeEndpoint: start.runtimeEndpoint }, stopped);
const { faults, removalFaults, disk } = node;
/** `null` while it is away. Faults overlap: it comes and goes one time after the other. */
let server: Promise<CriServer | null> = node.serve();
await server;
let isAlive = false;
/** While something changes in the middle of a command, no pods come and go. */
let isStill = false;

async function live(seed: number, stepMs: number, headStart: number): Promise<void> {
  const step = createLife(node, seed);
  isAlive = true;
  for (let steps = 1; isAlive; steps += 1) {
    if (!isStill && !isUnderPressure()) await step();
    await sleep(steps > headStart ? stepMs : 0);
  }
}

/** As a kubelet that admits no pods then. */
const isUnderPressure = (): boolean => disk.usedBytes() * 100n > disk.capacityBytes * PRESSURE_PERCENT;

/** More than what nobody tells of, and next to nothing beside the distance between two thresholds. */
const USAGE_CHANGE_PERCENT = 4n;

async function changeUsage(): Promise<void> {
  const changeBytes = (disk.capacityBytes * USAGE_CHANGE_PERCENT) / 100n;
  for (;;) {
    disk.otherBytes = disk.otherBytes === disk.usualBytes ? disk.usualBytes - changeBytes : disk.usualBytes;
    disk.weigh();
    await sleep(USAGE_CHANGE_EVERY_MS);
  }
}

function fill(toPercent: number): void {
  const wanted = (disk.capacityBytes * BigInt(toPercent)) / 100n;
  const missing = wanted - disk.usedBytes();
  disk.otherBytes += missing > 0n ? missing : 0n;
  disk.weigh();
}

async function make(trouble: RuntimeTrouble): Promise<void> {
  switch (trouble.how) {
    case 'lie':
      removalFaults.lies.add(trouble.method);
      break;
    case 'hang':
    case 'half':
      faults.onCall(trouble.method, { kind: trouble.how });
      break;
    case 'error':
      faults.onCall(trouble.method, { kind: 'error', message: 'the runtime is out of sorts' });
      break;
    case 'late':
      faults.freeLateMs = trouble.lateMs;
      break;
    case 'slow':
      removalFaults.slowMs = trouble.slowMs;
      break;
    case 'fill':
      fill(trouble.toPercent);
      break;
    case 'away':
      server = server.then(async (there) => {
        await there?.close();
        return null;
      });
      await server;
  }
}

async function heal(): Promise<void> {
  removalFaults.lies.clear();
  removalFaults.slowMs = 0;
  faults.clear();
  relax();
  server = server.then((there) => there ?? node.serve());
  await server;
}

const PRESSED_PERCENT = 92;

function amid(change: Change, slowMs: number): void {
  fill(PRESSED_PERCENT);
  removalFaults.amid = async () => {
    isStill = true;
    removalFaults.slowMs = slowMs;
    if (change === 'relieved') empty();
    if (change === 'rolled-back') await rollBack(node);
    process.send?.('amid');
  };
}

function relax(): void {
  disk.otherBytes = disk.usualBytes;
  disk.weigh();
}

/** Somebody takes all away that is neither image nor container. */
function empty(): void {
  disk.otherBytes = 0n;
  disk.weigh();
}

async function amidIsOver(): Promise<void> {
  removalFaults.amid = null;
  isStill = false;
  await heal();
}

async function strangers(images: number, everyMs: number): Promise<void> {
  for (;;) {
    node.exchangeStrangers(images);
    await sleep(everyMs);
  }
}

async function obey(message: ToNode): Promise<void> {
  switch (message.kind) {
    case 'live':
      return live(message.seed, message.stepMs, message.headStart);
    case 'rest':
      isAlive = false;
      return changeUsage();
    case 'trouble':
      return make(message.trouble);
    case 'heal':
      return heal();
    case 'stop-at':
      removalFaults.stopAt = message.moment;
      return;
    case 'go-on':
      removalFaults.stopAt = null;
      return goOn();
    case 'amid':
      return amid(message.change, message.slowMs);
    case 'amid-over':
      return amidIsOver();
    case 'press':
      return fill(PRESSED_PERCENT);
    case 'relax':
      return relax();
    case 'strangers':
      return strangers(message.images, message.everyMs);
  }
}

setInterval(() => disk.weigh(), WEIGH_EVERY_MS);
process.on('message', (message) => void obey(ToNode.parse(message)));
// Whoever started this is gone.
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
