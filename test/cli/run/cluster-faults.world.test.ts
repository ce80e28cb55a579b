import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { HeldList } from '../../../schemas/reports/policy-list.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { fleetgc } from '../fleetgc.ts';
import { approveOnPage } from './support/approve-on-page.ts';
import { COLLECTED_MS, FaultyCluster, faultSuite, type Owner } from './support/fault-suite.ts';
import { type RealSubject, realSubject } from './support/real-subject.ts';

let subject: RealSubject;
let cluster: FaultyCluster;
beforeAll(async () => {
  subject = await realSubject();
  cluster = await FaultyCluster.start(subject);
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

faultSuite('real', async () => ({ ...subject, [Symbol.asyncDispose]: async () => undefined }));

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function definitionOf(kind: string, group: string, scope: 'Cluster' | 'Namespaced') {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  };
}

test('[cluster S6, E1, E3] scenario 8: what names an owner that orphaned lives, though it comes while nobody runs', async () => {
  const logPath = join(temporaryDirectory(), 'log.db');
  const owner = await cluster.make('orphaning');
  const owned = Array.from({ length: 40 }, (_, position) => `of-orphaning-${position}`);
  for (const name of owned) await cluster.make(name, [owner]);
  const first = await cluster.startRun(logPath);
  await cluster.working(first, 'before-orphaning');
  await cluster.remove(owner.name, 'Orphan');
  await waitUntil('some to be left', COLLECTED_MS, async () => {
    const left = await Promise.all(owned.map((name) => cluster.countOwners(name)));
    return left.includes(0);
  });
  await first.kill();
  const second = await cluster.startRun(logPath);
  await cluster.collected(second, owner.name);
  await second.kill();
  await cluster.make('late-of-orphaning', [owner]);
  const third = await cluster.startRun(logPath);
  await waitUntil('the late one to be left', COLLECTED_MS, async () => {
    return (await cluster.countOwners('late-of-orphaning')) === 0;
  });
  for (const name of owned) expect(await cluster.countOwners(name)).toBe(0);
  expect(await third.terminate()).toBe(0);
});

const GADGETS = '/apis/few.example.com/v1/gadgets';
const GADGET_DEFINITION = definitionOf('Gadget', 'few.example.com', 'Cluster');

async function defineGadgets(): Promise<void> {
  await waitUntil('gadgets to be defined', COLLECTED_MS, async () => {
    const { status } = await cluster.call('POST', DEFINITIONS, GADGET_DEFINITION);
    return status === 201 || status === 409;
  });
  await waitUntil('gadgets to be served', COLLECTED_MS, async () => {
    return (await cluster.call('GET', GADGETS)).status === 200;
  });
}

/** By the decider, or by the executor where no agent saw the owner go. */
const areHeld =
  (names: readonly string[]) =>
  (stdout: string): boolean => {
    const lines = stdout.split('\n').filter((line) => / (graph-gc holds|=) /.test(line));
    return names.every((name) => lines.some((line) => line.includes(`default/${name}`)));
  };

test('[cluster S3] scenario 9: what objects of a kind own stays when its definition goes and comes back, over kills of all that runs, until it is approved on the page', async () => {
  await defineGadgets();
  await subject.accounts.applyPrinted(
    'rbac',
    '--with',
    'all',
    '--part',
    'run',
    '--kubeconfig',
    subject.accounts.admin,
  );
  const made = await cluster.call('POST', GADGETS, {
    apiVersion: 'few.example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'g' },
  });
  expect(made.status, made.body).toBe(201);
  const owner = {
    apiVersion: 'few.example.com/v1',
    kind: 'Gadget',
    name: 'g',
    uid: JSON.parse(made.body).metadata.uid,
  };
  const owned = ['of-gadget-1', 'of-gadget-2', 'of-gadget-3'];
  for (const name of owned) await cluster.make(name, [owner]);
  const logPath = join(temporaryDirectory(), 'log.db');
  const first = await cluster.startRun(logPath);
  await cluster.working(first, 'before-definition');
  await cluster.call('DELETE', `${DEFINITIONS}/gadgets.few.example.com`);
  // Where the kind leaves discovery before anybody looked at them, their owner is of no known kind, and nothing is decided of them.
  await cluster.toldThat(first, 'that all three stay', (stdout) => {
    return areHeld(owned)(stdout) || stdout.includes(' 3 references leading nowhere');
  });
  await first.kill();
  await waitUntil('gadgets to be gone', COLLECTED_MS, async () => {
    return (await cluster.call('GET', GADGETS)).status === 404;
  });
  const second = await cluster.startRun(logPath);
  await cluster.working(second, 'without-definition');
  await defineGadgets();
  await cluster.toldThat(second, 'that all three are held', areHeld(owned));
  await second.kill();
  const third = await cluster.startRun(logPath);
  await cluster.toldThat(third, 'that all three are held', areHeld(owned));
  await cluster.working(third, 'after-definition');
  for (const name of owned) expect(await cluster.isGone(name)).toBe(false);
  await approveOnPage(logPath, 'c1', owner);
  for (const name of owned) await cluster.collected(third, name);
  const { approvals } = await heldList(logPath);
  expect(approvals).toMatchObject([
    { by: 'ann (dashboard, token)', what: { kind: 'owner', uid: owner.uid } },
  ]);
  expect(await third.terminate()).toBe(0);
});

const WIDGETS = '/apis/anew.example.com/v1/widgets';
const WIDGET_DEFINITION = definitionOf('Widget', 'anew.example.com', 'Cluster');

async function makeWidget(name: string): Promise<Owner> {
  await waitUntil('widgets to be defined', COLLECTED_MS, async () => {
    const { status } = await cluster.call('POST', DEFINITIONS, WIDGET_DEFINITION);
    return status === 201 || status === 409;
  });
  const owner = { apiVersion: 'anew.example.com/v1', kind: 'Widget' };
  const made = await waitUntil('widgets to be served', COLLECTED_MS, async () => {
    const answer = await cluster.call('POST', WIDGETS, { ...owner, metadata: { name } });
    return answer.status === 201 && answer;
  });
  return { ...owner, name, uid: JSON.parse(made.body).metadata.uid };
}

/** Waits until what is made from now on is younger than the definition for sure. */
async function olderDefinition(): Promise<void> {
  const { body } = await cluster.call('GET', `${DEFINITIONS}/${WIDGET_DEFINITION.metadata.name}`);
  const madeAtMs = Date.parse(JSON.parse(body).metadata.creationTimestamp);
  await waitUntil('the next second', COLLECTED_MS, () => Date.now() >= madeAtMs + 1_000);
}

async function heldList(logPath: string): Promise<HeldList> {
  const { stdout } = await fleetgc(['held', '--output', 'json', '--log', 'embedded', '--log-path', logPath]);
  return HeldList.parse(JSON.parse(stdout));
}

/** What is held because of this owner, with the command that approves it. */
async function heldFor(logPath: string, { uid }: Owner): Promise<HeldList['clusters'][number]['holds']> {
  const { clusters } = await heldList(logPath);
  return clusters
    .flatMap(({ holds }) => holds)
    .filter(({ what }) => what?.kind === 'owner' && what.uid === uid);
}

test('[cluster S3, S7] what objects of a kind own is held where its definition went and came back while nobody ran, and goes once that is approved', async () => {
  const owner = await makeWidget('went');
  // The printed role names the kinds that are served.
  await subject.accounts.applyPrinted(
    'rbac',
    '--with',
    'all',
    '--part',
    'run',
    '--kubeconfig',
    subject.accounts.admin,
  );
  const owned = ['of-widget-1', 'of-widget-2', 'of-widget-3'];
  for (const name of owned) await cluster.make(name, [owner]);
  await cluster.call('DELETE', `${DEFINITIONS}/widgets.anew.example.com`);
  await waitUntil('widgets to be gone', COLLECTED_MS, async () => {
    return (await cluster.call('GET', WIDGETS)).status === 404;
  });
  const later = await makeWidget('later');
  await olderDefinition();
  await cluster.make('of-later', [later]);
  const logPath = join(temporaryDirectory(), 'log.db');
  const running = await cluster.startRun(logPath);
  const [hold] = await waitUntil('all of them to be held', COLLECTED_MS, async () => {
    const holds = await heldFor(logPath, owner);
    return holds.some(({ objects }) => objects === owned.length) && holds;
  });
  expect(hold).toMatchObject({ rule: 'S3', what: { name: 'went', objects: 3 } });
  expect(hold?.why).toContain('widgets.anew.example.com');
  await cluster.working(running, 'beside-widgets');
  await cluster.call('DELETE', `${WIDGETS}/later`);
  await cluster.collected(running, 'of-later');
  for (const name of owned) expect(await cluster.isGone(name)).toBe(false);
  const approved = await fleetgc(hold?.approve?.split(' ').slice(1) ?? []);
  expect(approved.exitCode, approved.stderr).toBe(0);
  for (const name of owned) await cluster.collected(running, name);
  expect(await running.terminate()).toBe(0);
});

const KINDS = 300;
const definition = (number: number, group = 'many.example.com') =>
  definitionOf(`Thing${number}`, group, 'Namespaced');

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const Groups = z.looseObject({
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ name: z.string() }),
      versions: z.array(z.looseObject({ freshness: z.string() })),
    }),
  ),
});
type Group = z.infer<typeof Groups>['items'][number];

/** What may be wrong with what an API server says that it serves. */
const UNTRUE: readonly (readonly [string, (groups: readonly Group[]) => readonly Group[]])[] = [
  ['empty', () => []],
  ['partial', (groups) => groups.filter(({ metadata }) => metadata.name !== 'apps')],
  [
    'stale',
    (groups) =>
      groups.map((group) => ({
        ...group,
        versions: group.versions.map((version) => ({ ...version, freshness: 'Stale' })),
      })),
  ],
];

test('[cluster I2, I3, I9] discovery that is empty, lacks a group or is stale takes no kind away, and nothing goes by it', async () => {
  const running = await cluster.startRun();
  await cluster.working(running, 'before-discovery');
  await waitUntil('all kinds to be read', COLLECTED_MS, async () => {
    return (await running.metric('cluster_agent_unsynced_kinds')) === 0;
  });
  const kinds = await running.metric('cluster_agent_kinds');
  const labels = { app: 'discovered' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const { status, body } = await cluster.call('POST', deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'discovered' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  });
  expect(status, body).toBe(201);
  const { uid } = JSON.parse(body).metadata;
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'discovered', uid };
  await cluster.make('of-discovered', [owner]);
  const answer = await subject.connection.call({ method: 'GET', path: '/apis', accept: AGGREGATED });
  const served = Groups.parse(JSON.parse(answer.body));
  for (const [number, [name, untrue]] of UNTRUE.entries()) {
    let asked = 0;
    const end = cluster.proxy.intercept(({ path }) => {
      if (path !== '/apis') return { kind: 'passed' };
      asked++;
      return { kind: 'answered', status: 200, body: { ...served, items: untrue(served.items) } };
    });
    onTestFinished(end);
    // A new definition has what is served asked for at once.
    await cluster.call('POST', DEFINITIONS, definition(number, 'untrue.example.com'));
    await waitUntil('what is served to be asked for', COLLECTED_MS, () => asked > 0);
    if (name === 'stale') await cluster.call('DELETE', `${deployments}/discovered`);
    await cluster.working(running, `while-${name}`);
    expect(await cluster.isGone('of-discovered'), name).toBe(false);
    expect(await running.metric('cluster_agent_kinds'), name).toBeGreaterThanOrEqual(kinds);
    end();
  }
  // Its group is told as it is again, so its owner is known to be gone.
  await cluster.collected(running, 'of-discovered');
  expect(await running.terminate()).toBe(0);
});

test('[cluster I7] of 300 more kinds on one API server one that may not be read stops no other, and they cost no more than their lists', async () => {
  for (let from = 0; from < KINDS; from += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => cluster.call('POST', DEFINITIONS, definition(from + at))),
    );
  await waitUntil('all of them to be served', 3 * COLLECTED_MS, async () => {
    const { status, body } = await cluster.call('GET', '/apis/many.example.com/v1');
    return status === 200 && JSON.parse(body).resources.length === KINDS;
  });
  const things = '/apis/many.example.com/v1/namespaces/default/thing7s';
  // The rights for all kinds but one are printed.
  await subject.accounts.applyPrinted(
    'rbac',
    '--part',
    'run',
    '--kubeconfig',
    subject.accounts.admin,
    '--without',
    'many.example.com/Thing9',
  );
  cluster.proxy.takeAsked();
  const running = await cluster.startRun();
  const owner = await cluster.make('owner-of-thing');
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', ...owner }];
  for (const [path, kind] of [
    [things, 'Thing7'],
    [things.replace('thing7s', 'thing9s'), 'Thing9'],
  ] as const) {
    const object = { apiVersion: 'many.example.com/v1', kind, metadata: { name: 'x', ownerReferences } };
    expect((await cluster.call('POST', path, object)).status).toBe(201);
  }
  await cluster.remove(owner.name);
  await waitUntil('the object of one of them to go', 3 * COLLECTED_MS, async () => {
    return (await cluster.call('GET', `${things}/x`)).status === 404;
  });
  expect((await cluster.call('GET', `${things.replace('thing7s', 'thing9s')}/x`)).status).toBe(200);
  expect(await running.metric('cluster_agent_kinds')).toBeGreaterThan(KINDS);
  await waitUntil('all other kinds to be read', 3 * COLLECTED_MS, async () => {
    return (await running.metric('cluster_agent_unsynced_kinds')) === 1;
  });
  expect(running.output.stderr).toContain('nothing is concluded of many.example.com/Thing9');
  const asked = cluster.proxy.takeAsked();
  const lists = asked.filter((line) => /\/thing\d+s\?limit=/.test(line));
  // A kind that may not be read is tried again now and then.
  expect(lists.length).toBeLessThan(4 * KINDS);
  expect(await running.terminate()).toBe(0);
});

const REFUSING = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'keep-labelled' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] },
        ],
      },
      validations: [
        {
          expression: "!has(oldObject.metadata.labels) || !('guarded' in oldObject.metadata.labels)",
          message: 'what is guarded stays',
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'keep-labelled' },
    spec: { policyName: 'keep-labelled', validationActions: ['Deny'] },
  },
];

test('[cluster F2] a deletion that admission refuses is told and holds up nobody', async () => {
  for (const object of REFUSING) {
    const plural = object.kind.endsWith('y') ? `${object.kind.slice(0, -1)}ies` : `${object.kind}s`;
    const path = `/apis/${object.apiVersion}/${plural.toLowerCase()}`;
    const answer = await cluster.call('POST', path, object);
    expect(answer.status, answer.body).toBe(201);
  }
  const probe = await cluster.make('probe', [], { guarded: 'yes' });
  await waitUntil('admission to refuse', COLLECTED_MS, async () => {
    const { status } = await cluster.tryToRemove(probe.name);
    return status === 422 || status === 403;
  });
  const running = await cluster.startRun();
  await cluster.working(running, 'admitted');
  const owner = await cluster.make('owner-of-guarded');
  for (const name of ['guarded-1', 'guarded-2']) await cluster.make(name, [owner], { guarded: 'yes' });
  await cluster.make('unguarded', [owner]);
  await cluster.remove(owner.name);
  await cluster.collected(running, 'unguarded');
  await waitUntil('the refusal to be told', COLLECTED_MS, () =>
    /! .*guarded-1.*what is guarded stays/.test(running.output.stdout),
  );
  await cluster.working(running, 'after-refusals');
  cluster.proxy.takeAsked();
  await cluster.working(running, 'still-after');
  const tries = cluster.proxy.takeAsked().filter((line) => /^DELETE .*\/guarded-/.test(line));
  expect(tries.length).toBeLessThan(5);
  for (const name of ['guarded-1', 'guarded-2']) expect(await cluster.isGone(name)).toBe(false);
  expect(await running.terminate()).toBe(0);
});
