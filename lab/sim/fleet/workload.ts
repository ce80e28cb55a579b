import { DAY_MS, MINUTE_MS } from '../../../packages/process/durations.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import { between, evenChoice, exponentialMs, seededRandom, zipfChoice } from '../random.ts';
import type { FleetApplication } from './catalogue.ts';
import {
  addContainer,
  addSandbox,
  type Fleet,
  type FleetNode,
  type FleetPod,
  hold,
  instantAt,
  newFleetPod,
  type PodKind,
  stampAt,
} from './node.ts';
import { admitPod, bringUp, deletePod, endPodContainers, finishPod } from './node-kubelet.ts';

/** Something that the workload did on a node, told for accounts and for who compares runs. */
export interface WorkloadEvent {
  readonly atMs: number;
  readonly node: string;
  readonly what: 'deployed' | 'rolled-out' | 'crashed' | 'job-started' | 'job-finished' | 'tidied';
  /** The image or pod that it is about. */
  readonly about: string;
}

/** A fleet that something happens on. */
export interface BusyFleet extends Fleet {
  readonly report: (event: WorkloadEvent) => void;
  /** Nothing new begins after it. */
  readonly untilMs: number;
  /** Whether nothing new is to begin any more, be it earlier than that. */
  readonly isOver: () => boolean;
}

const DEPLOY_EVERY_MS = 40 * MINUTE_MS;
const ROLL_OUT_EVERY_MS = 8 * MINUTE_MS;
const ROLL_OUT_TAKES_MS = 5 * MINUTE_MS;
/** Of a hundred pods. */
const CRASHING_PERCENT = 0.3;
/** Of a hundred nodes. */
const WITH_JOBS_PERCENT = 20;
const MOST_OTHER_PERCENT = 72n;
const TIDY_OTHER_PERCENT = 45n;
const JOBS_KEPT = 3;

/** Begins the workload of a node that stands in its initial state; all of it follows from the seed. */
export function beginWorkload(busyFleet: BusyFleet, node: FleetNode): void {
  for (const pod of node.pods.values()) if (pod.kind === 'crashing') goOnCrashing(busyFleet, node, pod);
  deployAgain(busyFleet, node);
  if (node.random() * 100 < WITH_JOBS_PERCENT) jobsOf(busyFleet, node);
  tidyLater(busyFleet, node);
}

/** Calls `action` when its time has come, unless all lives have ended by then. */
function later({ time, untilMs, isOver }: BusyFleet, atMs: number, action: (atMs: number) => void): void {
  if (atMs >= untilMs) return;
  time.at(atMs, () => {
    if (!isOver()) action(atMs);
  });
}

function deployAgain(busyFleet: BusyFleet, node: FleetNode, afterMs = 0): void {
  later(busyFleet, afterMs + exponentialMs(node.random, DEPLOY_EVERY_MS), (atMs) => {
    const application = zipfChoice(node.random, busyFleet.catalogue.applications);
    const kind = kindOf(node);
    if (node.isUp) deploy(busyFleet, node, { application, kind, atMs });
    deployAgain(busyFleet, node, atMs);
  });
}

const kindOf = ({ random }: FleetNode): PodKind =>
  random() * 100 < CRASHING_PERCENT ? 'crashing' : 'service';

interface Deployment {
  readonly application: FleetApplication;
  readonly kind: PodKind;
  readonly atMs: number;
}

function deploy(busyFleet: BusyFleet, node: FleetNode, { application, kind, atMs }: Deployment): void {
  const image = busyFleet.catalogue.imageAt(application, busyFleet.epochMs + atMs);
  const pod = admitPod(busyFleet, node, { kind, application, image });
  busyFleet.report({ atMs, node: node.identity.node, what: 'deployed', about: image.reference });
  if (kind === 'crashing') crashLater(busyFleet, node, { pod, crashes: 0, atMs });
  const staying = [...node.pods.values()].filter((one) => one.listed !== null && one.kind !== 'job');
  for (const old of staying.slice(0, Math.max(0, staying.length - node.maximumPods)))
    deletePod(busyFleet, node, old);
}

const FIRST_CRASH_BACKOFF_MS = 10_000;
const MOST_CRASH_BACKOFF_MS = 5 * MINUTE_MS;
const RUNS_BEFORE_CRASH_MS = 8_000;

/** So many crashes lie behind what has crashed for long. */
const MANY_CRASHES = 6;

const goOnCrashing = (busyFleet: BusyFleet, node: FleetNode, pod: FleetPod): void =>
  crashLater(busyFleet, node, {
    pod,
    crashes: MANY_CRASHES,
    atMs: Math.round(node.random() * MOST_CRASH_BACKOFF_MS),
  });

interface CrashLoop {
  readonly pod: FleetPod;
  readonly crashes: number;
  /** Since when it runs. */
  readonly atMs: number;
}

/** As a kubelet restarts what crashes: after 10 s, doubling up to five minutes. */
function crashLater(busyFleet: BusyFleet, node: FleetNode, { pod, crashes, atMs: startMs }: CrashLoop): void {
  later(busyFleet, startMs + RUNS_BEFORE_CRASH_MS, (crashMs) => {
    if (pod.listed === null) return;
    crash(busyFleet, node, pod, crashMs);
    const backoffMs = Math.min(FIRST_CRASH_BACKOFF_MS * 2 ** crashes, MOST_CRASH_BACKOFF_MS);
    later(busyFleet, crashMs + backoffMs, (atMs) => {
      if (pod.listed === null) return;
      if (node.isUp) bringUp(busyFleet, node, pod);
      crashLater(busyFleet, node, { pod, crashes: crashes + 1, atMs });
    });
  });
}

function crash(busyFleet: BusyFleet, node: FleetNode, pod: FleetPod, atMs: number): void {
  if (!node.isUp || pod.containers.every(({ finishedMs }) => finishedMs !== null)) return;
  busyFleet.report({ atMs, node: node.identity.node, what: 'crashed', about: pod.name });
  endPodContainers(busyFleet, node, pod);
}

/** A CronJob whose pods come and go on this node. */
function jobsOf(busyFleet: BusyFleet, node: FleetNode): void {
  const everyMs = between(node.random, 10, 30) * MINUTE_MS;
  const application = evenChoice(node.random, busyFleet.catalogue.applications);
  const done: FleetPod[] = [];
  const next = (atMs: number): void =>
    later(busyFleet, atMs, () => {
      if (application !== undefined && node.isUp) runJob(busyFleet, node, { application, atMs, done });
      next(atMs + everyMs);
    });
  next(Math.round(node.random() * everyMs));
}

interface Job {
  readonly application: FleetApplication;
  readonly atMs: number;
  readonly done: FleetPod[];
}

function runJob(busyFleet: BusyFleet, node: FleetNode, { application, atMs, done }: Job): void {
  const image = busyFleet.catalogue.imageAt(application, busyFleet.epochMs + atMs);
  const pod = admitPod(busyFleet, node, { kind: 'job', application, image });
  const { node: name } = node.identity;
  busyFleet.report({ atMs, node: name, what: 'job-started', about: image.reference });
  later(busyFleet, atMs + between(node.random, 20_000, 120_000), (endMs) => {
    finishPod(busyFleet, node, pod);
    busyFleet.report({ atMs: endMs, node: name, what: 'job-finished', about: pod.name });
    done.push(pod);
    for (const old of done.splice(0, Math.max(0, done.length - JOBS_KEPT))) deletePod(busyFleet, node, old);
  });
}

/** What fills the disk beside images is tidied up when it is too much. */
function tidyLater(busyFleet: BusyFleet, node: FleetNode): void {
  const { disk, other } = node;
  const most = Number((disk.capacityBytes * MOST_OTHER_PERCENT) / 100n);
  const atMs = other.sinceMs + Math.max(MINUTE_MS, Math.ceil((most - other.bytes) / other.bytesPerMs));
  later(busyFleet, atMs, () => {
    other.bytes = Number((disk.capacityBytes * TIDY_OTHER_PERCENT) / 100n);
    other.sinceMs = atMs;
    busyFleet.report({ atMs, node: node.identity.node, what: 'tidied', about: 'logs' });
    node.watcher.diskChanged();
    tidyLater(busyFleet, node);
  });
}

/** New releases that reach all nodes that run the application within minutes. */
export function rollOut(busyFleet: BusyFleet, nodes: readonly FleetNode[], afterMs = 0): void {
  const random = seededRandom(busyFleet.seed * 7 + Math.round(afterMs));
  later(busyFleet, afterMs + exponentialMs(random, ROLL_OUT_EVERY_MS), (atMs) => {
    const application = evenChoice(random, busyFleet.catalogue.applications);
    if (application !== undefined)
      for (const node of nodes) rollOutOn(busyFleet, node, { application, atMs });
    rollOut(busyFleet, nodes, atMs);
  });
}

function rollOutOn(
  busyFleet: BusyFleet,
  node: FleetNode,
  { application, atMs }: Pick<Job, 'application' | 'atMs'>,
): void {
  const image = busyFleet.catalogue.releasedAfter(application, busyFleet.epochMs + atMs, 1);
  for (const pod of node.pods.values()) {
    if (pod.application !== application || pod.kind !== 'service' || pod.listed === null) continue;
    later(busyFleet, atMs + Math.round(node.random() * ROLL_OUT_TAKES_MS), (replacedMs) => {
      if (!node.isUp || pod.listed === null) return;
      busyFleet.report({
        atMs: replacedMs,
        node: node.identity.node,
        what: 'rolled-out',
        about: image.reference,
      });
      admitPod(busyFleet, node, { kind: 'service', application, image });
      deletePod(busyFleet, node, pod);
    });
  }
}

const LIVED_MS = 10 * DAY_MS;
/** Images of what ran before, which nobody tidied up. */
const OLD_IMAGES = { atLeast: 40, atMost: 100 } as const;
/** How full the disks are, in percent, when the fleet is looked at first. */
const USED = { atLeast: 55, atMost: 84 } as const;
const LEAST_OTHER_PERCENT = 8n;

/** A node as its past left it: pods that have run for a while, images of earlier releases, and a disk filled by both. */
export function setInitialState(fleet: Fleet, node: FleetNode): void {
  const { random, disk } = node;
  for (let left = between(random, OLD_IMAGES.atLeast, OLD_IMAGES.atMost); left > 0; left -= 1) {
    const application = evenChoice(random, fleet.catalogue.applications) ?? fleet.catalogue.applications[0];
    const atMs = -Math.round(random() * LIVED_MS);
    hold(disk, fleet.catalogue.imageAt(application, fleet.epochMs + atMs), atMs);
  }
  for (let left = node.maximumPods; left > 0; left -= 1) startedBefore(fleet, node, left);
  const usedBytes = (disk.capacityBytes * BigInt(between(random, USED.atLeast, USED.atMost))) / 100n;
  const least = (disk.capacityBytes * LEAST_OTHER_PERCENT) / 100n;
  const otherBytes = usedBytes - disk.imageBytes;
  node.other.bytes = Number(otherBytes > least ? otherBytes : least);
}

function startedBefore(fleet: Fleet, node: FleetNode, left: number): void {
  const application = zipfChoice(node.random, fleet.catalogue.applications);
  const atMs = -Math.round((left / node.maximumPods) * LIVED_MS * node.random());
  const image = fleet.catalogue.imageAt(application, fleet.epochMs + atMs);
  hold(node.disk, image, atMs);
  const manifest = { kind: kindOf(node), application, image };
  const pod = newFleetPod(`${node.identity.nodeInstance}/${node.podsMade++}`, manifest);
  const stamp = stampAt(node, fleet, atMs);
  addContainer(pod, addSandbox(pod, stamp).id, stamp, 0n);
  node.pods.set(pod.uid, pod);
}

/** What an agent that ran before would have kept of the images. */
export function initialImageHistory(fleet: Fleet, node: FleetNode): ImageHistoryFile {
  const at = instantAt(node, fleet, 0);
  const used = new Set([...node.pods.values()].map(({ image }) => image.id));
  const sinceBootMs = (fleetMs: number): number => fleetMs - node.bootedMs;
  return {
    version: 1,
    at,
    watchedSinceMs: 0,
    clockSteadySince: at,
    images: [...node.disk.images.values()].map(({ image, sinceMs }) => [
      image.id,
      sinceBootMs(sinceMs),
      used.has(image.id) ? at.sinceBootMs : sinceBootMs(Math.round(sinceMs / 2)),
    ]),
  };
}
