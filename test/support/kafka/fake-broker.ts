import { createServer, type Socket } from 'node:net';
import { TOPICS } from '../../../schemas/events/topics.ts';

/** Kafka's numbers of requests. */
const API = { fetch: 1, listOffsets: 2, metadata: 3, apiVersions: 18 } as const;
/** What this broker says that it speaks: the first version of each that a client may still use. */
const VERSIONS: readonly (readonly [number, number])[] = [
  [0, 3],
  [API.fetch, 4],
  [API.listOffsets, 1],
  [API.metadata, 1],
  [API.apiVersions, 0],
  [32, 0],
];
const PARTITIONS = new Map<string, number>(
  Object.values(TOPICS).map(({ name, partitions }) => [name, partitions]),
);
/** So much lies in each partition, as it tells, though nobody ever gets any of it. */
const END_OFFSET = 3n;

/** What is done with a request that is not answered as a broker would. */
export type Misbehaviour = 'hangs' | 'goes away';

export interface FakeBroker {
  readonly address: string;
  /** Resolves when a request came that was not answered. */
  readonly reached: Promise<void>;
}

/**
 * A broker that says what it has and where it ends, and then, in the middle of a reading, does not answer any more: it says
 * nothing, or closes everything and is gone.
 */
export async function startFakeBroker(
  misbehaviour: Misbehaviour,
  onEnd: (clean: () => void) => void,
): Promise<FakeBroker> {
  const sockets = new Set<Socket>();
  const reached = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const request = rest.subarray(4, 4 + rest.readInt32BE(0));
        rest = rest.subarray(4 + rest.readInt32BE(0));
        const answer = answerTo(request, port);
        if (answer !== null) socket.write(framed(request, answer));
        else misbehave();
      }
    });
  });
  const misbehave = (): void => {
    reached.resolve();
    if (misbehaviour === 'hangs') return;
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no port');
  const { port } = bound;
  return { address: `127.0.0.1:${port}`, reached: reached.promise };
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
const list = (items: readonly Buffer[]): Buffer => Buffer.concat([int32(items.length), ...items]);

function framed(request: Buffer, answer: Buffer): Buffer {
  const body = Buffer.concat([request.subarray(4, 8), answer]);
  return Buffer.concat([int32(body.length), body]);
}

/** Reads Kafka's encoding, front to back. */
class Reader {
  private readonly bytes: Buffer;
  private at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  int16(): number {
    this.at += 2;
    return this.bytes.readInt16BE(this.at - 2);
  }
  int32(): number {
    this.at += 4;
    return this.bytes.readInt32BE(this.at - 4);
  }
  int64(): bigint {
    this.at += 8;
    return this.bytes.readBigInt64BE(this.at - 8);
  }
  text(): string {
    const length = this.int16();
    this.at += Math.max(0, length);
    return length < 0 ? '' : this.bytes.toString('utf8', this.at - length, this.at);
  }
  list<T>(item: () => T): T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, item);
  }
}

function answerTo(request: Buffer, port: number): Buffer | null {
  const body = new Reader(request, 8);
  body.text();
  switch (request.readInt16BE(0)) {
    case API.apiVersions:
      return Buffer.concat([
        int16(0),
        list(VERSIONS.map(([key, most]) => Buffer.concat([int16(key), int16(0), int16(most)]))),
      ]);
    case API.metadata:
      return metadata(body, port);
    case API.listOffsets:
      return offsets(body);
    default:
      return null;
  }
}

const partitionsOf = (topic: string): readonly number[] =>
  Array.from({ length: PARTITIONS.get(topic) ?? 1 }, (_, number) => number);

function metadata(body: Reader, port: number): Buffer {
  const asked = body.list(() => body.text());
  const topics = asked.length === 0 ? [...PARTITIONS.keys()] : asked;
  return Buffer.concat([
    list([Buffer.concat([int32(0), text('127.0.0.1'), int32(port), int16(-1)])]),
    int32(0),
    list(
      topics.map((name) =>
        Buffer.concat([
          int16(0),
          text(name),
          Buffer.from([0]),
          list(
            partitionsOf(name).map((partition) =>
              Buffer.concat([int16(0), int32(partition), int32(0), list([int32(0)]), list([int32(0)])]),
            ),
          ),
        ]),
      ),
    ),
  ]);
}

function offsets(body: Reader): Buffer {
  body.int32();
  const topics = body.list(() => ({
    name: body.text(),
    partitions: body.list(() => ({ partition: body.int32(), time: body.int64() })),
  }));
  return list(
    topics.map(({ name, partitions }) =>
      Buffer.concat([
        text(name),
        list(
          partitions.map(({ partition, time }) =>
            Buffer.concat([int32(partition), int16(0), int64(-1n), int64(time === -1n ? END_OFFSET : 0n)]),
          ),
        ),
      ]),
    ),
  );
}
