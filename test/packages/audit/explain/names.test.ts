import { expect, test } from 'vitest';
import { askedName, namesLike } from '../../../../packages/audit/explain/question.ts';
import {
  container,
  image,
  inventory,
  NODE,
  pod,
  podLogDirectory,
  sandbox,
} from '../../../fixtures/inventory.ts';
import {
  answered,
  asking,
  explained,
  type Logged,
  look,
  ordered,
  removed,
  told,
} from './support/recorded-log.ts';

const HEX = 'abcdef123456'.padEnd(64, '0');
const DIGEST = `sha256:${'d'.repeat(64)}`;
const node = {
  images: [
    image(`sha256:${HEX}`, {
      repoTags: ['docker.io/library/nginx:1.25'],
      repoDigests: [`docker.io/library/nginx@${DIGEST}`],
    }),
    image('sha256:second', { repoTags: ['registry.example/shop/web:2'] }),
  ],
  containers: [
    container('0123456789ab', {
      name: 'app',
      attempt: 1,
      pod: { uid: 'pod-7', name: 'web-1', namespace: 'shop' },
    }),
  ],
  sandboxes: [
    sandbox('ba9876543210', { podUid: 'pod-7', pod: { uid: 'pod-7', name: 'web-1', namespace: 'shop' } }),
  ],
  podLogDirectories: [podLogDirectory('shop_gone_pod-8')],
};

test.each([
  ['docker.io/library/nginx:1.25', 'image'],
  ['nginx:1.25', 'image'],
  ['nginx', 'image'],
  ['docker.io/nginx', 'image'],
  [HEX, 'image'],
  [`sha256:${HEX}`, 'image'],
  ['abcdef12', 'image'],
  ['sha256:abcdef12', 'image'],
  [DIGEST, 'image'],
  [`nginx@${DIGEST}`, 'image'],
  ['image/shop/web', 'image'],
  ['app', 'container'],
  ['app#1', 'container'],
  ['web-1/app', 'container'],
  ['shop/web-1/app#1', 'container'],
  ['012345', 'container'],
  ['web-1#0', 'sandbox'],
  ['sandbox/web-1', 'sandbox'],
  ['ba9876543210', 'sandbox'],
  ['pod/web-1', 'pod'],
  ['shop/web-1', 'pod'],
  ['pod-7', 'pod'],
  ['shop_gone_pod-8', 'pod-log-directory'],
  ['node/web-1', 'node'],
  ['prod/web-1', 'node'],
])('%s means one %s', async (name, kind) => {
  expect(await explained([look(0, node)], name)).toMatchObject({ status: 'explained', subject: { kind } });
});

test.each([
  'nginx:1.24',
  'app#0',
  'web-2',
  'abcde',
  'shop/nginx:1.25',
  'container/web-1',
  'node/web',
  'pod/app',
])('%s means nothing that is there', async (name) => {
  expect((await explained([look(0, node)], name)).status).toBe('not-found');
});

test('a name that means several things says which', async () => {
  expect(await explained([look(0, node)], 'web-1')).toMatchObject({
    status: 'ambiguous',
    candidates: [
      { kind: 'node', id: 'prod/web-1', state: 'there' },
      { kind: 'pod', id: 'pod-7', name: 'shop/web-1', state: 'there' },
    ],
  });
});

const twoNodes: readonly Logged[] = [look(0, node), look(1, { ...node, node: 'web-2' })];

test.each([
  { node: null, status: 'ambiguous' },
  { node: 'web-2', status: 'explained' },
  { node: 'prod/web-2', status: 'explained' },
  { node: 'test/web-2', status: 'not-found' },
  { node: 'web', status: 'not-found' },
])('on node $node the image of two nodes is $status', async (one) => {
  expect(await explained(twoNodes, asking('nginx', { node: one.node }))).toMatchObject({
    status: one.status,
  });
});

test('asked for a time, a tag means the image that had it then', async () => {
  const moved = { images: [image('sha256:new', { repoTags: ['docker.io/library/nginx:1.25'] })] };
  const events = [look(0, node), look(60, moved)];

  expect(await explained(events, 'nginx:1.25')).toMatchObject({ status: 'ambiguous' });
  expect(await explained(events, asking('nginx:1.25', { thereOnly: true }))).toMatchObject({
    status: 'explained',
    subject: { id: 'sha256:new' },
  });
});

test('an id is known from its command and result alone, when the looks lie before the range', async () => {
  const id = `sha256:${HEX}`;

  expect(await explained([ordered(1, id), answered(2, id, removed(3))], 'abcdef123456')).toMatchObject({
    status: 'explained',
    subject: { kind: 'image', id, state: 'removed' },
    timeline: [{ what: 'command' }, { what: 'result' }],
  });
});

test('what never was is said so, with names that are near', async () => {
  const near = await explained([look(0, node)], 'docker.io/library/ngimx:1.25');
  expect(near).toMatchObject({ status: 'not-found', nearNames: ['docker.io/library/nginx:1.25'] });

  const part = await explained([look(0, node)], 'ngin');
  expect(part).toMatchObject({ nearNames: ['nginx:1.25', 'docker.io/library/nginx:1.25'] });
});

test('the entries of log directories are not offered: people ask for their pods', async () => {
  for (const name of ['shop_gone', 'pod-log-directory/shop_gone'])
    expect(await explained([look(0, node)], name)).toMatchObject({ status: 'not-found', nearNames: [] });
});

test('names are near to one of a kind only among those of that kind', async () => {
  const nearTo = async (name: string) => {
    const explanation = await explained([look(0, node)], name);
    return explanation.status === 'not-found' ? explanation.nearNames : explanation.status;
  };

  expect(await nearTo('image/ngin')).toEqual(['nginx:1.25', 'docker.io/library/nginx:1.25']);
  expect(await nearTo('pod/ngin')).toEqual([]);
  expect(await nearTo('pod/nginx:1.25')).toEqual([]);
});

test('a name that is known is not near to itself', () => {
  const names = new Set(['web:1', 'shop/web:1', 'docker.io/shop/web:1', 'shop/web:12']);

  expect(namesLike(askedName('shop/web:1'), names)).toEqual({
    knownOtherwise: true,
    nearNames: ['shop/web:12'],
  });
  expect(namesLike(askedName('shop/web:2'), names).knownOtherwise).toBe(false);
});

test('nothing on the log is told apart from nothing of that name', async () => {
  expect(await explained([], 'nginx')).toMatchObject({
    status: 'not-found',
    reading: { records: 0, firstRecordMs: null, lastRecordMs: null },
  });
});

test('a name whose letters are escaped on the log is found', async () => {
  const text = JSON.stringify(inventory({ id: 'look-0', ...node })).replaceAll('nginx', '\\u006eginx');
  const [, output] = look(0);

  expect(await explained([[0, output, Buffer.from(text)]], 'nginx')).toMatchObject({ status: 'explained' });
});

test('a name that is nothing but its kind is an error', () => {
  expect(() => askedName('pod/')).toThrow('names nothing');
});

test('a node that is named with its cluster is found in its part of the log', async () => {
  expect(await explained(twoNodes, `node/${NODE.cluster}/web-2`)).toMatchObject({
    status: 'explained',
    reading: { records: 1 },
  });
});

test('looks in which no name of it stands are left unread, and yet tell that it is new, gone and back', async () => {
  const renamed = { images: node.images.map((one) => ({ ...one, repoTags: [], repoDigests: [] })) };
  const unread = (seconds: number): Logged => look(seconds, { images: [image('sha256:else')] });

  expect(
    told(await explained([unread(0), look(1, node), unread(2), unread(3), look(4, renamed)], 'nginx')),
  ).toEqual(['1 seen new', '2 gone', '4 seen again']);
});

test('a pod of which only the kubelet spoke was never removed by us', async () => {
  const events = [look(0, { pods: [pod('pod-9')] }), look(60, { pods: [] })];

  expect(await explained(events, 'pod/pod-9')).toMatchObject({ subject: { state: 'gone' } });
});
