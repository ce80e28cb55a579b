import { expect, test } from 'vitest';
import { createConnection, followerName } from '../../../../packages/log/kafka/client/kafka-connection.ts';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { logLines, parsedLines } from '../../../support/log-lines.ts';
import { silentContext } from '../probe.ts';

const options = KafkaOptions.parse({ kind: 'kafka', brokers: ['broker:9092'], clientId: 'test' });
const refused = new FleetGcError('LOG_UNREACHABLE', 'the certificate has expired');

test('a client that is refused does not look well because another goes on', () => {
  const connection = createConnection(options, silentContext());
  const producer = connection.forClient('producer');
  const reader = connection.forClient('reader');
  producer.reached();
  reader.reached();
  expect(connection.health()).toEqual({ connected: true, problem: null });
  producer.explain(refused);
  reader.reached();
  expect(connection.health()).toEqual({ connected: false, problem: 'producer: the certificate has expired' });
  producer.reached();
  expect(connection.health()).toEqual({ connected: true, problem: null });
});

test('where nobody reaches the brokers it is said once', () => {
  const connection = createConnection(options, silentContext());
  expect(connection.health()).toEqual({ connected: false, problem: 'Kafka was not reached yet.' });
  for (const name of ['producer', 'reader']) connection.forClient(name).explain(refused);
  expect(connection.health()).toEqual({ connected: false, problem: refused.message });
});

test('who has ended is in no trouble any more, and was reached if it was', () => {
  const connection = createConnection(options, silentContext());
  const reader = connection.forClient('reader');
  reader.reached();
  reader[Symbol.dispose]();
  expect(connection.health().connected).toBe(true);
  const failing = connection.forClient('reader');
  failing.explain(refused);
  expect(connection.health().connected).toBe(false);
  failing[Symbol.dispose]();
  expect(connection.health().connected).toBe(true);
});

test('one of the same name goes on with the trouble of the one before', () => {
  const connection = createConnection(options, silentContext());
  connection.forClient('reader').explain(refused);
  const next = connection.forClient('reader');
  expect(connection.health().connected).toBe(false);
  next.reached();
  expect(connection.health().connected).toBe(true);
});

test('what a follower that was given up still meets is no trouble of the one that took its place', () => {
  const connection = createConnection(options, silentContext());
  const name = followerName('gc.policies');
  const former = connection.forClient(name);
  former.explain(refused);
  former[Symbol.dispose]();
  const next = connection.forClient(name);
  next.reached();
  // Its request was on its way when it was given up, and fails now.
  former.explain(refused);
  next.reached();
  expect(connection.health('gc.policies')).toEqual({ connected: true, problem: null });
  next.explain(refused);
  former.reached();
  expect(connection.health('gc.policies')).toMatchObject({ connected: false });
});

test('an outage of one ends when that one is well again, whatever the others do', () => {
  const destination = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, destination);
  const connection = createConnection(options, { ...silentContext({ now: () => 0 }), logger });
  const [producer, reader] = [connection.forClient('producer'), connection.forClient('reader')];
  producer.explain(refused);
  for (let turn = 0; turn < 100; turn += 1) {
    reader.reached();
    producer.explain(refused);
  }
  expect(parsedLines(destination.lines)).toHaveLength(1);
  producer.reached();
  expect(parsedLines(destination.lines).at(-1)).toMatchObject({ msg: 'Kafka is reached again' });
});

test('brokers that go away soon after a group was new are told, and so is that they are back', () => {
  const destination = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, destination);
  const connection = createConnection(options, { ...silentContext(), logger });
  connection.explain(
    Object.assign(new Error('loading'), { name: 'KafkaJSProtocolError', type: 'GROUP_LOAD_IN_PROGRESS' }),
  );
  connection.reached();
  connection.explain(refused);
  connection.reached();
  expect(parsedLines(destination.lines)).toMatchObject([
    { msg: expect.stringContaining('This passes by itself') },
    { msg: 'Kafka is reached again' },
    { msg: refused.message },
    { msg: 'Kafka is reached again' },
  ]);
});

test('who follows the policies goes on while a producer is refused, and is told apart from it', () => {
  const connection = createConnection(options, silentContext());
  connection.forClient('producer').explain(refused);
  const follower = connection.forClient(followerName('gc.policies'));
  expect(connection.health('gc.policies').connected).toBe(false);
  follower.reached();
  expect(connection.health('gc.policies')).toEqual({ connected: true, problem: null });
  expect(connection.health().connected).toBe(false);
  follower.explain(refused);
  expect(connection.health('gc.policies')).toEqual({ connected: false, problem: refused.message });
});

test('wrong partitions of a topic make all unwell, also who follows the policies, until they are right', () => {
  const connection = createConnection(options, silentContext());
  const follower = connection.forClient(followerName('gc.policies'));
  follower.reached();
  follower.noteTopic('gc.node.commands', 'Topic gc.node.commands has 40 partitions');
  follower.reached();
  const wrong = { connected: false, problem: 'Topic gc.node.commands has 40 partitions' };
  expect(connection.health()).toEqual(wrong);
  expect(connection.health('gc.policies')).toEqual(wrong);
  connection.noteTopic('gc.node.commands', null);
  expect(connection.health('gc.policies')).toEqual({ connected: true, problem: null });
});

test('between two readings of the policies nothing is in the way, and the second begins well', () => {
  const connection = createConnection(options, silentContext());
  const first = connection.forClient(followerName('gc.policies'));
  first.reached();
  first[Symbol.dispose]();
  expect(connection.health('gc.policies')).toEqual({ connected: true, problem: null });
  connection.forClient(followerName('gc.policies'));
  expect(connection.health('gc.policies')).toEqual({ connected: true, problem: null });
});
