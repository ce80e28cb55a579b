import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { KafkaOptions, saslOf, secretsOf, tlsOf } from '../../../../packages/log/kafka/client/options.ts';
import { topicConfig } from '../../../../packages/log/kafka/topics.ts';
import { TOPIC_NAMES } from '../../../../packages/log/partition.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const minimal = { kind: 'kafka', brokers: ['kafka-1:9092'], clientId: 'agent' };

function file(content: string): string {
  const path = join(temporaryDirectory(), 'secret');
  writeFileSync(path, content);
  return path;
}

describe('brokers', () => {
  test.each(['kafka-1:9092', '10.0.0.1:9092', '[fe80::1]:9092'])('%s', (broker) => {
    expect(KafkaOptions.safeParse({ ...minimal, brokers: [broker] }).success).toBe(true);
  });
  test.each(['kafka-1', 'kafka:', ':9092', 'http://kafka:9092', 'kafka 1:9092', ''])('not %j', (broker) => {
    expect(KafkaOptions.safeParse({ ...minimal, brokers: [broker] }).success).toBe(false);
  });
  test('not none', () => {
    expect(KafkaOptions.safeParse({ ...minimal, brokers: [] }).success).toBe(false);
  });
});

test('an unknown setting is refused', () => {
  expect(KafkaOptions.safeParse({ ...minimal, password: 'x' }).success).toBe(false);
});

test.each(['secret', 'secret\n', 'secret\r\n'])(
  'the password is what the file holds, without its line break: %j',
  (content) => {
    const sasl = { mechanism: 'scram-sha-512', username: 'u', passwordFile: file(content) } as const;
    expect(saslOf({ sasl })).toEqual({ mechanism: 'scram-sha-512', username: 'u', password: 'secret' });
  },
);

test('spaces belong to the password', () => {
  const sasl = { mechanism: 'plain', username: 'u', passwordFile: file(' a b \n') } as const;
  expect(saslOf({ sasl })).toMatchObject({ password: ' a b ' });
});

test('certificate files are read', () => {
  const ssl = { caFile: file('CA'), certFile: file('CERT'), keyFile: file('KEY') };
  expect(tlsOf({ ssl })).toEqual({ ca: 'CA', cert: 'CERT', key: 'KEY' });
  expect(tlsOf({ ssl: {} })).toEqual({});
  expect(tlsOf({})).toBeNull();
});

test('a file that cannot be read is a clear error', () => {
  const sasl = { mechanism: 'plain', username: 'u', passwordFile: '/nowhere/password' } as const;
  expect(() => secretsOf({ sasl })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('/nowhere/password'),
    }),
  );
  expect(() => tlsOf({ ssl: { caFile: '/nowhere/ca' } })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('/nowhere/ca') }),
  );
});

test('a password is read anew each time, and a file that is away just then is tried again', () => {
  const passwordFile = file('before');
  const settings = saslOf({ sasl: { mechanism: 'plain', username: 'u', passwordFile } });
  expect(settings).toMatchObject({ password: 'before' });
  writeFileSync(passwordFile, 'after');
  expect(settings).toMatchObject({ password: 'after' });
  rmSync(passwordFile);
  expect(() => JSON.stringify(settings)).toThrow(
    expect.objectContaining({ code: 'LOG_UNREACHABLE', retry: true }),
  );
});

describe('topics are created', () => {
  const options = KafkaOptions.parse(minimal);

  test("with the retention of the table, the broker's time, and never a limit by size", () => {
    expect(topicConfig('gc.node.inventory', options)).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': `${14 * 86_400_000}`,
      'retention.bytes': '-1',
      'message.timestamp.type': 'LogAppendTime',
      'compression.type': 'producer',
    });
  });

  test('compacted where the table says so', () => {
    expect(topicConfig('gc.policies', options)).toMatchObject({
      'cleanup.policy': 'compact',
      'retention.ms': '-1',
    });
  });

  test('with room for the largest record', () => {
    expect(Number(topicConfig('gc.node.inventory', options)['max.message.bytes'])).toBeGreaterThan(
      4 * 1024 * 1024,
    );
  });

  test.each([
    { replicationFactor: 1, given: undefined, expected: '1' },
    { replicationFactor: 2, given: undefined, expected: '1' },
    { replicationFactor: 3, given: undefined, expected: '2' },
    { replicationFactor: 3, given: 1, expected: '1' },
  ])('$replicationFactor copies: $expected must have a record', ({ replicationFactor, given, expected }) => {
    const config = topicConfig('gc.policies', { ...options, replicationFactor, minInsyncReplicas: given });
    expect(config['min.insync.replicas']).toBe(expected);
  });
});

test('with the longest prefix no topic has a longer name than Kafka takes', () => {
  const longest = Math.max(...TOPIC_NAMES.map(({ length }) => length));
  const prefixOf = (length: number): string => `${'a'.repeat(length - 1)}.`;
  const takes = (prefix: string): boolean => KafkaOptions.safeParse({ ...minimal, prefix }).success;
  expect(takes(prefixOf(249 - longest))).toBe(true);
  expect(takes(prefixOf(250 - longest))).toBe(false);
});
