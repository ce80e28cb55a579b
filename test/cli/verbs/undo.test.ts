import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { trustRootsText } from '../../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterRemoved } from '../../../schemas/events/cluster-removed.ts';
import type { ClusterObjectOutcome } from '../../../schemas/events/cluster-result.ts';
import { clusterObject, clusterObjectResults, clusterRemoved } from '../../fixtures/cluster.ts';
import { certified, FLEET, newKey, rootsOf } from '../../fixtures/trust.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type OwnLog, ownLog } from '../fleetgc.ts';

interface Removed extends Partial<Omit<ClusterRemoved, 'object'>> {
  readonly object?: Partial<ClusterObject>;
  /** Beside apiVersion, kind, and name and namespace in its metadata. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

function removed({ object: over, body = {}, metadata = {}, ...event }: Removed = {}): ClusterRemoved {
  const object = clusterObject({ ...over, ...(over?.name !== undefined && { uid: over.uid ?? over.name }) });
  const { group, version, kind, namespace, name } = object;
  const manifest = {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: { name, ...(namespace !== '' && { namespace }), ...metadata },
    ...body,
  };
  return clusterRemoved({
    id: `removed-${object.uid}-${event.commandId ?? ''}`,
    owners: [],
    object,
    saved: { as: 'manifest', manifest: JSON.stringify(manifest) },
    ...event,
  });
}

const saved = async ({ log }: OwnLog, ...events: readonly ClusterRemoved[]): Promise<void> => {
  for (const event of events) await log.publish([outgoing(clusterOutput('clusterRemoved', event))]);
};
const told = async (
  { log }: OwnLog,
  { object, commandId }: Pick<ClusterRemoved, 'object' | 'commandId'>,
  result: ClusterObjectOutcome = { outcome: 'removed' },
  attempts = 1,
): Promise<void> => {
  const [first] = clusterObjectResults().objects;
  if (first === undefined) throw new Error('the fixture has no object');
  const event = clusterObjectResults({ commandId, objects: [{ ...first, object, attempts, result }] });
  await log.publish([outgoing(clusterOutput('clusterResults', event))]);
};

const undo = async (own: OwnLog, ...args: readonly string[]) => {
  const { exitCode, stdout, stderr } = await own.run('undo', 'c1', ...args);
  return { exitCode, stdout, stderr, documents: parseAllDocuments(stdout).map((each) => each.toJS()) };
};
const namesOf = (documents: readonly { readonly metadata: { readonly name: string } }[]): readonly string[] =>
  documents.map(({ metadata: { name } }) => name);

test('what went is printed as it can be created, and stderr says what is not among it', async () => {
  const own = await ownLog();
  const web = removed({ object: { name: 'web' }, body: { data: { a: '1', b: 'no' } } });
  const secret = removed({
    object: { kind: 'Secret', resource: 'secrets', name: 's' },
    saved: { as: 'name', because: 'secret' },
  });
  await saved(own, web, secret);
  await told(own, web);
  await told(own, secret);
  await told(own, removed({ object: { name: 'before' } }));
  const { exitCode, stdout, stderr, documents } = await undo(own);
  expect(exitCode).toBe(0);
  expect(documents).toEqual([
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'web', namespace: 'ns' },
      data: { a: '1', b: 'no' },
    },
  ]);
  expect(stdout).toContain('b: "no"');
  expect(stderr).toContain('Printed: 1 ConfigMap.');
  expect(stderr).toContain('Not printed: Secret ns/s: what is secret is never saved.');
  expect(stderr).toContain(
    'Not printed: ConfigMap ns/before: deleted while the policy did not say undo: manifest.',
  );
  expect(stderr).toContain('fleetgc does not know what is in the cluster now.');
  expect(stderr).not.toContain('owner references');
});

test('kubectl reads YAML 1.1, in which many texts are something else: they come back as they were', async () => {
  const texts = [
    'no',
    'Y',
    'off',
    'true',
    'null',
    '~',
    '',
    '1_000',
    '0o17',
    '012',
    '0x1f',
    '1:30',
    '1e3',
    '.inf',
  ];
  const others = [
    '2026-01-01',
    '<<',
    '=',
    '- a',
    '# b',
    'a: b',
    ' lead',
    'trail ',
    'a\n  b\n\n',
    '\t',
    '*x',
    '&x',
    '!x',
    '%',
  ];
  const data = Object.fromEntries([...texts, ...others].map((text) => [text, text]));
  const own = await ownLog();
  await saved(own, removed({ body: { data } }));
  const { stdout, documents } = await undo(own);
  expect(documents).toMatchObject([{ data }]);
  expect(parseAllDocuments(stdout, { version: '1.1' }).map((each) => each.toJS())).toEqual(documents);
});

test('with --output json it is one list', async () => {
  const own = await ownLog();
  await saved(own, removed());
  const { stdout } = await undo(own, '--output', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    apiVersion: 'v1',
    kind: 'List',
    items: [{ kind: 'ConfigMap', metadata: { name: 'x' } }],
  });
});

test('owners come before their dependents, namespaces and definitions first, and nobody names an owner', async () => {
  const own = await ownLog();
  const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid });
  const clusterScoped = { namespaced: false, namespace: '' };
  await saved(
    own,
    removed({ object: { name: 'a-leaf' }, owners: [owner('b-middle')] }),
    removed({ object: { name: 'b-middle' }, owners: [owner('c-root'), owner('gone')] }),
    removed({ object: { name: 'c-root' } }),
    removed({
      object: {
        group: 'apiextensions.k8s.io',
        kind: 'CustomResourceDefinition',
        name: 'widgets.example.com',
        ...clusterScoped,
      },
    }),
    removed({ object: { kind: 'Namespace', name: 'ns', ...clusterScoped } }),
    removed({ object: { group: 'apps', kind: 'ReplicaSet', name: 'ring-a' }, owners: [owner('ring-b')] }),
    removed({ object: { group: 'apps', kind: 'ReplicaSet', name: 'ring-b' }, owners: [owner('ring-a')] }),
  );
  const { documents, stderr, stdout } = await undo(own);
  expect(namesOf(documents)).toEqual([
    'ns',
    'widgets.example.com',
    'c-root',
    'b-middle',
    'a-leaf',
    'ring-b',
    'ring-a',
  ]);
  expect(stdout).not.toContain('ownerReferences');
  expect(stderr).toContain('Without owner references: 4 objects');
  expect(stderr).toContain('Custom resources can be created once their definition is established');
});

test('only what is asked for: by name, command, owner and time', async () => {
  const own = await ownLog();
  const gone = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' };
  await saved(
    own,
    removed({ object: { name: 'a' }, commandId: 'one' }),
    removed({ object: { name: 'b' }, commandId: 'two', owners: [gone] }),
    removed({ object: { name: 'b', uid: 'b2', namespace: 'other' }, commandId: 'one' }),
  );
  for (const [args, names] of [
    [['ConfigMap/b'], ['b', 'b']],
    [['ConfigMap/ns/b'], ['b']],
    [
      ['--command', 'one'],
      ['a', 'b'],
    ],
    [['--owner', 'gone'], ['b']],
    [
      ['--since', '1h'],
      ['a', 'b', 'b'],
    ],
  ] as const)
    expect(namesOf((await undo(own, ...args)).documents).toSorted()).toEqual(names);
  const { exitCode, stdout, stderr } = await undo(own, '--since', '2100-01-01');
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toContain('the event log holds no manifest of such an object of cluster c1');
});

test('of two that had one name the last is printed, and of one that was saved twice the last state', async () => {
  const own = await ownLog();
  await saved(
    own,
    removed({ object: { name: 'a', uid: 'first' }, body: { data: { n: '1' } } }),
    removed({ object: { name: 'a', uid: 'second' }, body: { data: { n: '2' } }, commandId: 'one' }),
    removed({ object: { name: 'a', uid: 'second' }, body: { data: { n: '3' } }, commandId: 'two' }),
  );
  const { documents, stderr } = await undo(own);
  expect(documents).toMatchObject([{ data: { n: '3' } }]);
  expect(stderr).toContain('Not printed: ConfigMap ns/a: an object of the same name was deleted later');
});

test('a cluster that was installed anew under its name is another one', async () => {
  const own = await ownLog();
  await saved(own, removed({ object: { name: 'a' } }));
  expect((await undo(own)).stderr).not.toContain('one after the other');
  await saved(own, removed({ object: { name: 'b' }, clusterInstance: 'another' }));
  expect((await undo(own)).stderr).toContain('They come from 2 clusters that had this name');
});

test('what was refused stayed; what failed, or nobody told of, may be there still', async () => {
  const own = await ownLog();
  const [stayed, failed, silent] = ['stayed', 'failed', 'silent'].map((name) =>
    removed({ object: { name } }),
  );
  if (stayed === undefined || failed === undefined || silent === undefined) throw new Error('three');
  await saved(own, stayed, failed, silent);
  await told(own, stayed, { outcome: 'refused', reason: 'changed', message: '' });
  await told(own, failed, { outcome: 'failed', reason: 'unreachable', message: '' });
  const { documents, stderr } = await undo(own);
  expect(namesOf(documents)).toEqual(['failed', 'silent']);
  expect(stderr).toContain('Not printed: ConfigMap ns/stayed: the deletion was refused');
  expect(stderr).toContain('Perhaps still there: 2 ConfigMap (ns/failed, ns/silent).');
});

const REFUSED = { outcome: 'refused', message: '' } as const;

test('what was refused after an answer was lost, or for a later command, may have gone all the same', async () => {
  const own = await ownLog();
  const [superseded, found, tried] = ['superseded', 'found', 'tried'].map((name) =>
    removed({ object: { name }, commandId: 'one' }),
  );
  if (superseded === undefined || found === undefined || tried === undefined) throw new Error('three');
  await saved(own, superseded, found, tried);
  await told(own, superseded, { ...REFUSED, reason: 'superseded' });
  await told(own, found, { ...REFUSED, reason: 'superseded' });
  await told(own, { ...found, commandId: 'two' }, { outcome: 'not-found' });
  await told(own, tried, { ...REFUSED, reason: 'paused' }, 2);
  const { documents, stderr } = await undo(own);
  expect(namesOf(documents)).toEqual(['found', 'superseded', 'tried']);
  expect(stderr).toContain('Perhaps still there: 2 ConfigMap (ns/superseded, ns/tried).');
});

test('what was saved, stayed, and went later without being saved is printed as it was saved', async () => {
  const own = await ownLog();
  const later = removed({ object: { name: 'later' }, commandId: 'one' });
  await saved(own, later);
  await told(own, later, { ...REFUSED, reason: 'changed' });
  await told(own, { ...later, commandId: 'two' });
  const { documents, stderr } = await undo(own);
  expect(namesOf(documents)).toEqual(['later']);
  expect(stderr).toContain('As they were some time before: ConfigMap ns/later.');
  expect(stderr).not.toContain('Perhaps still there');
  expect((await undo(own, '--command', 'one')).stderr).toContain('Not printed: ConfigMap ns/later');
});

test('a result that lies before what was saved for it counts', async () => {
  const own = await ownLog();
  const web = removed({ object: { name: 'web' } });
  await told(own, web);
  await saved(own, web);
  const { documents, stderr } = await undo(own);
  expect(namesOf(documents)).toEqual(['web']);
  expect(stderr).not.toMatch(/Perhaps still there|Not printed/);
});

test('a Job comes without the selector and labels that its uid gave it, and says that it runs again', async () => {
  const own = await ownLog();
  const byUid = { 'controller-uid': 'u', 'batch.kubernetes.io/controller-uid': 'u', 'job-name': 'j' };
  const job = (over: object) => ({
    object: { group: 'batch', kind: 'Job', resource: 'jobs', name: 'j' },
    metadata: { labels: { ...byUid, app: 'x' }, finalizers: ['foregroundDeletion', 'other'] },
    body: {
      spec: {
        selector: { matchLabels: byUid },
        template: { metadata: { labels: { ...byUid, app: 'x' } } },
        ...over,
      },
    },
  });
  await saved(own, removed(job({})));
  const { documents, stderr } = await undo(own);
  expect(documents).toEqual([
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'ns', labels: { app: 'x' }, finalizers: ['other'] },
      spec: { template: { metadata: { labels: { app: 'x' } } } },
    },
  ]);
  expect(stderr).toContain('These run again once they are created: batch/Job ns/j.');
  const manual = await ownLog();
  await saved(manual, removed(job({ manualSelector: true })));
  expect((await undo(manual)).documents).toMatchObject([{ spec: { selector: { matchLabels: byUid } } }]);
});

test('what others wrote reaches the terminal without its control characters, and means the same', async () => {
  const own = await ownLog();
  const hostile = `\u001b]0;x\u0007\u009b2J\u202e`;
  await saved(
    own,
    removed({ object: { name: hostile, uid: 'h' }, body: { data: { [hostile]: hostile, a: 'no' } } }),
  );
  for (const format of ['yaml', 'json']) {
    const { stdout, stderr, documents } = await undo(own, '--output', format);
    expect(`${stdout}${stderr}`).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
    const [document] = format === 'json' ? JSON.parse(stdout).items : documents;
    expect(document).toMatchObject({ metadata: { name: hostile }, data: { [hostile]: hostile, a: 'no' } });
  }
});

test.each([
  ['begins with a tab', '\tall:\nbuild', '"\\tall:\\nbuild"'],
  ['has a tab after empty lines', '\n\n\tall:\nbuild', '"\\n\\n\\tall:\\nbuild"'],
  ['has a character that is none', 'a\uffffb\ufffe', '"a\\U0000ffffb\\U0000fffe"'],
  ['has a line that ends a document', 'a\n---\nb', '|-\n    a\n    ---\n    b'],
])('a text that %s is written so that kubectl reads it, and what comes after', async (_, text, written) => {
  const own = await ownLog();
  await saved(own, removed({ body: { data: { key: text } } }));
  const { stdout, documents } = await undo(own);
  expect(stdout).toContain(`  key: ${written}\n`);
  expect(documents).toMatchObject([{ data: { key: text } }]);
});

test.each([
  ['no JSON', '{"a'],
  [
    'another object',
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'y', namespace: 'ns' } }),
  ],
  [
    'another kind',
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'ns' } }),
  ],
  ['lists in lists', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
])('a record whose manifest is %s is not printed', async (_, manifest) => {
  const own = await ownLog();
  await saved(own, removed({ saved: { as: 'manifest', manifest } }));
  const { exitCode, stdout, stderr } = await undo(own);
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toContain('Not printed: ConfigMap ns/x: what the event log holds is no manifest of it.');
});

test('records of other clusters and records that are none are not printed', async () => {
  const own = await ownLog();
  await saved(own, removed(), { ...removed({ object: { name: 'y' } }), cluster: 'c2' });
  await own.log.publish([
    {
      ...outgoing(clusterOutput('clusterRemoved', removed({ object: { name: 'z' } }))),
      value: Buffer.from('{}'),
    },
  ]);
  const { documents, stderr } = await undo(own);
  expect(namesOf(documents)).toEqual(['x']);
  expect(stderr).toContain('1 record could not be read or believed');
});

test('with the roots only what a key of a cluster signed is printed', async () => {
  const own = await ownLog();
  const [root, cluster] = [newKey(), newKey()];
  const roots = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(roots, trustRootsText(rootsOf(root)));
  const nowMs = Date.now();
  const times = { issuedAtMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 };
  const { key, ...statement } = certified(root, cluster, { role: 'cluster', ...times });
  await own.log.publish([{ ...statement, key: key ?? '' }]);
  const record = outgoing(clusterOutput('clusterRemoved', removed({ object: { name: 'signed' } })));
  await own.log.publish([signRecord(record, { fleet: FLEET, key: cluster, generation: null })]);
  await saved(own, removed({ object: { name: 'forged' } }));
  expect(namesOf((await undo(own)).documents).toSorted()).toEqual(['forged', 'signed']);
  const { documents, stderr } = await undo(own, '--trust-roots', roots);
  expect(namesOf(documents)).toEqual(['signed']);
  expect(stderr).toContain('1 record could not be read or believed');
});
