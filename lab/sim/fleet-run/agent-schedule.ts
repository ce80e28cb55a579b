import { createWakeSignal } from '../../../packages/process/loops.ts';
import type { AgentTask, TaskSchedule } from '../../../services/node/agent/task-schedule.ts';
import { availableAt, type FleetNode, type NodeWatcher } from '../fleet/fleet-node.ts';
import type { FleetTime } from '../fleet/fleet-time.ts';

/** When an agent of the fleet looks: when something changes, and else as seldom as nothing is missed. */
export interface AgentSchedule {
  readonly schedule: TaskSchedule;
  readonly watcher: Pick<NodeWatcher, 'listingChanged' | 'diskChanged'>;
  /** A detection now, as before the use of an image ends. */
  detectNow(): Promise<void>;
}

/** Each bucket of the disk history gets its sample. */
const SAMPLE_EVERY_MS = 10_000;
/** Nothing that happens on a node is seen later than by an agent that looks every ten seconds. */
const DETECT_AFTER_CHANGE_MS = 5_000;
/** Uses of images are watched without a break only while detections follow each other within five minutes. */
const DETECT_EVERY_MS = 200_000;
const SAVE_EVERY_MS = 60_000;

export interface AgentScheduleParts {
  readonly node: FleetNode;
  readonly time: FleetTime;
  readonly sleep: FleetTime['sleep'];
  /** Whether nothing is looked at any more of itself. */
  readonly isQuiet: () => boolean;
}

export function agentSchedule({ node, time, sleep, isQuiet }: AgentScheduleParts): AgentSchedule {
  const wakeSignals = {
    sample: createWakeSignal(sleep),
    detect: createWakeSignal(sleep),
    save: createWakeSignal(sleep),
  };
  let detect: () => Promise<void> | void = () => {};
  let detectedMs = Number.NEGATIVE_INFINITY;
  const pauses: Readonly<Record<AgentTask, (signal: AbortSignal) => Promise<void>>> = {
    sample: (signal) => wakeSignals.sample.wait(untilNextPercentMs(node, time.now()), signal),
    detect: async (signal) => {
      wakeSignals.save.wake();
      await wakeSignals.detect.wait(DETECT_EVERY_MS, signal);
      await sleep(DETECT_AFTER_CHANGE_MS, signal);
    },
    save: (signal) => wakeSignals.save.wait(SAVE_EVERY_MS, signal),
  };
  return {
    schedule: async (task, work, signal) => {
      if (task === 'detect') detect = work;
      while (!signal.aborted) {
        if (!isQuiet()) await work();
        if (task === 'detect') detectedMs = time.now();
        await pauses[task](signal);
      }
    },
    watcher: {
      listingChanged: () => wakeSignals.detect.wake(),
      diskChanged: () => wakeSignals.sample.wake(),
    },
    detectNow: async () => {
      if (time.now() - detectedMs < SAMPLE_EVERY_MS) return;
      detectedMs = time.now();
      await detect();
    },
  };
}

/** Until what fills the disk has crossed a whole percent, at most until the next bucket. */
function untilNextPercentMs(node: FleetNode, nowMs: number): number {
  const capacity = Number(node.disk.capacityBytes);
  const available = Number(availableAt(node, nowMs));
  const step = capacity / 100;
  const toNextBytes = available - Math.floor(available / step) * step;
  const crossesInMs = Math.ceil(toNextBytes / node.other.bytesPerMs) + 1;
  return Math.min(SAMPLE_EVERY_MS, Math.max(1_000, crossesInMs));
}
