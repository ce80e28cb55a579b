import { LEAST, rendered } from '../../../../deploy/chart/helm.ts';
import { TestManifest } from '../../../../support/nodes/api-server.ts';

const TEMPLATE = 'templates/policy-controller.yaml';
const OF_PODS = ['Deployment', 'PodDisruptionBudget'];

/** What the chart makes of the policy controller, but for its pods: the definition of the kind, its account and its rights. */
export async function controllerManifests(): Promise<readonly TestManifest[]> {
  const made = await rendered({ ...LEAST, policyController: { enabled: true } }, '--show-only', TEMPLATE);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleetgc' } };
  return [
    namespace,
    ...made.filter(({ kind }) => !OF_PODS.includes(kind)).map((each) => TestManifest.parse(each)),
  ];
}
