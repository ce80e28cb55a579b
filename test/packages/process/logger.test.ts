import { expect, test } from 'vitest';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines, parsedLines } from '../../support/log-lines.ts';

test('writes one JSON object a line', () => {
  const out = logLines();
  createLogger({ service: 'image-gc', level: 'info' }, out).info({ topic: 't', offset: '7' }, 'decided');
  expect(out.lines[0]?.endsWith('\n')).toBe(true);
  expect(parsedLines(out.lines)).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'image-gc',
      topic: 't',
      offset: '7',
      msg: 'decided',
    },
  ]);
});

test('leaves out what is less severe than the level', () => {
  const out = logLines();
  const logger = createLogger({ service: 'x', level: 'warn' }, out);
  logger.info('no');
  logger.warn('yes');
  expect(parsedLines(out.lines)).toEqual([expect.objectContaining({ msg: 'yes' })]);
});

test('writes no secret', () => {
  const out = logLines();
  const config = { kafka: { sasl: { username: 'u', password: 'hush' }, password: 'hush' } };
  createLogger({ service: 'x', level: 'info' }, out).info(
    { ...config, password: 'hush', config },
    'connecting',
  );
  expect(out.lines.join('')).not.toContain('hush');
});

test('writes lines for people to a terminal', () => {
  const out = logLines(true);
  const logger = createLogger({ service: 'x', level: 'info' }, out);
  logger.warn({ topic: 'gc.policies', offset: 7, nested: { a: 1 } }, 'cannot read');
  logger.info('fine');
  expect(out.lines[0]).toMatch(
    /^\d\d:\d\d:\d\d warn {2}cannot read \(topic=gc\.policies, offset=7, nested=\{"a":1\}\)\n$/,
  );
  expect(out.lines[1]).toMatch(/^\d\d:\d\d:\d\d info {2}fine\n$/);
});

test('shows the stack of an error below its line', () => {
  const out = logLines(true);
  createLogger({ service: 'x', level: 'info' }, out).error({ err: new Error('broken') }, 'handler failed');
  expect(out.lines[0]).toMatch(/ error handler failed\n {4}Error: broken\n {4} +at /);
});
