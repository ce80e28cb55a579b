import { expect, test, vi } from 'vitest';
import { sendPatiently } from '../../../../packages/event-log/kafka/client/patience.ts';
import type { Batch } from '../../../../packages/event-log/kafka/reading/batches.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';

const batch: Batch = { topic: 'gc.node.results', partition: 0, records: [], bytes: 0 };
const kafkaError = (name: string, type?: string) => Object.assign(new Error(name), { name, type });

const impatient = { random: () => 1, wait: async () => undefined, tries: 2 };

/** How often it was tried, when it always fails like this. */
async function triesOf(error: Error): Promise<number> {
  const send = vi.fn(() => Promise.reject(error));
  await expect(sendPatiently({ ...impatient, send }, batch)).rejects.toBe(error);
  return send.mock.calls.length;
}

test.each([
  ['no leader', kafkaError('KafkaJSProtocolError', 'NOT_LEADER_FOR_PARTITION'), 20],
  ['too few copies', kafkaError('KafkaJSProtocolError', 'NOT_ENOUGH_REPLICAS'), 20],
  ['a lost connection', kafkaError('KafkaJSConnectionClosedError'), 2],
  ['too large', kafkaError('KafkaJSProtocolError', 'MESSAGE_TOO_LARGE'), 1],
  ['not allowed', kafkaError('KafkaJSProtocolError', 'TOPIC_AUTHORIZATION_FAILED'), 1],
  ['our own refusal', new FleetGcError('TOPICS_DIFFER', 'other'), 1],
  ['a fault of ours', new TypeError('x is undefined'), 1],
])('%s', async (_, error, tries) => {
  expect(await triesOf(error)).toBe(tries);
});

test('it goes on when a new leader is there', async () => {
  const send = vi.fn(() => Promise.resolve());
  send.mockRejectedValueOnce(kafkaError('KafkaJSProtocolError', 'LEADER_NOT_AVAILABLE'));
  await sendPatiently({ ...impatient, send }, batch);
  expect(send).toHaveBeenCalledTimes(2);
});
