import { expect, test } from 'vitest';
import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { Definitions } from '../../../../services/cluster/agent/kinds.ts';

const kindOf = (group: string, kind: string): ResourceKind => ({
  ...{ group, version: 'v1', kind },
  ...{ resource: `${kind.toLowerCase()}s`, namespaced: false },
});
const API_SERVICE = kindOf('apiregistration.k8s.io', 'APIService');
const DEPLOYMENT = kindOf('apps', 'Deployment');
const service = (name: string): GraphObject => ({
  ...{ kind: API_SERVICE, resourceVersion: '1', uid: name, namespace: '', name, deletionTimestamp: null },
  ...{ finalizers: [], references: [], keep: false },
});

test('[cluster I9] API services say that their groups are there, and that there are API services, of which none speaks', () => {
  const definitions = new Definitions();
  expect([DEPLOYMENT, API_SERVICE].map((kind) => definitions.isDefined(kind))).toEqual([false, false]);
  definitions.put(service('v1.apps'));
  expect([DEPLOYMENT, API_SERVICE].map((kind) => definitions.isDefined(kind))).toEqual([true, true]);
  definitions.gone(service('v1.apps'), 0);
  expect([DEPLOYMENT, API_SERVICE].map((kind) => definitions.isDefined(kind))).toEqual([false, false]);
});
