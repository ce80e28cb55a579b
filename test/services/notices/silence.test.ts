import { describe, expect, test } from 'vitest';
import type { SubscriptionState } from '../../../packages/log/port.ts';
import { Silence } from '../../../services/notices/silence.ts';
import { AT_MS } from './support/notice-of.ts';

const MINUTE_MS = 60_000;
const PLACE = 'gc.node.disk-stats/3';
const WELL: SubscriptionState = {
  joined: true,
  problem: null,
  assigned: [PLACE],
  lag: new Map([[PLACE, 0]]),
};
const heardAt = (atMs: number, node = 'web-1') => ({ cluster: 'prod', node, partition: 3, atMs });
const SILENT_MS = AT_MS + 5 * MINUTE_MS + 1;

function once(): Silence {
  const silence = new Silence('diskStats');
  silence.heard(heardAt(AT_MS));
  return silence;
}

test('who is not heard for five minutes is told once, with the same id by whoever tells it', () => {
  const silence = once();
  expect(silence.look(WELL, AT_MS + 5 * MINUTE_MS)).toEqual([]);
  const [told] = silence.look(WELL, SILENT_MS);
  expect(told).toMatchObject({ kind: 'silent', cluster: 'prod', node: 'web-1', atMs: SILENT_MS });
  expect(told?.text).toContain('prod/web-1: it was heard last at 2026-01-01T00:00:00Z');
  expect(silence.look(WELL, SILENT_MS + MINUTE_MS)).toEqual([]);
  expect(once().look(WELL, SILENT_MS + 7)[0]?.id).toBe(told?.id);
});

test('who comes back is told, if it was told that they are gone', () => {
  const silence = once();
  expect(silence.heard(heardAt(AT_MS + MINUTE_MS))).toEqual([]);
  const [gone] = silence.look(WELL, SILENT_MS + MINUTE_MS);
  const [back, ...more] = silence.heard(heardAt(AT_MS + 11 * MINUTE_MS));
  expect(back).toMatchObject({
    kind: 'heard-again',
    text: 'prod/web-1: it is heard again, after 10 minutes',
  });
  expect(more).toEqual([]);
  expect(back?.id).not.toBe(gone?.id);
});

test('what is read of the past does not make anybody silent who was heard since', () => {
  const silence = once();
  silence.heard(heardAt(AT_MS - 9 * MINUTE_MS));
  expect(silence.look(WELL, AT_MS + MINUTE_MS)).toEqual([]);
});

describe('nobody is silent', () => {
  test.each([
    { name: 'while messages wait', state: { ...WELL, lag: new Map([[PLACE, 1]]) } },
    { name: 'while it is not known whether any wait', state: { ...WELL, lag: new Map() } },
    { name: 'while the log does not answer', state: { ...WELL, problem: 'no broker answers' } },
    { name: 'before the group is joined', state: { ...WELL, joined: false } },
    { name: 'in a partition that another replica reads', state: { ...WELL, assigned: [] } },
  ])('$name', ({ state }) => {
    expect(once().look(state, SILENT_MS)).toEqual([]);
  });

  test('who is gone for a day: it is forgotten', () => {
    expect(once().look(WELL, AT_MS + 25 * 60 * MINUTE_MS)).toEqual([]);
  });
});

test('names that somebody makes up do not fill the memory, and those for whom there is no room are counted', () => {
  const silence = new Silence('diskStats');
  for (let number = 0; number < 60_000; number += 1) silence.heard(heardAt(AT_MS, `made-up-${number}`));
  expect(silence.look(WELL, SILENT_MS)).toHaveLength(50_000);
  expect(silence.takeUnwatched()).toBe(10_000);
  expect(silence.takeUnwatched()).toBe(0);
});

test('a cluster is silent after twenty minutes, and told by its name alone', () => {
  const silence = new Silence('clusterCensus');
  const place = 'gc.cluster.census/3';
  const state = { ...WELL, assigned: [place], lag: new Map([[place, 0]]) };
  silence.heard({ cluster: 'prod', node: null, partition: 3, atMs: AT_MS });
  expect(silence.look(state, AT_MS + 20 * MINUTE_MS)).toEqual([]);
  expect(silence.look(state, AT_MS + 20 * MINUTE_MS + 1)).toMatchObject([
    { kind: 'cluster-silent', cluster: 'prod', node: null, reason: null },
  ]);
  expect(
    silence.heard({ cluster: 'prod', node: null, partition: 3, atMs: AT_MS + 30 * MINUTE_MS }),
  ).toMatchObject([{ kind: 'cluster-heard-again', text: 'prod: it is heard again, after 30 minutes' }]);
});
