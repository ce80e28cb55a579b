import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { decodeTopicRights, topicRightsRequest } from '../../../../packages/log/access/own-rights.ts';

interface Encoder {
  readonly buffer: Buffer;
  writeInt8(value: number): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeString(value: string | null): Encoder;
}
const load = createRequire(import.meta.url);
const KafkaEncoder: new () => Encoder = load('kafkajs/src/protocol/encoder.js');

interface Answered {
  readonly name: string;
  readonly error?: number;
  readonly bits?: number;
}

function answer(topics: readonly Answered[]): Buffer {
  const encoder = new KafkaEncoder()
    .writeInt32(0) // throttled
    .writeInt32(1) // brokers
    .writeInt32(1)
    .writeString('kafka-1')
    .writeInt32(9092)
    .writeString(null)
    .writeString('cluster')
    .writeInt32(1)
    .writeInt32(topics.length);
  for (const { name, error = 0, bits = 0 } of topics) {
    encoder.writeInt16(error).writeString(name).writeInt8(0).writeInt32(1); // one partition
    encoder.writeInt16(0).writeInt32(0).writeInt32(1).writeInt32(7);
    encoder.writeInt32(2).writeInt32(1).writeInt32(2).writeInt32(1).writeInt32(1).writeInt32(0);
    encoder.writeInt32(bits);
  }
  return encoder.writeInt32(0).buffer;
}

const READ = 1 << 3;
const WRITE = 1 << 4;
const DESCRIBE_CONFIGS = 1 << 10;

test('what a login may do with each topic is read bit by bit', async () => {
  const rights = await decodeTopicRights(
    answer([
      { name: 'gc.policies', bits: READ | (1 << 8) },
      { name: 'gc.node.results', bits: WRITE | DESCRIBE_CONFIGS | (1 << 6) },
      { name: 'gc.heads', error: 3 },
      { name: 'gc.keys', error: 29 },
    ]),
  );

  expect(rights).toEqual(
    new Map<string, unknown>([
      ['gc.policies', { kind: 'known', operations: new Set(['Read', 'Describe']) }],
      ['gc.node.results', { kind: 'known', operations: new Set(['Write', 'DescribeConfigs']) }],
      ['gc.heads', { kind: 'missing' }],
      ['gc.keys', { kind: 'hidden' }],
    ]),
  );
});

test('another error of a topic is told, and an answer that ends in the middle is none', async () => {
  await expect(decodeTopicRights(answer([{ name: 'gc.keys', error: 5 }]))).rejects.toMatchObject({
    code: 'LOG_UNREACHABLE',
  });
  await expect(decodeTopicRights(answer([{ name: 'gc.keys' }]).subarray(0, 60))).rejects.toMatchObject({
    code: 'LOG_CORRUPT',
  });
});

test('the question names the topics, makes none, and asks for rights on them alone', async () => {
  const { encode, ...request } = topicRightsRequest(['gc.keys']);
  expect(request).toEqual({ apiKey: 3, apiVersion: 8, apiName: 'Metadata' });
  const { buffer } = await encode();
  expect(buffer).toEqual(
    Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 7]), Buffer.from('gc.keys'), Buffer.from([0, 0, 1])]),
  );
});
