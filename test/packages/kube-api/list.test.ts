import { expect, test } from 'vitest';
import { listObjects, readClusterInstance } from '../../../packages/kube-api/list.ts';
import { METADATA_FORM } from '../../../packages/kube-api/metadata.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import {
  CONFIG_MAPS,
  type FakeAnswer,
  fakeConnection,
  objectBody,
  statusBody,
} from './support/fake-connection.ts';

async function listed(pages: Readonly<Record<string, FakeAnswer>>) {
  const connection = fakeConnection(({ path }) => {
    const token = new URL(path, 'http://x').searchParams.get('continue') ?? '';
    return pages[token] ?? { status: 500 };
  });
  const names: string[] = [];
  const outcome = await listObjects(
    connection,
    { resource: CONFIG_MAPS, form: METADATA_FORM },
    (objects) => names.push(...objects.map(({ name }) => name)),
    new AbortController().signal,
  );
  return { outcome, names, asked: connection.asked.map(({ path }) => path) };
}
const page = (names: readonly string[], next = '', resourceVersion = '42'): FakeAnswer => ({
  body: { metadata: { resourceVersion, continue: next }, items: names.map((name) => objectBody(name)) },
});

test('a list is read in pages of 500 from etcd itself, and a watch goes on from its resourceVersion', async () => {
  const { outcome, names, asked } = await listed({ '': page(['a', 'b'], 'n/=1'), 'n/=1': page(['c']) });
  expect(outcome).toEqual({ kind: 'complete', end: { resourceVersion: '42' } });
  expect(names).toEqual(['a', 'b', 'c']);
  expect(asked).toEqual(['/api/v1/configmaps?limit=500', '/api/v1/configmaps?limit=500&continue=n%2F%3D1']);
});

test.each<[string, FakeAnswer, string]>([
  ['expired', { status: 410, body: statusBody(410, 'Expired') }, 'Expired'],
  ['refused', { status: 403, body: statusBody(403, 'Forbidden') }, 'Forbidden'],
  ['refused', { status: 500, body: 'no JSON' }, 'status 500'],
  ['unreadable', { body: 'no JSON' }, 'no list'],
  ['unreadable', { body: { metadata: {}, items: [{ metadata: {} }] } }, 'no object'],
])('a second page that is %s makes the list incomplete', async (problem, second, message) => {
  const { outcome, names } = await listed({ '': page(['a'], 'next'), next: second });
  expect(names).toEqual(['a']);
  expect(outcome).toMatchObject({ kind: 'incomplete', problem, message: expect.stringContaining(message) });
});

test('pages in a circle end', async () => {
  const { outcome } = await listed({ '': page(['a'], 'x'), x: page(['b'], 'y'), y: page(['c'], 'x') });
  expect(outcome).toMatchObject({ kind: 'incomplete', problem: 'unreadable' });
});

test('a list that goes on and tells nothing ends, and one with some empty pages is whole', async () => {
  const pages = (most: number) =>
    fakeConnection(({ path }) => {
      const at = Number(new URL(path, 'http://x').searchParams.get('continue') ?? '0');
      return page(at === most ? ['last'] : [], at === most ? '' : String(at + 1));
    });
  const outcomeOf = (most: number) =>
    listObjects(
      pages(most),
      { resource: CONFIG_MAPS, form: METADATA_FORM },
      () => undefined,
      new AbortController().signal,
    );
  expect(await outcomeOf(100)).toMatchObject({ kind: 'complete' });
  expect(await outcomeOf(Number.POSITIVE_INFINITY)).toMatchObject({
    kind: 'incomplete',
    problem: 'unreadable',
  });
});

test('a list without a resourceVersion is none to watch from', async () => {
  expect((await listed({ '': page([], '', '') })).outcome).toMatchObject({ problem: 'unreadable' });
});

/** As in a cluster in which somebody made objects so large that no ten of them fit into an answer. */
function largeObjects(names: readonly string[], fits: number) {
  return fakeConnection(({ path, mostAnswerBytes }) => {
    const query = new URL(path, 'http://x').searchParams;
    const from = Number(query.get('continue') ?? '0');
    const limit = Number(query.get('limit'));
    if (limit > fits && mostAnswerBytes !== undefined)
      throw new FleetGcError('API_ANSWER_TOO_LARGE', 'an answer is too large');
    const to = from + limit;
    return page(names.slice(from, to), to < names.length ? String(to) : '');
  });
}

test.each([
  ['of ten', 10],
  ['of one', 1],
  ['of as many as a server tells that knows no limit', 0],
])(
  '[cluster I8] objects that do not fit into a page are read in pages %s, so that nobody can keep their kind from being read',
  async (_, fits) => {
    const all = Array.from({ length: 25 }, (_, index) => `o${index}`);
    const names: string[] = [];
    const outcome = await listObjects(
      largeObjects(all, fits),
      { resource: CONFIG_MAPS, form: METADATA_FORM },
      (objects) => names.push(...objects.map(({ name }) => name)),
      new AbortController().signal,
    );
    expect(outcome).toEqual({ kind: 'complete', end: { resourceVersion: '42' } });
    expect(names).toEqual(all);
  },
);

test('[cluster I8] an object whose name is longer than any that is read stays unknown, and all others of its kind are read', async () => {
  const items = ['a', 'x'.repeat(321), 'b'].map((name) => objectBody(name, { uid: `uid-${name[0]}` }));
  const { outcome, names } = await listed({ '': { body: { metadata: { resourceVersion: '42' }, items } } });
  expect(outcome).toEqual({ kind: 'complete', end: { resourceVersion: '42' } });
  expect(names).toEqual(['a', 'b']);
});

test('a cluster is known by the uid of its namespace kube-system', async () => {
  const there = fakeConnection(() => ({ body: objectBody('kube-system', { namespace: undefined }) }));
  await expect(readClusterInstance(there)).resolves.toBe('uid-kube-system');
  const refused = fakeConnection(() => ({ status: 403, body: statusBody(403, 'Forbidden') }));
  await expect(readClusterInstance(refused)).rejects.toThrow(/kube-system.*Forbidden/);
});
