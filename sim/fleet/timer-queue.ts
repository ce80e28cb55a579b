/** Something that is to happen at a time. */
export interface Timer {
  readonly atMs: number;
  /** Among those of one time, the first made goes first. */
  readonly order: number;
  /** `null` once it is called off. */
  action: (() => void) | null;
}

/** The timers of a whole fleet, the earliest first: a binary heap. */
export interface TimerQueue {
  add(atMs: number, action: () => void): Timer;
  first(): Timer | undefined;
  takeFirst(): Timer | undefined;
}

export function createTimerQueue(): TimerQueue {
  const heap: Timer[] = [];
  let made = 0;
  return {
    add: (atMs, action) => {
      const timer: Timer = { atMs, order: made++, action };
      heap.push(timer);
      rise(heap, heap.length - 1);
      return timer;
    },
    first: () => heap[0],
    takeFirst: () => {
      const first = heap[0];
      const last = heap.pop();
      if (first !== undefined && last !== undefined && heap.length > 0) {
        heap[0] = last;
        sink(heap, 0);
      }
      return first;
    },
  };
}

const isBefore = (a: Timer, b: Timer): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function rise(heap: Timer[], from: number): void {
  for (let index = from; index > 0; ) {
    const above = (index - 1) >> 1;
    if (!swapIfBefore(heap, index, above)) return;
    index = above;
  }
}

function sink(heap: Timer[], from: number): void {
  for (let index = from; ; ) {
    const left = 2 * index + 1;
    const right = left + 1;
    const [leftTimer, rightTimer] = [heap[left], heap[right]];
    if (leftTimer === undefined) return;
    const below = rightTimer !== undefined && isBefore(rightTimer, leftTimer) ? right : left;
    if (!swapIfBefore(heap, below, index)) return;
    index = below;
  }
}

/** Lets the timer at `lower` go before that at `upper` where it is earlier. Returns whether it did. */
function swapIfBefore(heap: Timer[], lower: number, upper: number): boolean {
  const [low, high] = [heap[lower], heap[upper]];
  if (low === undefined || high === undefined || !isBefore(low, high)) return false;
  heap[lower] = high;
  heap[upper] = low;
  return true;
}
