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
const FULL_LOOK_MS = 2;
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

/** So many senders, of which each sends its next event when it has seen what follows from the last. Resolves to events per second. */
export async function runFull(
  course: Course,
  { senders, count }: { readonly senders: number; readonly count: number },
): Promise<number> {
  const begunMs = performance.now();
  let begun = 0;
  const send = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      events += 1;
      const id = `event-${events}`;
      await course.send(id, events);
      await seen(course, id);
    }
  };
  await Promise.all(Array.from({ length: senders }, send));
  return (count * 1000) / (performance.now() - begunMs);
}

async function seen(course: Course, id: string): Promise<void> {
  const deadlineMs = performance.now() + SEEN_MS;
  while (!course.seen.has(id)) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${SEEN_MS} ms for ${id} to come out`);
    await sleep(FULL_LOOK_MS);
  }
}
