import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  readAnyPolicyFiles,
  readPolicyOfKubernetes,
} from '../../../packages/policy/file/read-policy-file.ts';
import { objectionToStating } from '../../../packages/policy/may-state.ts';
import type { Principal } from '../../../packages/records/trust/trust.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import {
  clusterOfKubernetesPolicy,
  kubernetesPolicyName,
} from '../../../schemas/policy/kubernetes-policies.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { EVERY_NODE, NO_POLICY } from '../../fixtures/policy.ts';
import { runs } from '../../support/property-runs.ts';

const by = (role: KeyRole, ...clusters: string[]): Principal => ({
  kind: 'key',
  keyId: '0'.repeat(32),
  role,
  clusters,
  generation: 1,
});

test.each([
  ['prod..web', 'prod'],
  ['prod.eu..web-1', 'prod.eu'],
  ['a..b..c', 'a..b'],
  ['prod.web', null],
  ['prod', null],
  ['prod..web.eu', null],
  ['prod...web', null],
  ['..web', null],
  ['prod..', null],
  ['prod..-web', null],
])('%s is a policy of cluster %s that lies in Kubernetes', (name, cluster) => {
  expect(clusterOfKubernetesPolicy(name)).toBe(cluster);
});

/** Few letters, so that names meet each other. */
const part = fc.stringMatching(/^[ab]([ab.]{0,4}[ab])?$/);
const priority = fc.oneof(fc.constantFrom(-1_001, -1_000, -999, 0), fc.integer());

test('the policy of a cluster and one that an operator of some cluster may set never have the same name', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab.-]{1,4}$/));
  let named = 0;
  fc.assert(
    fc.property(part, part, text, (cluster, other, object) => {
      const name = kubernetesPolicyName(cluster, object);
      if (clusterOfKubernetesPolicy(name) === null) return;
      named += 1;
      const record = appliedPolicy({ name, selector: { ...EVERY_NODE, clusters: [other] } });
      expect(objectionToStating(by('operator', other), record)).not.toBeNull();
    }),
    runs(5_000),
  );
  expect(named).toBeGreaterThan(0);
});

test('whatever a policy controller may state changes nothing for another cluster, and nothing that a policy of the fleet settles', () => {
  const cluster = fc.constantFrom('a', 'b', 'a.b', 'a..b');
  const name = fc.oneof(
    cluster,
    fc.tuple(cluster, fc.constantFrom('.', '..'), cluster).map((parts) => parts.join('')),
  );
  const selected = fc.oneof(
    cluster.map((each) => [each]),
    fc.array(cluster, { maxLength: 3 }),
  );
  let believed = 0;
  fc.assert(
    fc.property(
      fc.record({
        own: cluster,
        name,
        clusters: selected,
        first: priority,
        elsewhere: cluster,
        ofFleet: priority,
      }),
      ({ own, clusters, first, elsewhere, ofFleet, ...named }) => {
        const record = appliedPolicy({ ...named, priority: first, selector: { ...EVERY_NODE, clusters } });
        if (objectionToStating(by('policy-controller', own), record) !== null) return;
        believed += 1;
        const fleet = appliedPolicy({ name: 'fleet', priority: ofFleet });
        const holdsFor = (where: string, policies: readonly (typeof fleet)[]) =>
          selectPolicy({ ...NO_POLICY, policies }, { cluster: where, node: 'n', nodeLabels: {} });
        if (elsewhere !== own)
          expect(holdsFor(elsewhere, [fleet, record])).toEqual(holdsFor(elsewhere, [fleet]));
        if (ofFleet > -1_000) expect(holdsFor(own, [fleet, record])).toEqual(holdsFor(own, [fleet]));
      },
    ),
    runs(20_000),
  );
  expect(believed).toBeGreaterThan(0);
});

const file = (name: string) => ({ file: 'policy.yaml', text: `name: ${name}\nmode: enforce\n` });

test('a file cannot have the name of a policy that lies in Kubernetes, and an object can', () => {
  expect(readAnyPolicyFiles([file('prod..web')])).toMatchObject({
    valid: false,
    problems: [{ path: 'name', line: 1, message: expect.stringContaining('two dots') }],
  });
  expect(readAnyPolicyFiles([file('prod.web')])).toMatchObject({ valid: true });
  expect(readPolicyOfKubernetes(file('prod..web'), 20)).toMatchObject({ valid: true });
});
