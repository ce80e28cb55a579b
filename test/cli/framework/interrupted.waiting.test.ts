import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runCli } from '../../../cli/run-cli.ts';
import type { StopSignal } from '../../../packages/process/run.ts';
import { FakeProcess } from '../../support/fake-process.ts';
import { startFakeBroker } from '../../support/kafka/fake-broker.ts';
import { UNSIGNED_FLEET } from '../../support/program.ts';

/** Only ends what hangs: the product promises 10 s for the error, and 2 s for a stop. */
const BOUND_MS = 100_000;

/** Tests run side by side, so what they open is closed after the last of them. */
const ends: (() => void)[] = [];
const onEnd = (end: () => void): void => void ends.push(end);
afterAll(() => {
  for (const end of ends) end();
});

const directory = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
onEnd(() => rmSync(directory, { recursive: true }));
const policy = join(directory, 'policy.yaml');
writeFileSync(policy, 'name: default\nmode: dry-run\n');

/** Every verb that answers from what it reads of the event log. */
const READING: readonly { readonly verb: string; readonly args: readonly string[] }[] = [
  { verb: 'policy list', args: ['policy', 'list'] },
  { verb: 'policy show', args: ['policy', 'show', 'default'] },
  { verb: 'policy effective', args: ['policy', 'effective', '--node', 'n', '--cluster', 'prod'] },
  { verb: 'policy delete', args: ['policy', 'delete', 'default'] },
  { verb: 'policy apply', args: ['policy', 'apply', policy] },
  { verb: 'policy apply --dry-run', args: ['policy', 'apply', '--dry-run', policy] },
  { verb: 'pause', args: ['pause', '--reason', 'test'] },
  { verb: 'resume', args: ['resume', '--all'] },
  { verb: 'dead-letters list', args: ['dead-letters', 'list'] },
  { verb: 'dead-letters list -o json', args: ['dead-letters', 'list', '-o', 'json'] },
  { verb: 'dead-letters show', args: ['dead-letters', 'show', 'a'] },
  { verb: 'dead-letters redrive', args: ['dead-letters', 'redrive', '--all'] },
  { verb: 'topics check', args: ['topics', 'check'] },
  { verb: 'status', args: ['status'] },
  { verb: 'nodes', args: ['nodes'] },
  { verb: 'topics create', args: ['topics', 'create'] },
  { verb: 'audit verify', args: ['audit', 'verify'] },
  { verb: 'audit verify --from', args: ['audit', 'verify', '--from', 'gc.node.inventory/3@1'] },
  { verb: 'audit explain', args: ['audit', 'explain', 'registry.example/app:1'] },
  { verb: 'audit report', args: ['audit', 'report'] },
  { verb: 'audit simulate', args: ['audit', 'simulate', '--policy', policy] },
];

/** Locks its directory, so no two of it may run side by side. */
const ARCHIVE = { verb: 'audit archive', args: ['audit', 'archive', '--to', join(directory, 'archive')] };

interface Broker {
  readonly address: string;
  /** Resolves when the verb waits for it. */
  readonly reached: Promise<void>;
}

/** Takes connections; what it does with them is not what a broker does. */
async function listener(greeting: string | null): Promise<Broker> {
  const reached = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      reached.resolve();
      if (greeting !== null) socket.end(greeting);
    });
    onEnd(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => void server.close());
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no port');
  return { address: `127.0.0.1:${bound.port}`, reached: reached.promise };
}

const BROKERS: readonly { readonly name: string; readonly start: () => Promise<Broker> }[] = [
  { name: 'hangs', start: () => listener(null) },
  { name: 'is no Kafka', start: () => listener('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n') },
  { name: 'hangs in the middle', start: () => startFakeBroker('hangs', onEnd) },
  { name: 'goes away in the middle', start: () => startFakeBroker('goes away', onEnd) },
];

async function ask(args: readonly string[], { address, reached }: Broker, signal: StopSignal | null) {
  const control = new FakeProcess();
  const output = { stdout: '', stderr: '' };
  const running = runCli([...args, '--kafka-brokers', address], {
    environment: UNSIGNED_FLEET,
    control,
    terminalColumns: null,
    monotonicNow: () => 0,
    writeOut: async (text) => {
      output.stdout += text;
    },
    stderr: {
      isTerminal: false,
      write: (text) => {
        output.stderr += text;
      },
    },
  });
  if (signal !== null) {
    await reached;
    control.signal(signal);
  }
  return { exitCode: await running, ...output };
}

const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** What a verb may say where it knows nothing. */
const NOTHING_KNOWN = { exitCode: 1, stdout: '', says: 'what to look at' };
const LOOK_AT = /Kafka at 127\.0\.0\.1:\d+: .*\. Check that the brokers run.*\n$/;

test.concurrent.each(BROKERS)(
  'of a broker that $name a verb tells nothing but what to look at',
  { timeout: BOUND_MS },
  async ({ start }) => {
    const told = await Promise.all(
      READING.map(async ({ verb, args }) => {
        const { stderr, ...ended } = await ask(args, await start(), null);
        return [verb, { ...ended, says: LOOK_AT.test(stderr) ? NOTHING_KNOWN.says : stderr }];
      }),
    );
    expect(told).toEqual(READING.map(({ verb }) => [verb, NOTHING_KNOWN]));
  },
);

describe.each(BROKERS)('of a broker that $name', { timeout: BOUND_MS }, ({ start }) => {
  test.each(
    [...READING, ARCHIVE].flatMap((reading) =>
      (['SIGINT', 'SIGTERM'] as const).map((signal) => ({ ...reading, signal })),
    ),
  )('$verb tells nothing when $signal ends it', async ({ args, signal }) => {
    const { exitCode, stdout, stderr } = await ask(args, await start(), signal);

    expect({ exitCode, stdout }).toEqual({ exitCode: EXIT_CODES[signal], stdout: '' });
    expect(stderr).toMatch(/^fleetgc [^:]+: stopped before .*\n$/m);
  });
});
