import { expect, test } from 'vitest';
import { ReadBuffer } from '../../../../packages/log/kafka/read.ts';
import { onLog } from '../../../support/logs/log-record.ts';

test('a batch of more records than a call takes arguments is given whole, with all that came beside it', () => {
  const buffer = new ReadBuffer();
  const record = onLog({ topic: 'gc.dead-letters', key: 'k', value: null, headers: {} });
  buffer.deliver(Array.from({ length: 600_000 }, () => record));
  buffer.deliver([record]);
  expect([...buffer.events(() => false)]).toHaveLength(600_001);
});
