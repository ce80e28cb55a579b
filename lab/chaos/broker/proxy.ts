import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientIdOf } from './client-id.ts';

/**
 * What happens to the connections of a client. `silent`: nothing arrives, either way, and connections stay open; `slow`:
 * each piece comes late; `cut`: every connection breaks in the middle of a frame, also those that are made then.
 */
type NetworkTrouble =
  | { readonly how: 'silent' }
  | { readonly how: 'slow'; readonly delayMs: number }
  | { readonly how: 'cut'; readonly afterBytes: number };

/**
 * What happens to a connection when a client publishes on a topic: the request does not arrive, or its answer does not. The
 * connection goes silent, or breaks.
 */
interface PublishTrouble {
  readonly clientId: string;
  readonly topic: string;
  readonly lost: 'request' | 'answer';
  readonly connection: 'silent' | 'broken';
  /** Called in that moment. */
  readonly met: () => void;
}

/** Between the broker and whoever asks it. Clients are told apart by the id that they give. */
export interface NetworkProxy extends AsyncDisposable {
  /** From now on, for clients whose id begins so; returns what ends it. */
  trouble(clientIdPrefix: string, trouble: NetworkTrouble): () => void;
  /** The same, for the client of this id when it publishes on a topic. */
  troublePublishing(trouble: PublishTrouble): () => void;
}

interface Troubles {
  readonly all: Set<Trouble>;
  readonly publishing: Set<PublishTrouble>;
}

interface Trouble {
  readonly clientIdPrefix: string;
  readonly trouble: NetworkTrouble;
  readonly ended: Promise<void>;
}

interface Line {
  readonly client: Socket;
  readonly broker: Socket;
  clientId: string;
  /** Nothing more arrives at its client. */
  isMute: boolean;
}

export async function openProxy(port: number, brokerPort: number): Promise<NetworkProxy> {
  const troubles: Troubles = { all: new Set(), publishing: new Set() };
  const lines = new Set<Line>();
  const server = createServer((client) => {
    const line = { client, broker: connect(brokerPort, '127.0.0.1'), clientId: '', isMute: false };
    lines.add(line);
    joinEnds(line, troubles, () => lines.delete(line));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    trouble: (clientIdPrefix, trouble) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const added = { clientIdPrefix, trouble, ended: promise };
      troubles.all.add(added);
      return () => {
        troubles.all.delete(added);
        resolve();
      };
    },
    troublePublishing: (trouble) => {
      troubles.publishing.add(trouble);
      return () => void troubles.publishing.delete(trouble);
    },
    [Symbol.asyncDispose]: () => closed(server, lines),
  };
}

async function closed(server: Server, lines: ReadonlySet<Line>): Promise<void> {
  const ended = new Promise((resolve) => server.close(resolve));
  for (const line of lines) breakOff(line);
  await ended;
}

function breakOff({ client, broker }: Line): void {
  for (const socket of [client, broker]) socket.destroy();
}

function joinEnds(line: Line, { all, publishing }: Troubles, gone: () => void): void {
  const { client, broker } = line;
  const trouble = (): Trouble | undefined =>
    [...all].findLast(({ clientIdPrefix }) => line.clientId.startsWith(clientIdPrefix));
  const toBroker = sender(line, broker, trouble);
  let first = Buffer.alloc(0);
  client.on('data', (bytes) => {
    if (line.clientId === '') {
      first = Buffer.concat([first, bytes]).subarray(0, 512);
      line.clientId = clientIdOf(first) ?? '';
    }
    const met = [...publishing].find(
      ({ clientId, topic }) => line.clientId === clientId && isPublished(bytes, topic),
    );
    if (!met) return toBroker(bytes);
    lose(line, met, () => toBroker(bytes));
  });
  const toClient = sender(line, client, trouble);
  broker.on('data', (bytes) => {
    if (!line.isMute) toClient(bytes);
  });
  for (const socket of [client, broker]) {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      breakOff(line);
      gone();
    });
  }
}

/** Kafka's requests begin with their size and what is asked: 0 is to publish. The client writes each as one piece. */
const isPublished = (bytes: Buffer, topic: string): boolean =>
  bytes.length > 6 && bytes.readInt16BE(4) === 0 && bytes.includes(topic);

/** An answer that is to be lost must be on its way: the broker writes first. */
const WRITTEN_MS = 150;

function lose(line: Line, { lost, connection, met }: PublishTrouble, pass: () => void): void {
  line.isMute = true;
  if (lost === 'answer') pass();
  const over = (): void => {
    if (connection === 'broken') breakOff(line);
    met();
  };
  if (lost === 'request') over();
  else setTimeout(over, WRITTEN_MS);
}

/** Passes on what comes, in order, as the trouble of that moment lets it. */
function sender(line: Line, to: Socket, trouble: () => Trouble | undefined): (bytes: Buffer) => void {
  let last = Promise.resolve();
  return (bytes) => {
    const now = trouble();
    last = last.then(() => passed(line, to, bytes, now));
  };
}

async function passed(line: Line, to: Socket, bytes: Buffer, now: Trouble | undefined): Promise<void> {
  if (now?.trouble.how === 'cut') {
    to.end(bytes.subarray(0, now.trouble.afterBytes), () => breakOff(line));
    return;
  }
  if (now?.trouble.how === 'silent') await now.ended;
  if (now?.trouble.how === 'slow') await sleep(now.trouble.delayMs);
  if (to.writable) to.write(bytes);
}
