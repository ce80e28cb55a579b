import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../support/wait-until.ts';

/** What is sent at one end and seen at the other. */
export interface Course {
  /** Sends the event of this number; resolves to the log's own time of it, `null` when it tells none. */
  send(id: string, number: number): Promise<number | null>;
  /** What was seen so far, by id. */
  readonly seen: ReadonlyMap<string, { readonly atMs: number; readonly appendedAtMs: number | null }>;
}

export interface Load {
  readonly perSecond: number;
  readonly count: number;
}

/** Milliseconds of each event. */
export interface Latencies {
  /** From the call that sends it to the sight of what follows from it. */
  readonly sentToSeen: readonly number[];
  /** Between the log's own times of the event and of what follows; empty when it tells none. */
  readonly onLog: readonly number[];
}

const SEEN_MS = 30_000;
let events = 0;

/** Sends at an even rate without waiting for anything, and then waits until all was seen. */
export async function runLoad(course: Course, { perSecond, count }: Load): Promise<Latencies> {
  const startMs = performance.now();
  const sent: { id: string; atMs: number; appended: Promise<number | null> }[] = [];
  for (let index = 0; index < count; index += 1) {
    await sleep(Math.max(0, startMs + (index * 1000) / perSecond - performance.now()));
    events += 1;
    const id = `event-${events}`;
    sent.push({ id, atMs: performance.now(), appended: course.send(id, events) });
  }
  const appended = await Promise.all(sent.map((event) => event.appended));
  await waitUntil(`${count} events to come out`, SEEN_MS, () => sent.every(({ id }) => course.seen.has(id)));
  const arrivals = sent.flatMap(({ id }) => course.seen.get(id) ?? []);
  return {
    sentToSeen: arrivals.map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? Number.NaN)),
    onLog: arrivals.flatMap(({ appendedAtMs }, index) => {
      const before = appended[index] ?? null;
      return before === null || appendedAtMs === null ? [] : [appendedAtMs - before];
    }),
  };
}
