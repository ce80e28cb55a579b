import type { Fault } from '../faults/fault.ts';
import type { Played } from '../schedule/played.ts';

/** A time in which somebody could not know better. */
export interface Delay {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A process that was started reads everything anew. */
const START_MS = 3_000;

/** What may keep the executor of a node from knowing the policies: it, its way to the log, or the log itself. */
export const policyDelays = (played: readonly Played[], node: string): readonly Delay[] =>
  played.filter(({ fault }) => delaysPolicies(fault, node)).map(delayOf);

/** The same for what roots said of keys. */
export const keyDelays = (played: readonly Played[], node: string): readonly Delay[] =>
  played.filter(({ fault }) => delaysKeys(fault, node)).map(delayOf);

/** What may let time pass between a look at the runtime and the removal that follows. */
export const lookDelays = (played: readonly Played[], node: string): readonly Delay[] =>
  played.filter(({ fault }) => delaysLooks(fault, node)).map(delayOf);

export const delayOf = ({ fromMs, toMs }: Delay): Delay => ({ fromMs, toMs: toMs + START_MS });

const isExecutor = (part: string, node: string): boolean =>
  part === `${node}/node-executor` || part === `${node}/node`;

function delaysPolicies(fault: Fault, node: string): boolean {
  switch (fault.kind) {
    case 'freeze':
      return isExecutor(fault.part, node);
    case 'network':
      return fault.client === 'fleetgc-node' || fault.client === 'fleetgc-node-executor';
    case 'broker-killed':
    case 'broker-frozen':
    case 'broker-full':
    case 'slow':
      return true;
    case 'topic-anew':
      return fault.topic === 'gc.policies';
    case 'runtime':
    case 'policy':
    case 'pause':
    case 'repeat':
    case 'forge':
    case 'offsets-lost':
    case 'state-full':
    case 'archive':
    case 'doubled':
    case 'clock':
    // Who starts anew knows nothing, and asks first.
    case 'kill':
    case 'kill-at':
    case 'reboot':
    case 'amid':
    case 'forge-at':
    case 'publish':
    // Whether a record counts is known with the keys.
    case 'key-rotated':
    case 'key-revoked':
    case 'key-ended':
    case 'operator-revoked':
    case 'keys-lost':
      return false;
  }
}

/** What may keep an executor from knowing the keys. */
const delaysKeys = (fault: Fault, node: string): boolean =>
  fault.kind === 'keys-lost' ||
  (fault.kind === 'topic-anew' ? fault.topic === 'gc.keys' : delaysPolicies(fault, node));

function delaysLooks(fault: Fault, node: string): boolean {
  if (fault.kind === 'freeze') return isExecutor(fault.part, node);
  if (fault.kind === 'slow') return true;
  // A list without its second half looks like one of everything.
  return fault.kind === 'runtime' && fault.node === node && fault.trouble.how === 'half';
}

/** Whether the executor of a node ended at once in that time, and could not write down what it had done. */
export const wasKilled = (played: readonly Played[], node: string, fromMs: number, toMs: number): boolean =>
  played.some(({ fault, ...time }) => kills(fault, node) && time.fromMs <= toMs && time.toMs >= fromMs);

function kills(fault: Fault, node: string): boolean {
  if (fault.kind === 'kill') return isExecutor(fault.part, node);
  if (fault.kind === 'publish') return fault.isKilled && fault.node === node;
  return (fault.kind === 'kill-at' || fault.kind === 'reboot') && fault.node === node;
}

/** How much of the time between the two was without delays. */
export function undelayedMs(delays: readonly Delay[], fromMs: number, toMs: number): number {
  let left = 0;
  let atMs = fromMs;
  for (const { fromMs: begin, toMs: end } of delays.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (end <= atMs) continue;
    if (begin >= toMs) break;
    left += Math.max(0, begin - atMs);
    atMs = Math.max(atMs, end);
  }
  return left + Math.max(0, toMs - atMs);
}
