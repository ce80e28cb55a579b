import { withinSomeBytes } from './compression.ts';
import { ProtocolReader } from './protocol-reader.ts';
import { decodeBatches, type FetchedMessage } from './record-batches.ts';

interface DecodedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedMessage[];
}

/** As much as kafkajs and we look at. */
export interface DecodedFetch {
  readonly throttleTime: number;
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly DecodedPartition[];
  }[];
}

export type DecodeFetch = (answer: Buffer) => Promise<DecodedFetch>;

/** Decodes what a broker of Kafka 2.3 or later answers to a fetch (version 11). */
export const decodeFetch: DecodeFetch = (answer) =>
  withinSomeBytes(async () => {
    const reader = new ProtocolReader(answer);
    const clientSideThrottleTime = reader.int32();
    const errorCode = reader.int16();
    reader.int32(); // session
    const responses = await reader.array(async () => ({
      topicName: String(reader.bytes(reader.int16())),
      partitions: await reader.array(() => decodePartition(reader)),
    }));
    // It has not throttled: it asks us to wait.
    return { throttleTime: 0, clientSideThrottleTime, errorCode, responses };
  });

async function decodePartition(reader: ProtocolReader): Promise<DecodedPartition> {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  reader.bytes(8 + 8); // last stable offset, and where the log starts
  await reader.array(() => reader.bytes(8 + 8)); // transactions that were aborted
  reader.int32(); // which replica to read from
  const length = reader.int32();
  const messages = length > 0 ? await decodeBatches(reader.bytes(length)) : [];
  return { partition, errorCode, highWatermark, messages };
}
