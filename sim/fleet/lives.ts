import { MINUTE_MS } from '../../packages/process/durations.ts';
import { between, evenChoice, exponentialMs, seededRandom, zipfChoice } from '../life/random.ts';
import type { FleetApplication } from './catalogue.ts';
import type { Fleet, FleetNode } from './fleet-node.ts';
import type { FleetPod, PodKind } from './fleet-pod.ts';
import { admitPod, bringUp, deletePod, endPodContainers, finishPod } from './node-kubelet.ts';

/** Something that a node lived through, told for accounts and for who compares lives. */
export interface LifeEvent {
  readonly atMs: number;
  readonly node: string;
  readonly what: 'deployed' | 'rolled-out' | 'crashed' | 'job-started' | 'job-finished' | 'tidied';
  /** The image or pod that it is about. */
  readonly about: string;
}

/** What is needed to live. */
export interface Living extends Fleet {
  readonly tell: (event: LifeEvent) => void;
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

/** Begins the life of a node that stands as its past left it; all of it follows from the seed. */
export function liveOn(living: Living, node: FleetNode): void {
  for (const pod of node.pods.values()) if (pod.kind === 'crashing') goOnCrashing(living, node, pod);
  deployAgain(living, node);
  if (node.random() * 100 < WITH_JOBS_PERCENT) jobsOf(living, node);
  tidyLater(living, node);
}

/** Calls `action` when its time has come, unless all lives have ended by then. */
function later({ time, untilMs, isOver }: Living, atMs: number, action: (atMs: number) => void): void {
  if (atMs >= untilMs) return;
  time.at(atMs, () => {
    if (!isOver()) action(atMs);
  });
}

function deployAgain(living: Living, node: FleetNode, afterMs = 0): void {
  later(living, afterMs + exponentialMs(node.random, DEPLOY_EVERY_MS), (atMs) => {
    const application = zipfChoice(node.random, living.catalogue.applications);
    const kind = kindOf(node);
    if (node.isUp) deploy(living, node, { application, kind, atMs });
    deployAgain(living, node, atMs);
  });
}

export const kindOf = ({ random }: FleetNode): PodKind =>
  random() * 100 < CRASHING_PERCENT ? 'crashing' : 'service';

interface Deployment {
  readonly application: FleetApplication;
  readonly kind: PodKind;
  readonly atMs: number;
}

function deploy(living: Living, node: FleetNode, { application, kind, atMs }: Deployment): void {
  const image = living.catalogue.imageAt(application, living.epochMs + atMs);
  const pod = admitPod(living, node, { kind, application, image });
  living.tell({ atMs, node: node.identity.node, what: 'deployed', about: image.reference });
  if (kind === 'crashing') crashLater(living, node, { pod, crashes: 0, atMs });
  const staying = [...node.pods.values()].filter((one) => one.told !== null && one.kind !== 'job');
  for (const old of staying.slice(0, Math.max(0, staying.length - node.maximumPods)))
    deletePod(living, node, old);
}

const FIRST_CRASH_BACK_OFF_MS = 10_000;
const MOST_CRASH_BACK_OFF_MS = 5 * MINUTE_MS;
const RUNS_BEFORE_CRASH_MS = 8_000;

/** So many crashes lie behind what has crashed for long. */
const MANY_CRASHES = 6;

const goOnCrashing = (living: Living, node: FleetNode, pod: FleetPod): void =>
  crashLater(living, node, {
    pod,
    crashes: MANY_CRASHES,
    atMs: Math.round(node.random() * MOST_CRASH_BACK_OFF_MS),
  });

interface CrashLoop {
  readonly pod: FleetPod;
  readonly crashes: number;
  /** Since when it runs. */
  readonly atMs: number;
}

/** As a kubelet restarts what crashes: after 10 s, doubling up to five minutes. */
function crashLater(living: Living, node: FleetNode, { pod, crashes, atMs: startMs }: CrashLoop): void {
  later(living, startMs + RUNS_BEFORE_CRASH_MS, (crashMs) => {
    if (pod.told === null) return;
    crash(living, node, pod, crashMs);
    const backOffMs = Math.min(FIRST_CRASH_BACK_OFF_MS * 2 ** crashes, MOST_CRASH_BACK_OFF_MS);
    later(living, crashMs + backOffMs, (atMs) => {
      if (pod.told === null) return;
      if (node.isUp) bringUp(living, node, pod);
      crashLater(living, node, { pod, crashes: crashes + 1, atMs });
    });
  });
}

function crash(living: Living, node: FleetNode, pod: FleetPod, atMs: number): void {
  if (!node.isUp || pod.containers.every(({ finishedMs }) => finishedMs !== null)) return;
  living.tell({ atMs, node: node.identity.node, what: 'crashed', about: pod.name });
  endPodContainers(living, node, pod);
}

/** A CronJob whose pods come and go on this node. */
function jobsOf(living: Living, node: FleetNode): void {
  const everyMs = between(node.random, 10, 30) * MINUTE_MS;
  const application = evenChoice(node.random, living.catalogue.applications);
  const done: FleetPod[] = [];
  const next = (atMs: number): void =>
    later(living, atMs, () => {
      if (application !== undefined && node.isUp) runJob(living, node, { application, atMs, done });
      next(atMs + everyMs);
    });
  next(Math.round(node.random() * everyMs));
}

interface Job {
  readonly application: FleetApplication;
  readonly atMs: number;
  readonly done: FleetPod[];
}

function runJob(living: Living, node: FleetNode, { application, atMs, done }: Job): void {
  const image = living.catalogue.imageAt(application, living.epochMs + atMs);
  const pod = admitPod(living, node, { kind: 'job', application, image });
  const { node: name } = node.identity;
  living.tell({ atMs, node: name, what: 'job-started', about: image.reference });
  later(living, atMs + between(node.random, 20_000, 120_000), (endMs) => {
    finishPod(living, node, pod);
    living.tell({ atMs: endMs, node: name, what: 'job-finished', about: pod.name });
    done.push(pod);
    for (const old of done.splice(0, Math.max(0, done.length - JOBS_KEPT))) deletePod(living, node, old);
  });
}

/** What fills the disk beside images is tidied up when it is too much. */
function tidyLater(living: Living, node: FleetNode): void {
  const { disk, other } = node;
  const most = Number((disk.capacityBytes * MOST_OTHER_PERCENT) / 100n);
  const atMs = other.sinceMs + Math.max(MINUTE_MS, Math.ceil((most - other.bytes) / other.bytesPerMs));
  later(living, atMs, () => {
    other.bytes = Number((disk.capacityBytes * TIDY_OTHER_PERCENT) / 100n);
    other.sinceMs = atMs;
    living.tell({ atMs, node: node.identity.node, what: 'tidied', about: 'logs' });
    node.watcher.diskChanged();
    tidyLater(living, node);
  });
}

/** New releases that reach all nodes that run the application within minutes. */
export function rollOut(living: Living, nodes: readonly FleetNode[], afterMs = 0): void {
  const random = seededRandom(living.seed * 7 + Math.round(afterMs));
  later(living, afterMs + exponentialMs(random, ROLL_OUT_EVERY_MS), (atMs) => {
    const application = evenChoice(random, living.catalogue.applications);
    if (application !== undefined) for (const node of nodes) rollOutOn(living, node, { application, atMs });
    rollOut(living, nodes, atMs);
  });
}

function rollOutOn(
  living: Living,
  node: FleetNode,
  { application, atMs }: Pick<Job, 'application' | 'atMs'>,
): void {
  const image = living.catalogue.releasedAfter(application, living.epochMs + atMs, 1);
  for (const pod of node.pods.values()) {
    if (pod.application !== application || pod.kind !== 'service' || pod.told === null) continue;
    later(living, atMs + Math.round(node.random() * ROLL_OUT_TAKES_MS), (replacedMs) => {
      if (!node.isUp || pod.told === null) return;
      living.tell({ atMs: replacedMs, node: node.identity.node, what: 'rolled-out', about: image.reference });
      admitPod(living, node, { kind: 'service', application, image });
      deletePod(living, node, pod);
    });
  }
}
