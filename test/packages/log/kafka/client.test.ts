import { logLevel } from 'kafkajs';
import pino from 'pino';
import { expect, test } from 'vitest';
import { logCreator } from '../../../../packages/log/kafka/client/client.ts';

function logged(level: logLevel, message: string) {
  const lines: { level: number; msg: string; kafkajs: object }[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => lines.push(JSON.parse(line)) });
  const log = { timestamp: 't', logger: 'kafkajs', message, groupId: 'g', message_id: 1 };
  logCreator(logger)()({ namespace: 'Runner', level, label: '', log });
  return lines[0];
}

test.each([
  'The group is rebalancing, re-joining',
  'The coordinator is not aware of this member, re-joining the group',
  'The group coordinator is not available',
  "The group coordinator is loading and hence can't process requests",
  'Response GroupCoordinator(key: 10, version: 2)',
  'Connection error: connect ECONNREFUSED 127.0.0.1:9092',
  'Failed to send messages: This server is not the leader for that topic-partition',
  'Topic has been updated, resync group (stale metadata)',
])('normal work is no alarm: %s', (message) => {
  expect(logged(logLevel.ERROR, message)).toMatchObject({ level: 20, msg: `kafkajs: ${message}` });
});

test('what is unknown is told, with its details', () => {
  expect(logged(logLevel.ERROR, 'Something never seen')).toMatchObject({
    level: 40,
    msg: 'kafkajs: Something never seen',
    kafkajs: { namespace: 'Runner', groupId: 'g' },
  });
  expect(logged(logLevel.WARN, 'Odd')).toMatchObject({ level: 40 });
  expect(logged(logLevel.INFO, 'Stopped')).toMatchObject({ level: 20 });
});
