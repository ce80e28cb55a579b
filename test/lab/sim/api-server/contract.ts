import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { discover } from '../../../../packages/kube-api/discovery.ts';
import { createLease, readLease, writeLease } from '../../../../packages/kube-api/lease.ts';
import { listObjects, readClusterInstance } from '../../../../packages/kube-api/list.ts';
import { METADATA_FORM } from '../../../../packages/kube-api/metadata.ts';
import { readObject } from '../../../../packages/kube-api/read.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import {
  CONFIG_MAPS,
  inNamespace,
  PATH,
  refusedIn,
  type ServerUnderTest,
  TEST_NAMESPACE,
  Told,
  Tried,
  toldIn,
  type Watched,
} from './subject.ts';

const SETTLED_MS = 30_000;
const OTHER_UID = 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff';
const signal = new AbortController().signal;
const version = (told: { readonly metadata: { readonly resourceVersion: string } }): bigint =>
  BigInt(told.metadata.resourceVersion);

/** What the real API server does, and the simulated one as well. */
export function apiServerContract(
  name: string,
  start: () => Promise<ServerUnderTest>,
  { playsGrace }: { readonly playsGrace: boolean },
): void {
  describe(`API server contract: ${name}`, () => {
    let server: ServerUnderTest;
    let tried: Tried;
    beforeAll(async () => {
      server = await start();
      tried = new Tried(server.connection);
      await tried.prepare();
    });
    afterAll(async () => server?.[Symbol.asyncDispose]());
    const given = (): Tried => tried;

    describe('who asks, and what is served', () => {
      test('somebody whom it does not know is told so', async () => {
        const answer = await server.unknown.call({ method: 'GET', path: PATH });
        expect([answer.status, refusedIn(answer).reason]).toEqual([401, 'Unauthorized']);
      });
      servedContract(given);
    });
    describe('objects', () => objectContract(given));
    describe('lists in pages', () => listContract(given));
    describe('patches', () => patchContract(given));
    describe('deletions', () => deletionContract(given));
    describe('ways to delete an owner', () => wayContract(given));
    describe('finalizers', () => finalizerContract(given));
    describe('watches', () => watchContract(given));
    describe('kinds with a life of their own', () => kindContract(given));
    if (playsGrace) describe('pods that end by and by', () => graceContract(given));
  });
}

function servedContract(given: () => Tried): void {
  test('[cluster I1] discovery tells each kind with its scope, and nothing when nothing changed', async () => {
    const { connection } = given();
    const found = await discover(connection, null);
    const kinds = (found?.groups ?? []).flatMap(({ versions }) => versions[0]?.resources ?? []);
    const of = (kind: string) =>
      kinds
        .filter((each) => each.kind === kind && each.group !== 'events.k8s.io')
        .map(({ group, version, resource, namespaced }) => [group, version, resource, namespaced]);
    expect(of('Namespace')).toEqual([['', 'v1', 'namespaces', false]]);
    expect(of('ConfigMap')).toEqual([['', 'v1', 'configmaps', true]]);
    expect(of('Deployment')).toEqual([['apps', 'v1', 'deployments', true]]);
    expect(kinds.find(({ kind }) => kind === 'ConfigMap')?.verbs).toEqual(
      expect.arrayContaining(['create', 'delete', 'get', 'list', 'patch', 'watch']),
    );
    let known = found;
    await waitUntil('discovery to stay as it is', SETTLED_MS, async () => {
      const next = await discover(connection, known);
      known = next ?? known;
      return next === null;
    });
  });

  test('it says which version it is, which cluster, and what time it is', async () => {
    const { connection } = given();
    const { status, body } = await connection.call({ method: 'GET', path: '/version' });
    expect([status, JSON.parse(body).gitVersion]).toEqual([200, expect.stringMatching(/^v1\.\d+/)]);
    const instance = await readClusterInstance(connection);
    expect(instance).toMatch(/^[0-9a-f-]{36}$/);
    expect(await readClusterInstance(connection)).toBe(instance);
    expect(connection.clock.at(performance.now())).not.toBeNull();
  });
}

function objectContract(given: () => Tried): void {
  test('what is created has a uid, a version and a time, and is there whole or as metadata', async () => {
    const made = await given().create('made', { annotations: { note: 'n' } });
    expect(made.metadata).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      resourceVersion: expect.stringMatching(/^\d+$/),
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(await given().get('made')).toMatchObject({ kind: 'ConfigMap', data: { key: 'value' } });
    const path = `${PATH}/made`;
    const answer = await given().connection.call({ method: 'GET', path, accept: METADATA_FORM.accept });
    const partial = toldIn(answer);
    expect(partial).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { annotations: { note: 'n' } },
    });
    expect('data' in partial).toBe(false);
  });

  test('a name that is taken, a namespace that is not there: refused, and the object named', async () => {
    await given().create('taken');
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'taken' } };
    const again = await given().call('POST', PATH, body);
    expect([again.status, refusedIn(again)]).toEqual([
      409,
      expect.objectContaining({ reason: 'AlreadyExists', details: { name: 'taken', kind: 'configmaps' } }),
    ]);
    const nowhere = await given().call('POST', PATH.replace('contract', 'nowhere'), body);
    expect([nowhere.status, refusedIn(nowhere).details]).toEqual([
      404,
      expect.objectContaining({ name: 'nowhere', kind: 'namespaces' }),
    ]);
  });

  test.each([
    ['two controllers', ['a', 'b'].map((name) => ({ ...OWNER, name, uid: name, controller: true }))],
    ['no uid', [{ ...OWNER, uid: '' }]],
    ['no name', [{ ...OWNER, name: '' }]],
    ['no kind', [{ ...OWNER, kind: '' }]],
    ['no apiVersion', [{ ...OWNER, apiVersion: '' }]],
    ['an Event as owner', [{ ...OWNER, kind: 'Event' }]],
  ])('[cluster A9] references with %s are refused', async (_, ownerReferences) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'badly-owned', ownerReferences } };
    const answer = await given().call('POST', PATH, body);
    expect([answer.status, refusedIn(answer).reason]).toEqual([422, 'Invalid']);
  });

  test('[cluster A9] whether an owner is there, or can be at all, is not looked at', async () => {
    const { uid } = (await given().create('described-wrongly')).metadata;
    const ownerReferences = [
      OWNER,
      { ...OWNER, apiVersion: 'example.com/v1', kind: 'Unknown', uid: 'u' },
      { ...OWNER, kind: 'Secret', name: 'other', uid },
    ];
    const made = await given().create('anyhow-owned', { ownerReferences });
    expect(made.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual([
      'ConfigMap',
      'Unknown',
      'Secret',
    ]);
  });

  test('[cluster D4, D9] absent is only what is served and not there', async () => {
    const { connection } = given();
    const at = (over: object) =>
      readObject(connection, { ...CONFIG_MAPS, ...over }, inNamespace('absent'), METADATA_FORM);
    expect((await at({})).kind).toBe('absent');
    expect((await at({ resource: 'others' })).kind).toBe('unknown');
    expect((await at({ group: 'example.com' })).kind).toBe('unknown');
    const answer = await given().call('GET', `${PATH}/absent`);
    expect(refusedIn(answer)).toMatchObject({
      reason: 'NotFound',
      code: 404,
      details: { name: 'absent', kind: 'configmaps' },
    });
  });

  test('versions of all kinds count up together, and a new object of a name has another uid', async () => {
    const first = await given().create('counted');
    const lease = await createLease(given().connection, inNamespace('counted'), CLAIM, signal);
    await given().delete('counted');
    const second = await given().create('counted');
    if (lease.kind !== 'lease') throw new Error(`no Lease: ${lease.kind}`);
    expect(BigInt(lease.state.resourceVersion)).toBeGreaterThan(version(first));
    expect(version(second)).toBeGreaterThan(BigInt(lease.state.resourceVersion));
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
  });
}
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: OTHER_UID };
const CLAIM = { holder: 'h', durationSeconds: 15, nowMs: 1_764_000_000_000 };

function listContract(given: () => Tried): void {
  test('pages belong together, whatever happens between them', async () => {
    const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
    for (const name of names) await given().create(name);
    const page = async (query: string) => {
      const { status, body } = await given().call('GET', `${PATH}?limit=2${query}`);
      expect(status, body).toBe(200);
      return JSON.parse(body);
    };
    const seen: string[] = [];
    const versions = new Set<string>();
    let next = '';
    do {
      const { kind, items, metadata } = await page(next && `&continue=${encodeURIComponent(next)}`);
      expect([kind, items.length <= 2]).toEqual(['ConfigMapList', true]);
      expect(metadata.continue === undefined).toBe(metadata.remainingItemCount === undefined);
      seen.push(...items.map((each: { metadata: { name: string } }) => each.metadata.name));
      versions.add(metadata.resourceVersion);
      if (seen.length === 2) {
        await given().create('p0');
        await given().create('p9');
        await given().delete('p5');
      }
      next = metadata.continue ?? '';
    } while (next !== '');
    expect(seen.filter((name) => name.startsWith('p'))).toEqual(names);
    expect(seen).toEqual(seen.toSorted());
    expect(versions.size).toBe(1);
  });

  test('a list ends at a version from which a watch goes on', async () => {
    const found: string[] = [];
    const outcome = await listObjects(
      given().connection,
      { resource: CONFIG_MAPS, form: METADATA_FORM },
      (objects) => found.push(...objects.map(({ name }) => name)),
      signal,
    );
    expect(found).toContain('p1');
    if (outcome.kind !== 'complete') throw new Error(outcome.message);
    using watched = await given().watch(outcome.end.resourceVersion);
    await given().create('after-the-list');
    expect((await watched.about('after-the-list', 1)).map(({ type }) => type)).toEqual(['ADDED']);
  });

  test('what was never told as a continuation is refused', async () => {
    const answer = await given().call('GET', `${PATH}?limit=2&continue=nonsense`);
    expect([answer.status, refusedIn(answer).reason]).toEqual([400, 'BadRequest']);
  });
}

function patchContract(given: () => Tried): void {
  test('[cluster D11, D18] a patch that names another uid or an older version changes nothing', async () => {
    const made = await given().create('swapped');
    const changed = toldIn(await given().patch('swapped', { data: { key: 'new' } }));
    expect(version(changed)).toBeGreaterThan(version(made));
    const { uid, resourceVersion } = made.metadata;
    const finalizers = ['example.com/f'];
    const stale = await given().patch('swapped', { metadata: { uid, resourceVersion, finalizers } });
    const gone = { uid: OTHER_UID, resourceVersion, finalizers };
    const both = await given().patch('swapped', { metadata: gone });
    const other = await given().patch('swapped', { metadata: { uid: OTHER_UID, finalizers } });
    expect([stale, both, other].map((each) => [each.status, refusedIn(each).reason])).toEqual([
      [409, 'Conflict'],
      [409, 'Conflict'],
      [422, 'Invalid'],
    ]);
    expect(await given().get('swapped')).toEqual(changed);
    const current = { uid, resourceVersion: changed.metadata.resourceVersion, finalizers };
    expect(toldIn(await given().patch('swapped', { metadata: current })).metadata.finalizers).toEqual(
      finalizers,
    );
    const emptied = toldIn(await given().patch('swapped', { metadata: { finalizers: [] } }));
    expect(emptied.metadata.finalizers).toBeUndefined();
  });

  test('a patch that changes nothing makes no new version, and one for nothing is told so', async () => {
    const made = await given().create('same', { ownerReferences: [OWNER] });
    const same = await given().patch('same', { metadata: { ownerReferences: [OWNER] } });
    expect(toldIn(same)).toEqual(made);
    const absent = await given().patch('absent', { metadata: { finalizers: [] } });
    expect([absent.status, refusedIn(absent).details?.name]).toEqual([404, 'absent']);
  });

  test('a rehearsed patch is answered, and not done', async () => {
    const made = await given().create('rehearsed');
    const answer = await given().call('PATCH', `${PATH}/rehearsed?dryRun=All`, { data: { key: 'new' } });
    expect(toldIn(answer)).toMatchObject({ data: { key: 'new' } });
    expect(await given().get('rehearsed')).toEqual(made);
  });
}

function deletionContract(given: () => Tried): void {
  test('[cluster D15] what is not what was judged stays', async () => {
    const made = await given().create('judged');
    await given().patch('judged', { data: { key: 'new' } });
    const { uid, resourceVersion } = made.metadata;
    const stale = await given().delete('judged', { preconditions: { uid, resourceVersion } });
    const other = await given().delete('judged', { preconditions: { uid: OTHER_UID } });
    expect([stale, other].map((each) => [each.status, refusedIn(each).reason])).toEqual([
      [409, 'Conflict'],
      [409, 'Conflict'],
    ]);
    const current = await given().get('judged');
    const judged = { uid, resourceVersion: current?.metadata.resourceVersion };
    const rehearsed = await given().delete('judged', { preconditions: judged, dryRun: ['All'] });
    expect([rehearsed.status, await given().get('judged')]).toEqual([200, current]);
    const gone = await given().delete('judged', { preconditions: judged, propagationPolicy: 'Background' });
    expect([gone.status, JSON.parse(gone.body)]).toEqual([
      200,
      expect.objectContaining({
        kind: 'Status',
        status: 'Success',
        details: { name: 'judged', kind: 'configmaps', uid },
      }),
    ]);
    const again = await given().delete('judged', { preconditions: judged });
    expect([again.status, refusedIn(again).details?.name]).toEqual([404, 'judged']);
  });

  test.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ])('[cluster N8] deleted with %s it waits with the finalizer %s', async (propagationPolicy, finalizer) => {
    const name = `waits-${finalizer.toLowerCase()}`;
    await given().create(name, { finalizers: ['example.com/other'] });
    const rehearsed = await given().delete(name, { propagationPolicy, dryRun: ['All'] });
    expect(toldIn(rehearsed).metadata.finalizers).toContain(finalizer);
    expect((await given().get(name))?.metadata.deletionTimestamp).toBeUndefined();
    const answer = await given().delete(name, { propagationPolicy });
    const waiting = toldIn(answer);
    expect([answer.status, waiting.metadata.finalizers]).toEqual([200, ['example.com/other', finalizer]]);
    expect(waiting.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(await given().get(name)).toEqual(waiting);
    await given().delete(name, { propagationPolicy });
    await given().delete(name);
    expect(await given().get(name)).toEqual(waiting);
  });

  test('[cluster G3] deleted in another way while it waits, it waits for that, or goes', async () => {
    await given().create('asked-again');
    await given().delete('asked-again', { propagationPolicy: 'Orphan' });
    await given().delete('asked-again', { propagationPolicy: 'Foreground' });
    expect((await given().get('asked-again'))?.metadata.finalizers).toEqual(['foregroundDeletion']);
    await given().delete('asked-again', { propagationPolicy: 'Background' });
    expect(await given().get('asked-again')).toBeNull();
  });
}

function wayContract(given: () => Tried): void {
  test.each<[object, readonly string[], readonly string[]]>([
    [{}, [], []],
    [{}, ['orphan'], ['orphan']],
    [{}, ['foregroundDeletion'], ['foregroundDeletion']],
    [{ propagationPolicy: 'Foreground' }, ['orphan'], ['foregroundDeletion']],
    [{ propagationPolicy: 'Background' }, ['orphan'], []],
    [{ orphanDependents: true }, ['foregroundDeletion'], ['orphan']],
    [{ orphanDependents: false }, ['orphan'], []],
  ])(
    '[cluster G1, G3] deleted with %j and the finalizers %j it waits with %j',
    async (options, before, after) => {
      await given().create('its-way', { finalizers: ['example.com/other', ...before] });
      const { metadata } = toldIn(await given().delete('its-way', options));
      expect(metadata.finalizers).toEqual(['example.com/other', ...after]);
      await given().patch('its-way', { metadata: { finalizers: [] } });
      expect(await given().get('its-way')).toBeNull();
    },
  );

  test('[cluster G1] who says it in both words is refused', async () => {
    const made = await given().create('said-twice');
    const options = { orphanDependents: true, propagationPolicy: 'Orphan' };
    const answer = await given().delete('said-twice', options);
    expect([answer.status, refusedIn(answer).reason]).toEqual([422, 'Invalid']);
    expect(await given().get('said-twice')).toEqual(made);
  });

  const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [CONTAINER] } };
  const job = { template: { spec: { containers: [CONTAINER], restartPolicy: 'Never' } } };
  test.each([
    ['v1', 'ReplicationController', 'replicationcontrollers', { selector: { app: 'x' }, template }],
    ['batch/v1', 'Job', 'jobs', job],
  ])(
    '[cluster G2] without a word a %s %s leaves its dependents',
    async (apiVersion, kind, resource, spec) => {
      const path = `${PATH_OF(apiVersion)}/${resource}`;
      const create = async (name: string): Promise<void> => {
        const answer = await given().call('POST', path, { apiVersion, kind, metadata: { name }, spec });
        expect(answer.status, answer.body).toBe(201);
      };
      await create('by-its-kind');
      const waiting = toldIn(await given().call('DELETE', `${path}/by-its-kind`));
      expect(waiting.metadata.finalizers).toEqual(['orphan']);
      await create('as-it-is-told');
      await given().call('DELETE', `${path}/as-it-is-told`, { propagationPolicy: 'Background' });
      expect((await given().call('GET', `${path}/as-it-is-told`)).status).toBe(404);
    },
  );

  test('[cluster G2] an Event waits for nobody, whatever is asked for', async () => {
    const path = `${PATH_OF('v1')}/events`;
    for (const propagationPolicy of ['Foreground', 'Orphan']) {
      const name = `event-${propagationPolicy.toLowerCase()}`;
      const involvedObject = { kind: 'ConfigMap', namespace: TEST_NAMESPACE, name: 'x' };
      const event = { apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject };
      expect((await given().call('POST', path, event)).status).toBe(201);
      expect((await given().call('DELETE', `${path}/${name}`, { propagationPolicy })).status).toBe(200);
      expect((await given().call('GET', `${path}/${name}`)).status).toBe(404);
    }
  });

  test('[cluster G5] a second deletion sets a finalizer again that was taken away', async () => {
    await given().create('once-more', { finalizers: ['example.com/other'] });
    const foreground = { propagationPolicy: 'Foreground' };
    await given().delete('once-more', foreground);
    await given().patch('once-more', { metadata: { finalizers: ['example.com/other'] } });
    const { metadata } = toldIn(await given().delete('once-more', foreground));
    expect(metadata.finalizers).toEqual(['example.com/other', 'foregroundDeletion']);
  });
}
const CONTAINER = { name: 'c', image: 'registry.example/c:1' };
const PATH_OF = (apiVersion: string): string =>
  `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/${TEST_NAMESPACE}`;

function finalizerContract(given: () => Tried): void {
  test('[cluster G4] what others set holds it, may not grow, and its end is the end of the object', async () => {
    await given().create('held', { finalizers: ['example.com/a', 'example.com/b'] });
    const { metadata } = toldIn(await given().delete('held', { propagationPolicy: 'Background' }));
    expect(metadata.finalizers).toEqual(['example.com/a', 'example.com/b']);
    const more = await given().patch('held', {
      metadata: { finalizers: ['example.com/a', 'example.com/b', 'example.com/c'] },
    });
    expect([more.status, refusedIn(more).reason]).toEqual([422, 'Invalid']);
    const less = await given().patch('held', { metadata: { finalizers: ['example.com/b'] } });
    expect(toldIn(less).metadata.deletionTimestamp).toBe(metadata.deletionTimestamp);
    const rehearsed = await given().call('PATCH', `${PATH}/held?dryRun=All`, {
      metadata: { finalizers: [] },
    });
    expect([rehearsed.status, await given().get('held')]).toEqual([200, toldIn(less)]);
    const last = await given().patch('held', { metadata: { finalizers: [] } });
    expect([last.status, await given().get('held')]).toEqual([200, null]);
  });
}

function watchContract(given: () => Tried): void {
  const types = (events: Awaited<ReturnType<Watched['about']>>): readonly string[] =>
    events.map(({ type }) => type);

  test('each change is told once, in its order, with the version that it made', async () => {
    using watched = await given().watch(await given().now());
    const made = await given().create('told');
    const changed = toldIn(await given().patch('told', { data: { key: 'new' } }));
    await given().patch('told', { data: { key: 'new' } });
    await given().delete('told');
    const events = await watched.about('told', 3);
    expect(types(events)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    const [added, modified, deleted] = events;
    expect([added?.metadata, modified?.metadata]).toEqual([made.metadata, changed.metadata]);
    if (deleted === undefined) throw new Error('nothing was deleted');
    expect(version(deleted)).toBeGreaterThan(version(changed));
    expect(deleted).toMatchObject({ metadata: { uid: made.metadata.uid }, data: { key: 'new' } });
    using resumed = await given().watch(changed.metadata.resourceVersion);
    expect(types(await resumed.about('told', 1))).toEqual(['DELETED']);
  });

  test('[cluster C13] an owner that waits is told as changed, and its end as deleted, as it was before', async () => {
    using watched = await given().watch(await given().now());
    await given().create('waited');
    await given().delete('waited', { propagationPolicy: 'Foreground' });
    await given().patch('waited', { metadata: { finalizers: [] } });
    const events = await watched.about('waited', 3);
    expect(types(events)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(events.map(({ metadata }) => metadata.finalizers)).toEqual([
      undefined,
      ['foregroundDeletion'],
      ['foregroundDeletion'],
    ]);
  });

  test('metadata alone is watched in its form', async () => {
    const stop = new AbortController();
    const path = `${PATH}?watch=true&resourceVersion=${await given().now()}&timeoutSeconds=60`;
    const request = { method: 'GET', path, accept: METADATA_FORM.accept } as const;
    const { body } = await given().connection.stream(request, stop.signal);
    await given().create('metadata-only');
    for await (const chunk of body) {
      const { type, object } = JSON.parse(chunk.toString('utf8').split('\n')[0] ?? '');
      expect([type, object.kind, object.data]).toEqual(['ADDED', 'PartialObjectMetadata', undefined]);
      break;
    }
    stop.abort();
  });

  test('before it ends it says up to where it has told all, if anything has happened anywhere', async () => {
    const from = await given().now();
    using watched = await given().watch(from, '&timeoutSeconds=5&allowWatchBookmarks=true');
    using without = await given().watch(from, '&timeoutSeconds=5');
    const elsewhere = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'elsewhere' } };
    const made = toldIn(await given().call('POST', PATH.replace('contract', 'default'), elsewhere));
    await watched.end();
    await without.end();
    expect(new Set(watched.events.map(({ type }) => type))).toEqual(new Set(['BOOKMARK']));
    expect(watched.events[0]?.object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    expect(version(Told.parse(watched.events[0]?.object))).toBeGreaterThanOrEqual(version(made));
    expect(without.events).toEqual([]);
  });
}

const PODS = PATH.replace('configmaps', 'pods');

function graceContract(given: () => Tried): void {
  test('[cluster G4, G5] one on a node stays for its grace, and no other way to delete it counts meanwhile', async () => {
    const spec = { containers: [CONTAINER], nodeName: 'absent' };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bound' }, spec };
    expect((await given().call('POST', PODS, pod)).status).toBe(201);
    const deleted = (propagationPolicy: string, over: object = {}) =>
      given().call('DELETE', `${PODS}/bound`, { propagationPolicy, ...over });
    const { metadata } = toldIn(await deleted('Foreground'));
    expect(metadata).toMatchObject({
      deletionGracePeriodSeconds: 30,
      finalizers: ['foregroundDeletion'],
    });
    expect(toldIn(await deleted('Orphan')).metadata).toEqual(metadata);
    await deleted('Background', { gracePeriodSeconds: 0 });
    expect((await given().call('GET', `${PODS}/bound`)).status).toBe(404);
  });
}

function kindContract(given: () => Tried): void {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'unbound' },
    spec: { containers: [CONTAINER] },
  };

  test('a pod without a node goes at once, and is told first as being deleted', async () => {
    const created = await given().call('POST', PODS, pod);
    expect(created.status, created.body).toBe(201);
    using watched = await given().watch(toldIn(created).metadata.resourceVersion, '', PODS);
    const answer = await given().call('DELETE', `${PODS}/unbound`, { propagationPolicy: 'Background' });
    expect([answer.status, toldIn(answer).metadata.deletionTimestamp]).toEqual([
      200,
      expect.stringMatching(/Z$/),
    ]);
    expect((await given().call('GET', `${PODS}/unbound`)).status).toBe(404);
    const events = await watched.about('unbound', 2);
    expect(events.map(({ type, metadata }) => [type, metadata.deletionTimestamp !== undefined])).toEqual([
      ['MODIFIED', true],
      ['DELETED', true],
    ]);
  });

  test('a namespace that is deleted waits for its controller, and nothing new comes into it', async () => {
    const path = '/api/v1/namespaces';
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ending' } };
    await given().call('POST', path, body);
    const deleted = await given().call('DELETE', `${path}/ending`);
    expect([deleted.status, toldIn(deleted).metadata.deletionTimestamp]).toEqual([
      200,
      expect.stringMatching(/Z$/),
    ]);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } };
    const refused = await waitUntil('the namespace to be closed', SETTLED_MS, async () => {
      const answer = await given().call('POST', PATH.replace('contract', 'ending'), object);
      return answer.status === 403 && answer;
    });
    expect(refusedIn(refused).reason).toBe('Forbidden');
    expect((await given().call('GET', `${path}/ending`)).status).toBe(200);
  });

  test('a Lease is taken by the one who has read its last state', async () => {
    const { connection } = given();
    const lease = inNamespace('turns');
    expect((await readLease(connection, lease, signal)).kind).toBe('absent');
    const created = await createLease(connection, lease, CLAIM, signal);
    if (created.kind !== 'lease') throw new Error(`no Lease: ${created.kind}`);
    expect((await createLease(connection, lease, CLAIM, signal)).kind).toBe('conflict');
    const taken = { state: created.state, claim: { ...CLAIM, holder: 'other' } };
    expect((await writeLease(connection, lease, taken, signal)).kind).toBe('lease');
    expect((await writeLease(connection, lease, taken, signal)).kind).toBe('conflict');
  });
}
