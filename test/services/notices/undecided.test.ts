import { describe, expect, test } from 'vitest';
import type { SubscriptionState } from '../../../packages/log/port.ts';
import { UNDECIDED_AFTER_MS, Undecided } from '../../../services/notices/silence.ts';
import { AT_MS } from './support/notice-of.ts';

const MINUTE_MS = 60_000;
const PLACES = ['gc.node.disk-stats/3', 'gc.node.decisions/3'];
const WELL: SubscriptionState = {
  joined: true,
  problem: null,
  assigned: PLACES,
  lag: new Map(PLACES.map((place) => [place, 0])),
};
const LATE_MS = AT_MS + UNDECIDED_AFTER_MS + MINUTE_MS;
const decidedBy = (decider: string, timestampMs: number) => ({
  headers: { ce_source: `/fleetgc/${decider}` },
  partition: 3,
  timestampMs,
});

/** Two services decide until now; of the third nothing came. */
function withoutImages(): Undecided {
  const undecided = new Undecided();
  undecided.heard(3, AT_MS);
  undecided.look(WELL, AT_MS);
  undecided.heard(3, LATE_MS);
  for (const decider of ['pressure', 'container-gc']) undecided.decided(decidedBy(decider, LATE_MS));
  return undecided;
}

test('a service that answers nobody is told once, and that it decides again', () => {
  const undecided = withoutImages();
  expect(undecided.look(WELL, AT_MS + UNDECIDED_AFTER_MS)).toEqual([]);
  const [told, ...more] = undecided.look(WELL, LATE_MS);
  expect(told).toMatchObject({
    kind: 'undecided',
    cluster: null,
    node: null,
    facts: { decider: 'image-gc' },
  });
  expect(more).toEqual([]);
  expect(undecided.look(WELL, LATE_MS + 1)).toEqual([]);
  undecided.decided(decidedBy('image-gc', LATE_MS + 2));
  expect(undecided.look(WELL, LATE_MS + 3)).toMatchObject([{ kind: 'decided-again' }]);
});

test('what waits at times, as it does where much happens, puts nothing off', () => {
  const undecided = withoutImages();
  undecided.look({ ...WELL, lag: new Map() }, AT_MS + MINUTE_MS);
  expect(undecided.look(WELL, LATE_MS)).toMatchObject([{ kind: 'undecided' }]);
});

describe('nobody is told', () => {
  const lagging = new Map([...WELL.lag, ['gc.node.decisions/3', 1]]);
  test.each([
    { name: 'while decisions wait that nobody read', state: { ...WELL, lag: lagging } },
    { name: 'while the log does not answer', state: { ...WELL, problem: 'no broker answers' } },
    { name: 'where another replica reads the decisions', state: { ...WELL, assigned: PLACES.slice(0, 1) } },
  ])('$name', ({ state }) => {
    expect(withoutImages().look(state, LATE_MS)).toEqual([]);
  });

  test('where no node is heard: nobody asks', () => {
    expect(withoutImages().look(WELL, LATE_MS + 6 * MINUTE_MS)).toEqual([]);
  });

  test('of what was not read yet when it began', () => {
    const undecided = new Undecided();
    undecided.heard(3, LATE_MS);
    expect(undecided.look(WELL, LATE_MS)).toEqual([]);
  });
});
