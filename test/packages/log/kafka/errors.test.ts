import { describe, expect, test } from 'vitest';
import { isGroupChange, toEventLogError } from '../../../../packages/log/kafka/client/errors.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';

const kafkaError = (name: string, message: string, over: object = {}): Error =>
  Object.assign(new Error(message), { name, ...over });

/** As kafkajs's own retries wrap what happened. */
const wrapped = (cause: Error): Error =>
  Object.assign(new Error(cause.message), { name: 'KafkaJSNumberOfRetriesExceeded', cause });

const protocol = (type: string, message = 'said the broker') =>
  kafkaError('KafkaJSProtocolError', message, { type });

describe('what kafkajs reports, in our words', () => {
  test.each([
    {
      error: kafkaError('KafkaJSConnectionError', 'connect ECONNREFUSED 10.0.0.1:9092'),
      code: 'LOG_UNREACHABLE',
      retry: true,
    },
    {
      error: kafkaError('KafkaJSSASLAuthenticationError', 'bad password'),
      code: 'LOG_UNAUTHORIZED',
      retry: false,
    },
    { error: protocol('TOPIC_AUTHORIZATION_FAILED'), code: 'LOG_UNAUTHORIZED', retry: false },
    { error: protocol('GROUP_AUTHORIZATION_FAILED'), code: 'LOG_UNAUTHORIZED', retry: false },
    { error: protocol('UNKNOWN_TOPIC_OR_PARTITION'), code: 'TOPICS_MISSING', retry: true },
    { error: protocol('MESSAGE_TOO_LARGE'), code: 'LOG_RECORD_TOO_LARGE', retry: false },
    { error: protocol('NOT_ENOUGH_REPLICAS'), code: 'LOG_UNREACHABLE', retry: true },
  ])('$error.name $error.type is $code, also when wrapped', ({ error, code, retry }) => {
    for (const given of [error, wrapped(error), wrapped(wrapped(error))]) {
      expect(toEventLogError(['kafka:9092'], given)).toMatchObject({
        code,
        retry,
        message: expect.stringMatching(new RegExp(`^Kafka at kafka:9092: ${error.message}\\. .+`)),
        cause: given,
      });
    }
  });

  test('of several topics that were not created, the cause of the first is told', () => {
    const cause = protocol('INVALID_REPLICATION_FACTOR', 'Replication-factor is invalid');
    const error = kafkaError('KafkaJSAggregateError', 'Topic creation errors', { errors: [cause, cause] });
    expect(toEventLogError(['kafka:9092'], error)).toMatchObject({
      code: 'TOPICS_MISSING',
      retry: true,
      message: expect.stringMatching(/: Replication-factor is invalid\. There are fewer brokers/),
    });
  });

  test.each([
    ['ILLEGAL_SASL_STATE', /password \(SASL\) were given, and this listener most likely takes none/],
    ['GROUP_LOAD_IN_PROGRESS', /passes by itself/],
    ['NOT_COORDINATOR_FOR_GROUP', /Another broker looks after the group now/],
    ['REBALANCE_IN_PROGRESS', /joins again by itself/],
    ['NOT_LEADER_FOR_PARTITION', /gets another leader/],
    ['LEADER_NOT_AVAILABLE', /gets another leader/],
    ['NOT_ENOUGH_REPLICAS', /min\.insync\.replicas/],
  ])('%s, which a broker answered, is no fault of addresses or TLS', (type, advice) => {
    const failure = toEventLogError(['kafka:9092'], protocol(type));
    expect(failure).toMatchObject({ code: 'LOG_UNREACHABLE', message: expect.stringMatching(advice) });
    expect(failure.message).not.toMatch(/address|TLS/);
  });

  test('a fault of our own is not blamed on Kafka', () => {
    expect(toEventLogError(['kafka:9092'], new TypeError('x is undefined'))).toMatchObject({
      code: 'INTERNAL',
    });
    expect(toEventLogError(['kafka:9092'], 'text')).toMatchObject({ code: 'INTERNAL', message: 'text' });
  });

  test.each([
    ['kafkajs reads in null', new TypeError("Cannot read properties of null (reading 'topicMetadata')")],
    ['kafkajs asks one whose connection was closed meanwhile', new Error('Broker not connected')],
    [
      'wrapped, kafkajs asks one whose connection was closed meanwhile',
      wrapped(new Error('Broker not connected')),
    ],
  ])('that brokers went away during a question for metadata is unreachability: %s', (_, thrown) => {
    expect(toEventLogError(['kafka:9092'], thrown)).toMatchObject({
      code: 'LOG_UNREACHABLE',
      message: expect.stringMatching(/^Kafka at kafka:9092: every broker that was asked went away\. /),
    });
  });

  test.each([
    'SASL PLAIN authentication failed: Closed connection',
    'SASL SCRAM SHA512 authentication failed: Connection error: read ECONNRESET',
    'SASL PLAIN authentication failed: Connection closed by the server',
    'SASL SCRAM SHA512 authentication failed: Not connected',
    'SASL PLAIN authentication failed: Request SaslAuthenticate(key: 36, version: 1) timed out',
  ])('a broker that goes away during a login refuses nobody: %s', (message) => {
    const error = kafkaError('KafkaJSSASLAuthenticationError', message);
    for (const given of [error, wrapped(error)])
      expect(toEventLogError(['kafka:9092'], given)).toMatchObject({ code: 'LOG_UNREACHABLE', retry: true });
  });

  test('what has a code already keeps it', () => {
    const error = new FleetGcError('TOPICS_DIFFER', 'other');
    expect(toEventLogError(['kafka:9092'], error)).toBe(error);
  });
});

test.each([
  [protocol('REBALANCE_IN_PROGRESS'), true],
  [wrapped(protocol('ILLEGAL_GENERATION')), true],
  [wrapped(protocol('UNKNOWN_MEMBER_ID')), true],
  [protocol('NOT_LEADER_FOR_PARTITION'), false],
  [new Error('other'), false],
])('%o changes the group: %s', (error, expected) => {
  expect(isGroupChange(error)).toBe(expected);
});

test.each([
  'POLICY_VIOLATION',
  'INVALID_CONFIG',
  'UNSUPPORTED_VERSION',
  'INVALID_RECORD',
  'UNKNOWN_SERVER_ERROR',
])('%s is answered by a broker, so no advice is about reaching one', (type) => {
  const { message } = toEventLogError(['kafka:9092'], wrapped(protocol(type)));
  expect(message).not.toMatch(/brokers run|address and port|TLS/);
  expect(message).toContain(type);
});
