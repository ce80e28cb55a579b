import { expect, test } from 'vitest';
import { ownLog } from '../../fleetgc.ts';
import { base64, bury, deadLetter } from './letters.ts';

test('show has everything, for people and for machines', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ suppressedBefore: 4 }));

  const { stdout } = await run('dead-letters', 'show', 'dead-letter-aa');
  expect(stdout.replace(/given up .*Z/, 'given up <time>')).toBe(
    [
      'id            dead-letter-aaaa1',
      'cause         wrong-schema: takenAt: Required',
      'given up <time> by image-gc',
      'message       gc.node.inventory partition 3 offset 17, 2026-01-01T00:00:00Z',
      'key           prod/web-1',
      'put back      no',
      'only counted  4 more of this key before it, which were not kept',
      'header        ce_id: inventory-1',
      'header        traceparent: 00-1',
      '',
      '{',
      '  "half": "an inventory"',
      '}',
      '',
    ].join('\n'),
  );
  const json = await run('dead-letters', 'show', 'dead-letter-aaaa1', '-o', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    letter: deadLetter({ suppressedBefore: 4 }),
    redrivenAtMs: null,
  });
});

test.each([
  { value: null, says: '(no value)' },
  { value: '', says: '(empty value)' },
  { value: base64('null'), says: 'null' },
])('show of a message with the value $value says $says', async ({ value, says }) => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ value }));

  expect((await run('dead-letters', 'show', 'dead-letter-aaaa1')).stdout).toMatch(`\n\n${says}\n`);
});

test('show of an id that is none, or of several', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter(), deadLetter({ id: 'dead-letter-aaaa2' }));

  expect(await run('dead-letters', 'show', 'dead-letter-b')).toMatchObject({
    exitCode: 1,
    stderr: 'fleetgc dead-letters show: there is no dead letter dead-letter-b\n',
  });
  expect(await run('dead-letters', 'show', 'dead-letter-a')).toMatchObject({
    exitCode: 1,
    stderr: 'fleetgc dead-letters show: 2 dead letters begin with dead-letter-a; write more of it\n',
  });
});
