import { expect, test } from 'vitest';
import { readLetterSummaries } from '../../../packages/read-model/letters.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { base64, bury, deadLetter } from '../../cli/verbs/dead-letters/letters.ts';

test('of letters that are only listed and counted, nothing is kept that their messages held', async () => {
  const { log } = await ownLog();
  await bury(log, deadLetter({ value: base64('{"as": "large as a message can be"}') }));
  const { letters } = await readLetterSummaries(log, 'earliest', AbortSignal.timeout(60_000));
  expect(letters).toMatchObject([
    { letter: { id: 'dead-letter-aaaa1', value: null, headers: {} }, valueBytes: 35 },
  ]);
});
