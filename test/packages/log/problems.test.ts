import { expect, test } from 'vitest';
import { ongoingProblem } from '../../../packages/log/problems.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines } from '../../support/log-lines.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function ongoing() {
  const log = logLines();
  const clock = { nowMs: 1_000_000 };
  const logger = createLogger({ service: 'test', level: 'info' }, log);
  return { ...ongoingProblem({ logger, now: () => clock.nowMs }), clock, lines: log.lines };
}

const told = (lines: readonly string[]): readonly unknown[] =>
  lines.map((line) => {
    const { level, msg, times }: { level: string; msg: string; times?: number } = JSON.parse(line);
    return times === undefined ? `${level}: ${msg}` : `${level}: ${times} times: ${msg}`;
  });

test('what lasts is told once, then at growing intervals with how often it was met', () => {
  const { occurred, clock, lines } = ongoing();

  for (let second = 0; second <= 70; second++) {
    occurred('LOG_UNREACHABLE', {}, 'no broker answers');
    clock.nowMs += SECOND;
  }

  const still = (times: number) =>
    `warn: ${times} times: still, ${times} times since this was last said: no broker answers`;
  expect(told(lines)).toEqual(['warn: no broker answers', still(10), still(20), still(40)]);
});

test('a day of it is told a few dozen times, however often it is met', () => {
  const { occurred, clock, lines } = ongoing();

  for (let second = 0; second < 24 * 3600; second++) {
    occurred('LOG_UNREACHABLE', {}, 'no broker answers');
    occurred('GROUP_LOST', {}, 'fell silent');
    clock.nowMs += SECOND;
  }

  expect(lines.length).toBeLessThan(70);
});

test('what passes by itself is told as information, does not hide what follows, and is a part of what was before', () => {
  const { occurred, passes, resolved, clock, lines } = ongoing();
  passes('LOG_UNREACHABLE', {}, 'a group is new');
  resolved();
  clock.nowMs += SECOND;
  occurred('LOG_UNREACHABLE', {}, 'no broker answers');
  passes('LOG_UNREACHABLE', {}, 'a broker starts');
  resolved();
  passes('LOG_UNREACHABLE', {}, 'a broker starts');
  expect(told(lines)).toEqual(['info: a group is new', 'warn: no broker answers']);
});

test('what was to pass by itself and does not is told as a warning', () => {
  const { passes, clock, lines } = ongoing();
  for (let second = 0; second <= 11; second++) {
    passes('LOG_UNREACHABLE', {}, 'a group is new');
    clock.nowMs += SECOND;
  }
  expect(told(lines)).toEqual([
    'info: a group is new',
    'warn: 10 times: still, 10 times since this was last said: a group is new',
  ]);
});

test('one that comes and goes is the same problem, and its end is told once', () => {
  const { occurred, resolved, clock, lines } = ongoing();

  const ends = Array.from({ length: 9 }, () => {
    occurred('LOG_UNREACHABLE', {}, 'no broker answers');
    clock.nowMs += SECOND / 2;
    const isEnd = resolved();
    clock.nowMs += SECOND / 2;
    return isEnd;
  });

  expect(told(lines)).toEqual(['warn: no broker answers']);
  expect(ends.filter(Boolean)).toHaveLength(1);
});

test('after a minute without it, it is a new one; a clock that is set back keeps none silent', () => {
  const { occurred, resolved, clock, lines } = ongoing();
  occurred('LOG_UNREACHABLE', {}, 'no broker answers');
  resolved();
  clock.nowMs += MINUTE;
  occurred('LOG_UNREACHABLE', {}, 'no broker answers');
  expect(told(lines)).toEqual(['warn: no broker answers', 'warn: no broker answers']);

  clock.nowMs -= HOUR;
  occurred('LOG_UNREACHABLE', {}, 'no broker answers');
  expect(lines).toHaveLength(3);
});
