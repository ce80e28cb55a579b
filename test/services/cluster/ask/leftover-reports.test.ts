import { expect, test } from 'vitest';
import type { LeftoverReport } from '../../../../schemas/reports/cluster-leftovers.ts';
import { REPORTS, type SeenObject } from '../../../../services/cluster/ask/leftover-reports.ts';

const NOW = Date.parse('2026-06-10T00:00:00Z');
const OLD = '2026-06-01T00:00:00Z';
const NEW = '2026-06-09T23:59:00Z';

/** Objects as an API server writes them, by list. */
type Given = Readonly<Record<string, readonly object[]>>;

const object = (name: string, over: object = {}, metadata: object = {}) => ({
  metadata: {
    name,
    namespace: 'ns',
    uid: name,
    resourceVersion: '1',
    creationTimestamp: OLD,
    ...metadata,
  },
  ...over,
});

/** What a report finds: name, since, and why. */
function found(report: LeftoverReport, given: Given): readonly string[] {
  const { stages, find } = REPORTS[report]();
  const lists = new Map<string, SeenObject[]>();
  for (const forms of stages)
    for (const [key, form] of Object.entries(forms))
      lists.set(
        key,
        (given[key] ?? []).flatMap((value) => form.read(value) ?? []),
      );
  return find((key) => lists.get(key) ?? [], NOW).map(
    ({ object: { name }, since, because }) => `${name} ${since} ${because}`,
  );
}

test('volumes that were released or failed, and no others', () => {
  const volume = (name: string, phase: string) =>
    object(name, {
      spec: { claimRef: { namespace: 'shop', name: 'data' }, persistentVolumeReclaimPolicy: 'Retain' },
      status: { phase, lastPhaseTransitionTime: OLD },
    });
  const volumes = [volume('a', 'Released'), volume('b', 'Bound'), volume('c', 'Failed'), object('d')];
  expect(found('released-volumes', { '/persistentvolumes': volumes })).toEqual([
    `a ${OLD} Released, by claim shop/data; reclaim policy Retain`,
    `c ${OLD} Failed, by claim shop/data; reclaim policy Retain`,
  ]);
});

test('the Jobs beyond the limits of their CronJob, those first that started first', () => {
  const job = (name: string, type: string, startTime: string | null, owner = 'cron') =>
    object(
      name,
      { status: { conditions: [{ type, status: 'True' }], startTime } },
      {
        ownerReferences: [
          { apiVersion: 'batch/v1', kind: 'CronJob', name: owner, uid: owner, controller: true },
        ],
      },
    );
  const day = (number: number): string => `2026-06-0${number}T00:00:00Z`;
  const jobs = [
    job('a-never-started', 'Complete', null),
    job('j3', 'Complete', day(2)),
    job('j1', 'Complete', day(1)),
    job('j2', 'Complete', day(2)),
    job('f1', 'Failed', day(1)),
    job('f2', 'Failed', day(2)),
    job('other', 'Complete', day(1), 'x'),
    job('running', 'Suspended', day(1)),
  ];
  const cronJobs = [object('cron', { spec: { successfulJobsHistoryLimit: 2 } })];
  expect(found('cron-job-histories', { 'batch/cronjobs': cronJobs, 'batch/jobs': jobs })).toEqual([
    `j1 ${OLD} 4 Jobs of CronJob cron are Complete, and successfulJobsHistoryLimit is 2`,
    expect.stringMatching(/^j2 /),
    `f1 ${OLD} 2 Jobs of CronJob cron are Failed, and failedJobsHistoryLimit is 1`,
  ]);
});

test('nodes that are silent for long are told, and those that are not ready are not', () => {
  const node = (name: string, status: string, lastTransitionTime: string) =>
    object(name, {
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime, lastHeartbeatTime: OLD }] },
    });
  const nodes = [
    node('gone', 'Unknown', OLD),
    node('new', 'Unknown', NEW),
    node('ill', 'False', OLD),
    object('bare'),
  ];
  expect(found('silent-nodes', { '/nodes': nodes })).toEqual([
    `gone ${OLD} no kubelet was heard since ${OLD}`,
  ]);
});

test('leases that nobody renews; a time that cannot be read is none', () => {
  const lease = (name: string, renewTime: string) =>
    object(name, { spec: { holderIdentity: 'h', leaseDurationSeconds: 15, renewTime } });
  const leases = [lease('old', OLD), lease('held', NEW), lease('odd', 'yesterday'), object('empty')];
  expect(found('expired-leases', { 'coordination.k8s.io/leases': leases })).toEqual([
    `old ${OLD} held by h, for 15 s at a time`,
  ]);
});

test('what no field of what could name it has the name of', () => {
  const named = ['in-pod', 'in-template', 'in-account', 'in-volume', 'elsewhere', 'unnamed'].map((name) =>
    object(name),
  );
  const owned = { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p' }] };
  const maps = [
    ...named,
    object('owned', {}, owned),
    object('young', {}, { creationTimestamp: NEW }),
    object('kube-root-ca.crt'),
    object('sh.helm.release.v1.web.v1'),
  ];
  const told = found('unnamed', {
    '/configmaps': maps,
    '/secrets': [object('unnamed-secret')],
    '/pods': [object('p', { spec: { volumes: [{ configMap: { name: 'in-pod' } }] } })],
    'apps/deployments': [
      object('d', {
        spec: { template: { spec: { containers: [{ envFrom: [{ secretRef: { name: 'in-template' } }] }] } } },
      }),
    ],
    '/serviceaccounts': [object('s', { imagePullSecrets: [{ name: 'in-account' }] })],
    '/persistentvolumes': [
      object('v', { spec: { csi: { secretRef: { name: 'in-volume' } } } }, { namespace: '' }),
    ],
    'batch/jobs': [object('j', { spec: { x: 'elsewhere' } }, { namespace: 'another' })],
  });
  expect(told.map((line) => line.split(' ')[0])).toEqual(['elsewhere', 'unnamed', 'unnamed-secret']);
});
