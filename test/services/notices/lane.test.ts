import { describe, expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { Lane, MOST_FAILURES, MOST_WAITING } from '../../../services/notices/lane.ts';
import type { Message, Sent } from '../../../services/notices/message.ts';
import { laneMetrics } from '../../../services/notices/metrics.ts';
import type { Notice } from '../../../services/notices/notices.ts';
import { manualTime } from '../../support/manual-time.ts';
import { SILENT } from '../../support/silent.ts';
import { AT_MS, noticeOf } from './support/notice-of.ts';

const HOUR_MS = 3_600_000;
const DELIVERED: Sent = { kind: 'delivered' };
const AWAY: Sent = { kind: 'away', why: 'nobody answers', retryAfterMs: null };
const FAILED: Sent = { kind: 'failed', why: 'status 500', retryAfterMs: null };
const NEVER_ABORTED = new AbortController().signal;

/** A lane whose receiver answers as `answer` says; time passes by hand. */
function laneTo(answer: (message: Message) => Sent, { mostPerMinute = 600, maxAgeMs = HOUR_MS } = {}) {
  const time = manualTime(() => 1, { wallTimeMs: AT_MS, sinceBootMs: 0 });
  const sent: { readonly message: Message; readonly atMs: number }[] = [];
  const metrics = createMetrics();
  const now = (): number => time.now().wallTimeMs;
  const lane = new Lane({
    name: 'pager',
    receiver: {
      send: async (message) => {
        sent.push({ message, atMs: now() - AT_MS });
        return answer(message);
      },
    },
    rules: [{ name: 'all', kinds: ['removed'], mostPerMinute, matches: ({ kind }) => kind === 'removed' }],
    maxAgeMs,
    metrics: laneMetrics(metrics, 'pager'),
    logger: SILENT,
    sources: { now, monotonicNow: () => time.now().sinceBootMs, random: () => 1, wait: time.sleep },
  });
  const stop = new AbortController();
  const running = lane.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const offer = (notices: readonly Notice[], signal = NEVER_ABORTED) => {
    const offered = { isSettled: false };
    void lane.offer(notices, signal).then(() => {
      offered.isSettled = true;
    });
    return offered;
  };
  return { lane, offer, sent, time, metrics };
}

/** Each about a node of its own. */
const from = (first: number, count: number): readonly Notice[] =>
  Array.from({ length: count }, (_, index) => noticeOf(first + index, { node: `web-${first + index}` }));
/** All about one node. */
const ofNode = (node: string, first: number, count: number): readonly Notice[] =>
  from(first, count).map((notice) => ({ ...notice, node }));
const textsOf = ({ notices }: Message): readonly string[] => notices.map(({ id }) => id);

test('a notice is settled when the receiver has it, and not before', async () => {
  let answer: Sent = AWAY;
  const { offer, sent, time } = laneTo(() => answer);
  const offered = offer([noticeOf(1)]);
  await time.pass(30_000);
  expect(sent.length).toBeGreaterThan(1);
  expect(offered.isSettled).toBe(false);
  answer = DELIVERED;
  await time.passUntil('the notice to be delivered', 120_000, () => offered.isSettled);
});

test('a repetition of an attempt tells the same', async () => {
  const { offer, sent, time } = laneTo(() => (sent.length < 3 ? AWAY : DELIVERED));
  const offered = offer([noticeOf(1)]);
  await time.passUntil('the notice to be delivered', 120_000, () => offered.isSettled);
  expect(new Set(sent.map(({ message }) => JSON.stringify(message))).size).toBe(1);
});

describe('attempts', () => {
  test('come at longer and longer intervals, of a minute at most', async () => {
    const { offer, sent, time } = laneTo(() => AWAY);
    offer([noticeOf(1)]);
    await time.pass(600_000);
    const gaps = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
    expect(gaps.slice(0, 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('wait as long as the receiver asks, a quarter of an hour at most', async () => {
    const wishes = [120_000, 24 * HOUR_MS];
    const { offer, sent, time } = laneTo(() => ({
      ...AWAY,
      kind: 'away',
      retryAfterMs: wishes.shift() ?? null,
    }));
    offer([noticeOf(1)]);
    await time.passUntil('a third attempt', HOUR_MS, () => sent.length === 3);
    const gaps = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
    expect(gaps).toEqual([120_000, 900_000]);
  });

  test('end when the notice is too old, and the next notice tells of it', async () => {
    let answer: Sent = AWAY;
    const { offer, sent, time, metrics } = laneTo(() => answer, { maxAgeMs: 600_000 });
    const lost = offer([noticeOf(1)]);
    await time.passUntil('the notice to be given up', HOUR_MS, () => lost.isSettled);
    expect(time.now().wallTimeMs - AT_MS).toBeLessThanOrEqual(600_000);
    answer = DELIVERED;
    const next = offer([noticeOf(2, { atMs: time.now().wallTimeMs })]);
    await time.passUntil('the next notice', 60_000, () => next.isSettled);
    expect(sent.at(-1)?.message.dropped).toEqual({ 'too-old': 1 });
    expect(await metrics.text()).toContain('fleetgc_notices_total{receiver="pager",outcome="too-old"} 1');
    const last = offer([noticeOf(3, { atMs: time.now().wallTimeMs })]);
    await time.passUntil('a third notice', 60_000, () => last.isSettled);
    expect(sent.at(-1)?.message.dropped).toEqual({});
  });

  test('are made once more at the end, however long the receiver asks to wait', async () => {
    const { offer, sent, time } = laneTo(() => ({ ...AWAY, kind: 'away', retryAfterMs: 24 * HOUR_MS }), {
      maxAgeMs: 120_000,
    });
    const lost = offer([noticeOf(1)]);
    await time.passUntil('the notice to be given up', HOUR_MS, () => lost.isSettled);
    expect(sent.map(({ atMs }) => atMs)).toEqual([expect.any(Number), 120_000]);
  });

  test('that are answered with errors end after a dozen, so that one notice does not hold up all others', async () => {
    const { offer, sent, time } = laneTo(({ notices: [{ id }] }) => (id === 'notice-1' ? FAILED : DELIVERED));
    const [bad, good] = [offer(from(1, 1)), offer(from(2, 1))];
    await time.passUntil('the good notice', HOUR_MS, () => good.isSettled);
    expect(bad.isSettled).toBe(true);
    expect(sent).toHaveLength(MOST_FAILURES + 1);
    expect(sent.at(-1)?.message.dropped).toEqual({ failed: 1 });
  });

  test('end at once where the receiver says that it never takes the notice', async () => {
    const { offer, sent, time } = laneTo(() =>
      sent.length === 1 ? { kind: 'refused', why: '422' } : DELIVERED,
    );
    offer(from(1, 1));
    const next = offer(from(2, 1));
    await time.passUntil('the next notice', 60_000, () => next.isSettled);
    expect(sent.map(({ message }) => textsOf(message))).toEqual([['notice-1'], ['notice-2']]);
    expect(sent.at(-1)?.message.dropped).toEqual({ refused: 1 });
  });
});

test('what was too old already when it came costs no attempt', async () => {
  const { offer, sent, time } = laneTo(() => DELIVERED);
  const old = offer([noticeOf(1, { atMs: AT_MS - HOUR_MS - 1 }), noticeOf(2)]);
  await time.passUntil('both to be settled', 60_000, () => old.isSettled);
  expect(sent.map(({ message }) => [textsOf(message), message.dropped])).toEqual([
    [['notice-2'], { 'too-old': 1 }],
  ]);
});

describe('where more come than the rule lets through', () => {
  test('the last message that is allowed tells all that wait, and nothing is lost', async () => {
    const { offer, sent, time } = laneTo(() => DELIVERED, { mostPerMinute: 5 });
    const all = offer(from(0, 217));
    await time.passUntil('all to be settled', 60_000, () => all.isSettled);
    expect(sent.map(({ message }) => message.notices.length)).toEqual([1, 1, 1, 1, 213]);
    expect(new Set(sent.flatMap(({ message }) => textsOf(message))).size).toBe(217);
  });

  test('what waits of one kind about one node takes one message, which tells all of it', async () => {
    const { offer, sent, time } = laneTo(() => DELIVERED, { mostPerMinute: 5 });
    const all = offer([...ofNode('noisy', 0, 40), ...from(100, 2), ...ofNode('noisy', 40, 8)]);
    await time.passUntil('all to be settled', 60_000, () => all.isSettled);
    expect(sent.map(({ message }) => message.notices.length)).toEqual([48, 1, 1]);
  });

  test('a node about which there is always something new takes the place of no other one', async () => {
    const { offer, sent, time } = laneTo(() => DELIVERED, { mostPerMinute: 6 });
    const now = (): number => time.now().wallTimeMs;
    for (let second = 0; second < 300; second += 1) {
      offer(ofNode('noisy', second * 10, 10).map((notice) => ({ ...notice, atMs: now() })));
      await time.pass(1_000);
      if (second % 60 !== 45) continue;
      const rare = offer([noticeOf(90_000 + second, { node: `rare-${second}`, atMs: now() })]);
      await time.pass(10, 10);
      expect(rare.isSettled).toBe(true);
      expect(sent.at(-1)?.message.notices.map(({ node }) => node)).toEqual([`rare-${second}`]);
    }
    expect(sent.length).toBeLessThanOrEqual(6 + 5 * 6);
    expect(new Set(sent.flatMap(({ message }) => textsOf(message))).size).toBeGreaterThan(2_700);
  });

  test('no more messages go than allowed, over any time', async () => {
    const { offer, sent, time } = laneTo(() => DELIVERED, { mostPerMinute: 5 });
    for (let second = 0; second < 300; second += 1) {
      offer(from(second * 10, 10).map((notice) => ({ ...notice, atMs: time.now().wallTimeMs })));
      await time.pass(1_000);
    }
    expect(sent.length).toBeLessThanOrEqual(5 + 5 * 5);
    expect(sent.length).toBeGreaterThanOrEqual(5 * 5);
  });
});

test('more than can wait are dropped, counted and told', async () => {
  let answer: Sent = AWAY;
  const { offer, sent, time } = laneTo(() => answer, { mostPerMinute: 5 });
  offer(from(0, MOST_WAITING));
  const beyond = offer(from(MOST_WAITING, 3));
  await time.passUntil('what is beyond to be settled', 60_000, () => beyond.isSettled);
  answer = DELIVERED;
  await time.passUntil('the second message', 600_000, () =>
    sent.some(({ message }) => message.dropped['queue-full'] === 3),
  );
});

test('what is no longer ours is withdrawn, and told by whoever has it now', async () => {
  const { offer, sent, time } = laneTo(() => (sent.length < 2 ? AWAY : DELIVERED));
  const first = offer([noticeOf(1)]);
  const lost = new AbortController();
  const withdrawn = offer(from(2, 1), lost.signal);
  await time.pass(100, 100);
  lost.abort();
  await time.passUntil('the first notice', 60_000, () => first.isSettled);
  expect(withdrawn.isSettled).toBe(true);
  await time.pass(60_000);
  expect(sent.flatMap(({ message }) => textsOf(message))).not.toContain('notice-2');
});

test('what was delivered already is not told again when its slice comes again', async () => {
  const { offer, sent, time } = laneTo(() => DELIVERED);
  for (let times = 0; times < 2; times += 1) {
    const offered = offer([noticeOf(1)]);
    await time.passUntil('it to be settled', 60_000, () => offered.isSettled);
  }
  expect(sent).toHaveLength(1);
});

test('what no rule wants is settled at once', async () => {
  const { offer, sent, time } = laneTo(() => DELIVERED);
  const offered = offer([noticeOf(1, { kind: 'held' })]);
  await time.passUntil('it to be settled', 60_000, () => offered.isSettled);
  expect(sent).toEqual([]);
});

test('why a receiver cannot be reached is known until it can', async () => {
  let answer: Sent = AWAY;
  const { lane, offer, time } = laneTo(() => answer);
  const offered = offer([noticeOf(1)]);
  await time.pass(1_000);
  expect(lane.problem()).toBe('nobody answers');
  answer = DELIVERED;
  await time.passUntil('it to be delivered', 60_000, () => offered.isSettled);
  expect(lane.problem()).toBeNull();
});

test('what comes while all that waits is on its way goes with the next message, and is not settled before', async () => {
  let late: { readonly isSettled: boolean } | undefined;
  const { offer, sent, time } = laneTo(
    () => {
      late ??= offer([noticeOf(9)]);
      return DELIVERED;
    },
    { mostPerMinute: 1 },
  );
  const early = offer([noticeOf(1)]);
  await time.passUntil('the first to be delivered', 10_000, () => early.isSettled);
  expect(late?.isSettled).toBe(false);
  await time.passUntil('the late one to be delivered', 120_000, () => late?.isSettled === true);
  expect(sent.map(({ message }) => textsOf(message))).toEqual([[noticeOf(1).id], [noticeOf(9).id]]);
});
