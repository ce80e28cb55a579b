import { expect, test } from 'vitest';
import { expiringForm } from '../../../packages/kube-api/expiring.ts';
import { timeMs } from '../../../packages/kube-api/metadata.ts';
import { MAX_LABELS } from '../../../schemas/events/label.ts';
import { CERTIFICATE } from '../../fixtures/certificate.ts';

const CREATED = {
  metadata: {
    name: 'a',
    namespace: 'ns',
    uid: 'uid-a',
    resourceVersion: '7',
    creationTimestamp: '2026-11-25T10:00:00Z',
  },
};
const CREATED_MS = Date.UTC(2026, 10, 25, 10);

const read = (
  group: string,
  kind: string,
  value: object,
  asked: ReadonlySet<string> | null = null,
): unknown => expiringForm({ group, kind }, asked).read({ ...CREATED, ...value })?.expiring;
const readJob = (value: object): unknown => read('batch', 'Job', value);
const readRequest = (status: unknown): unknown =>
  read('certificates.k8s.io', 'CertificateSigningRequest', { status });

const condition = (type: string, over: object = {}) => ({
  type,
  status: 'True',
  lastTransitionTime: '2026-11-25T11:00:00Z',
  ...over,
});

test('[cluster K2] of a Job the first condition counts that says that it is finished', () => {
  const conditions = [
    condition('Suspended'),
    condition('Complete', { status: 'False' }),
    condition('Failed', { lastTransitionTime: '2026-11-25T12:00:00Z' }),
    condition('Complete'),
  ];
  expect(readJob({ spec: { ttlSecondsAfterFinished: 0 }, status: { conditions } })).toEqual({
    createdAtMs: CREATED_MS,
    facts: {
      of: 'Job',
      ttlSecondsAfterFinished: 0,
      finished: { type: 'Failed', atMs: Date.UTC(2026, 10, 25, 12) },
    },
  });
});

test('[cluster K2] a finish without a time that can be read is one of which nothing follows', () => {
  for (const lastTransitionTime of [null, undefined, 'soon', '0001-01-01T00:00:00Z', 7])
    expect(
      readJob({ spec: {}, status: { conditions: [condition('Complete', { lastTransitionTime })] } }),
    ).toMatchObject({ facts: { ttlSecondsAfterFinished: null, finished: { atMs: null } } });
  expect(readJob({ spec: {} })).toMatchObject({ facts: { finished: null } });
});

test('what is no Job has no facts', () => {
  for (const value of [
    {},
    { spec: { ttlSecondsAfterFinished: -1 } },
    { spec: {}, status: { conditions: [{}] } },
  ])
    expect(readJob(value)).toBeNull();
});

test('[cluster L8] of certificate requests types of conditions are read, and not their status', () => {
  const conditions = [
    { type: 'Approved', status: 'False', lastUpdateTime: '2026-11-25T11:00:00Z' },
    { type: 'Denied' },
  ];
  expect(readRequest({ conditions })).toMatchObject({
    facts: {
      conditions: [
        { type: 'Approved', updatedAtMs: Date.UTC(2026, 10, 25, 11) },
        { type: 'Denied', updatedAtMs: null },
      ],
      certificate: { is: 'missing' },
    },
  });
});

test('[cluster L6] of a certificate the end of the first one is read, and one that cannot be parsed has none', () => {
  const certificate = Buffer.from(CERTIFICATE).toString('base64');
  expect(readRequest({ certificate })).toMatchObject({
    facts: { certificate: { is: 'there', notAfterMs: Date.UTC(2026, 10, 26, 18, 46, 10) } },
  });
  for (const unreadable of ['bm8=', 'no base64 at all', 'a'.repeat(100_000)])
    expect(readRequest({ certificate: unreadable })).toMatchObject({
      facts: { certificate: { is: 'unreadable' } },
    });
});

test('a request with conditions beyond all bounds has no facts', () => {
  expect(readRequest({ conditions: Array.from({ length: 51 }, () => ({ type: 'Approved' })) })).toBeNull();
});

test('kinds of which no rule about time knows are read as metadata alone', () => {
  for (const kind of ['ConfigMap', 'toString']) {
    expect(expiringForm({ group: '', kind }, null).accept).toContain('as=PartialObjectMetadata');
    expect(read('', kind, {})).toBeNull();
  }
  expect(expiringForm({ group: 'batch', kind: 'Job' }, null).accept).toBe('application/json');
});

test('[cluster S8] of any object the annotations are read that say when it may go, and no others', () => {
  const annotated = (annotations: unknown) =>
    read('', 'ConfigMap', { metadata: { ...CREATED.metadata, annotations } });
  expect(annotated({ 'janitor/ttl': '7d', 'fleetgc.io/ttl': '1h', other: 'x' })).toEqual({
    createdAtMs: CREATED_MS,
    facts: { of: 'object' },
    annotations: { 'janitor/ttl': '7d', 'fleetgc.io/ttl': '1h' },
  });
  for (const none of [{}, null, { other: 'x' }]) expect(annotated(none)).toBeNull();
});

test('[cluster S8] an annotation with a value beyond all bounds is there, and says nothing', () => {
  for (const value of ['x'.repeat(65), '\uD800', 7])
    expect(
      read('', 'ConfigMap', { metadata: { ...CREATED.metadata, annotations: { 'janitor/ttl': value } } }),
    ).toMatchObject({ annotations: { 'janitor/ttl': '' } });
});

test('[cluster S12] an object with more labels that are asked for than a fact tells has nothing that lets it go', () => {
  const labels = Object.fromEntries(Array.from({ length: MAX_LABELS + 1 }, (_, index) => [`l${index}`, 'x']));
  const labelled = { metadata: { ...CREATED.metadata, labels, annotations: { 'janitor/ttl': '1h' } } };
  expect(read('', 'ConfigMap', labelled, new Set(Object.keys(labels)))).toBeNull();
  expect(read('', 'ConfigMap', labelled, new Set(Object.keys(labels).slice(1)))).not.toBeNull();
});

test('[cluster S12] where rules ask for a kind, each of its objects is read with its labels, and else none is', () => {
  const labels = { app: 'ci', other: 'x' };
  const value = { metadata: { ...CREATED.metadata, labels } };
  expect(read('', 'ConfigMap', value, new Set(['app']))).toEqual({
    createdAtMs: CREATED_MS,
    facts: { of: 'object' },
    labels: { app: 'ci' },
  });
  expect(read('', 'ConfigMap', value, new Set())).toEqual({
    createdAtMs: CREATED_MS,
    facts: { of: 'object' },
  });
  const pod = { ...value, status: { phase: 'Succeeded', startTime: '2026-11-25T11:00:00Z' } };
  expect(read('', 'Pod', pod)).toBeNull();
  expect(read('', 'Pod', pod, new Set())).toMatchObject({
    facts: { of: 'Pod', ended: { state: 'Succeeded' } },
  });
  expect(expiringForm({ group: '', kind: 'Pod' }, null).accept).toBe('application/json');
});

test('a time is what an API server writes', () => {
  expect(timeMs('2026-11-25T10:00:00.123456789+01:00')).toBe(Date.UTC(2026, 10, 25, 9, 0, 0, 123));
  for (const none of [null, undefined, '', '2026', '2026-13-45T99:00:00Z', '0001-01-01T00:00:00Z', '1e9'])
    expect(timeMs(none)).toBeNull();
});
