import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/back-off.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { createBell } from '../bell.ts';
import { diedSince, fingerprintOf } from '../inventory/fingerprint.ts';
import type { CompleteLook, Look } from '../inventory/look.ts';
import {
  begin,
  due,
  expire,
  type Facts,
  finish,
  INITIAL_PACING,
  type Order,
  type OrderOutcome,
  onDeaths,
  onOrder,
  type Work,
} from './pacing.ts';

/** Takes inventories when they are due. */
export interface Inventories {
  /** An order that was checked. */
  accept(order: Order): OrderOutcome;
  /** Containers that died, as the runtime's events say. */
  died(ids: readonly string[]): void;
  /** A look for its own sake: what is in use, what died, what changed. */
  detect(): Promise<void>;
  /** Takes inventories until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The last look, whatever it was for. */
  lastLook(): Look | null;
}

export interface InventoriesParts {
  readonly look: () => Promise<Look>;
  /** The readings of now, apart from looks. */
  readonly readings: () => FilesystemReadings;
  /** Makes the inventory of a look and hands it on. */
  readonly publish: (look: Look, work: Work) => Promise<Inventory['status']>;
  readonly onLook: (look: Look) => void;
  readonly onExpired: (order: Order) => void;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
}

const LOOK_AGAIN_MS = 1_000;

export function createInventories(parts: InventoriesParts): Inventories {
  const { look, readings, publish, onLook, onExpired, clock, sleep } = parts;
  const bell = createBell(sleep);
  let pacing = INITIAL_PACING;
  let last: Look | null = null;
  let lastComplete: CompleteLook | null = null;
  let fingerprint: string | null = null;

  const nowMs = (): number => clock.now().sinceBootMs;
  const facts = (): Facts => ({ fingerprint, readings: readings() });

  const lookOnce = async (): Promise<Look> => {
    const found = await look();
    last = found;
    onLook(found);
    if (found.status === 'incomplete') return found;
    pacing = onDeaths(pacing, diedSince(lastComplete, found), nowMs());
    lastComplete = found;
    fingerprint = fingerprintOf(found);
    return found;
  };

  const workOff = async (work: Work): Promise<void> => {
    pacing = begin(pacing, work);
    const found = await lookOnce();
    const status = await publish(found, work);
    const told = status === 'incomplete' || found.status === 'incomplete' ? null : fingerprintOf(found);
    pacing = finish(pacing, work, { fingerprint: told, readings: found.readings }, nowMs());
  };

  /** What an order waits for can end with any sample of the disks. */
  const waitMs = (untilMs: number): number =>
    Math.min(untilMs - nowMs(), pacing.pending ? LOOK_AGAIN_MS : Number.POSITIVE_INFINITY);

  const dropExpired = (): void => {
    const [kept, expired] = expire(pacing, nowMs());
    pacing = kept;
    if (expired) onExpired(expired);
  };

  return {
    accept: (order) => {
      const [next, outcome] = onOrder(pacing, order);
      pacing = next;
      bell.ring();
      return outcome;
    },
    died: (ids) => {
      pacing = onDeaths(pacing, ids, nowMs());
      bell.ring();
    },
    detect: async () => {
      await lookOnce();
      bell.ring();
    },
    run: async (signal) => {
      while (!signal.aborted) {
        dropExpired();
        const next = due(pacing, facts(), nowMs());
        if (next.kind === 'work') await workOff(next.work);
        else await bell.wait(waitMs(next.untilMs), signal);
      }
    },
    lastLook: () => last,
  };
}
