import { expect, test } from 'vitest';
import { type Commit, Committer } from '../../../../packages/log/kafka/group-session.ts';
import { deferred, silentContext, until } from '../probe.ts';

type Request = readonly { readonly partition: number; readonly offset: string }[];

function setUp(answer: (request: Request, number: number) => Promise<void>) {
  const requests: Request[] = [];
  const reports: unknown[] = [];
  const lost = new Set<number>();
  const stop = new AbortController();
  const committer = new Committer({
    consumer: {
      commitOffsets: (request) => {
        requests.push(request.map(({ partition, offset }) => ({ partition, offset })));
        return answer(request, requests.length);
      },
    },
    context: silentContext({ random: () => 0 }),
    owns: ({ partition }) => !lost.has(partition),
    report: (error) => reports.push(error),
    signal: stop.signal,
  });
  const add = (partition: number, next: bigint): void =>
    committer.add({ topic: 'gc.node.results', partition, next, deaths: 0 } satisfies Commit);
  return { requests, reports, lost, stop, add, flushed: () => committer.flushed() };
}

test('while one request is on its way, the others gather; of each partition the last counts', async () => {
  const gate = deferred();
  const { requests, add, flushed } = setUp((_, number) => (number === 1 ? gate.promise : Promise.resolve()));
  add(1, 10n);
  add(1, 11n);
  add(2, 5n);
  add(1, 12n);
  gate.resolve();
  await flushed();
  expect(requests).toEqual([
    [{ partition: 1, offset: '10' }],
    [
      { partition: 1, offset: '12' },
      { partition: 2, offset: '5' },
    ],
  ]);
});

test('a commit refused because the group changed is tried again, without a complaint', async () => {
  const rebalancing = Object.assign(new Error('rebalancing'), { type: 'REBALANCE_IN_PROGRESS' });
  const { requests, reports, add, flushed } = setUp(async (_, number) => {
    if (number < 3) throw rebalancing;
  });
  add(1, 10n);
  await flushed();
  expect(requests).toHaveLength(3);
  expect(reports).toEqual([null]);
});

test('what was lost to another member meanwhile is not committed any more', async () => {
  const { requests, lost, add, flushed } = setUp(async (_, number) => {
    if (number === 1) throw new Error('away');
  });
  add(1, 10n);
  add(2, 20n);
  await until('the first request', () => requests.length > 0);
  lost.add(1);
  await flushed();
  expect(requests.at(-1)).toEqual([{ partition: 2, offset: '20' }]);
});

test('a failed commit does not overwrite a later one', async () => {
  const gate = deferred();
  const { requests, reports, add, flushed } = setUp((_, number) =>
    number === 1 ? gate.promise : Promise.resolve(),
  );
  add(1, 10n);
  add(1, 11n);
  const failure = new Error('away');
  gate.reject(failure);
  await flushed();
  expect(requests.at(-1)).toEqual([{ partition: 1, offset: '11' }]);
  expect(reports).toEqual([failure, null]);
});

test('trying ends with the signal', async () => {
  const { stop, add, flushed } = setUp(async () => {
    throw new Error('away');
  });
  add(1, 10n);
  stop.abort();
  await flushed();
});
