import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Turns } from '../../../services/cluster/turns.ts';
import {
  type FakeAnswer,
  fakeConnection,
  statusBody,
} from '../../packages/kube-api/support/fake-connection.ts';
import { manualTime } from '../../support/manual-time.ts';
import { nextLook } from '../../support/next-look.ts';

const LEASE = { namespace: 'fleetgc', name: 'fleetgc-cluster-agent' };
const PATH = `/apis/coordination.k8s.io/v1/namespaces/fleetgc/leases`;
const Written = z.object({
  metadata: z.object({ resourceVersion: z.string().optional() }),
  spec: z.object({
    holderIdentity: z.string(),
    leaseDurationSeconds: z.int(),
    renewTime: z.string(),
    acquireTime: z.string().optional(),
  }),
});

/** One Lease as an API server keeps it. */
class FakeLease {
  holder: string | null = null;
  version = 1;
  /** An answer in place of its own. */
  fault: (request: ApiRequest) => FakeAnswer | null = () => null;
  readonly written: z.infer<typeof Written>[] = [];

  answer(request: ApiRequest): FakeAnswer {
    const fault = this.fault(request);
    if (fault !== null) return fault;
    if (request.method !== 'GET') return this.#write(request);
    expect(request.path).toBe(`${PATH}/${LEASE.name}`);
    return this.holder === null ? ABSENT : this.#state(200);
  }

  #write({ method, path, body }: ApiRequest): FakeAnswer {
    const written = Written.parse(JSON.parse(body ?? ''));
    const isNew = method === 'POST';
    expect(path).toBe(isNew ? PATH : `${PATH}/${LEASE.name}`);
    const isStale = isNew ? this.holder !== null : written.metadata.resourceVersion !== String(this.version);
    if (isStale) return { status: 409, body: statusBody(409, 'Conflict') };
    this.written.push(written);
    this.holder = written.spec.holderIdentity;
    this.version++;
    return this.#state(isNew ? 201 : 200);
  }

  #state(status: number): FakeAnswer {
    const metadata = { resourceVersion: String(this.version) };
    return { status, body: { metadata, spec: { holderIdentity: this.holder } } };
  }
}
const ABSENT = { status: 404, body: statusBody(404, 'NotFound', { name: LEASE.name, kind: 'leases' }) };
const away = (): never => {
  throw new FleetGcError('API_UNREACHABLE', 'away');
};

function world() {
  const time = manualTime(() => 0);
  const lease = new FakeLease();
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      await time.pass(1_000);
      for (let look = 0; look < 8; look++) await nextLook(look);
    }
  };
  const start = (
    holder: string,
    connection: ApiConnection = fakeConnection((each) => lease.answer(each)),
  ) => {
    const turns = new Turns({
      connection,
      lease: LEASE,
      holder,
      now: () => 1_800_000_000_123,
      nowMs: () => time.now().sinceBootMs,
      sleep: time.sleep,
      logger: pino({ level: 'silent' }),
    });
    const stop = new AbortController();
    const state = { works: 0, ended: 'no' };
    const ended = turns
      .run(async (signal) => {
        state.works++;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }, stop.signal)
      .then(
        () => (state.ended = 'well'),
        (error: unknown) => (state.ended = error instanceof FleetGcError ? error.code : String(error)),
      );
    const end = async (): Promise<void> => {
      stop.abort();
      await ended;
    };
    onTestFinished(end);
    return { turns, state, end };
  };
  return { lease, pass, start };
}

test('the first replica works and renews its Lease, and the second one stands by', async () => {
  const { lease, pass, start } = world();
  const first = start('a');
  await pass(1);
  const second = start('b');
  await pass(60);
  expect([first.state.works, second.state.works]).toEqual([1, 0]);
  expect([first.turns.isMine, second.turns.isMine]).toEqual([true, false]);
  expect(lease.holder).toBe('a');
  expect(lease.written.length).toBeGreaterThan(10);
  expect(lease.written[0]?.spec).toEqual({
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    renewTime: '2027-01-15T08:00:00.123000Z',
    acquireTime: '2027-01-15T08:00:00.123000Z',
  });
  expect(lease.written[1]?.spec.acquireTime).toBeUndefined();
  expect(first.turns.notice()).toBeNull();
  expect(second.turns.notice()).toBe('another replica works, and this one stands by: a');
});

test('one that ends lets its Lease go, and the next one works at its next look', async () => {
  const { lease, pass, start } = world();
  const first = start('a');
  await pass(1);
  const second = start('b');
  await pass(1);
  await first.end();
  expect([lease.holder, first.state.ended]).toEqual(['', 'well']);
  await pass(5);
  expect([lease.holder, second.state.works]).toEqual(['b', 1]);
});

test('one that dies is followed within 20 s, and not before 15 s', async () => {
  const { lease, pass, start } = world();
  lease.holder = 'dead';
  const second = start('b');
  await pass(14);
  expect(second.state.works).toBe(0);
  await pass(6);
  expect([lease.holder, second.state.works]).toEqual(['b', 1]);
});

test('one whose Lease was taken over ends its work and says so', async () => {
  const { lease, pass, start } = world();
  const first = start('a');
  await pass(1);
  lease.holder = 'b';
  lease.version++;
  await pass(6);
  expect(first.state).toEqual({ works: 1, ended: 'LEASE_LOST' });
  // What is another's is not let go.
  expect(lease.holder).toBe('b');
});

test('while the API server is away all stays as it is, and nobody takes over from who was cut off, too', async () => {
  const { lease, pass, start } = world();
  const first = start('a');
  await pass(1);
  const second = start('b');
  await pass(6);
  lease.fault = away;
  await pass(120);
  expect([first.turns.isMine, second.turns.isMine]).toEqual([true, false]);
  lease.fault = () => null;
  await pass(60);
  expect([first.state, second.state]).toEqual([
    { works: 1, ended: 'no' },
    { works: 0, ended: 'no' },
  ]);
});

describe('where no Lease can be had a replica works without one, and says so', () => {
  test.each([
    ['it may not be read', () => ({ status: 403, body: statusBody(403, 'Forbidden') }), 1],
    [
      'its namespace is missing',
      ({ method }: ApiRequest) =>
        method === 'GET'
          ? ABSENT
          : { status: 404, body: statusBody(404, 'NotFound', { name: 'fleetgc', kind: 'namespaces' }) },
      1,
    ],
    ['what answers is no Lease', () => ({ status: 200, body: {} }), 1],
    ['it does not know us', () => ({ status: 401, body: statusBody(401, 'Unauthorized') }), 21],
    ['it is refused again and again', () => ({ status: 500, body: statusBody(500, 'InternalError') }), 21],
  ] as const)('%s', async (_what, fault, withinSeconds) => {
    const { lease, pass, start } = world();
    lease.fault = fault;
    const [first, second] = [start('a'), start('b')];
    await pass(withinSeconds);
    expect([first.state.works, second.state.works]).toEqual([1, 1]);
    expect(first.turns.notice()).toMatch(
      /it works without a Lease: the Lease fleetgc\/fleetgc-cluster-agent cannot be had/,
    );
    lease.fault = () => null;
    await pass(12);
    // As soon as there is one, it decides again.
    expect([first.state.ended, second.state.ended].toSorted()).toEqual(['LEASE_LOST', 'no']);
  });
});

test('what the API server refuses for a moment changes nothing', async () => {
  const { lease, pass, start } = world();
  lease.holder = 'other';
  const first = start('a');
  await pass(6);
  lease.fault = () => ({ status: 429, body: statusBody(429, 'TooManyRequests') });
  await pass(6);
  expect([first.state.works, first.turns.isMine]).toEqual([0, false]);
});
