import { ensureArm64Emulator } from './arm64.ts';
import { ensureAwsCli } from './aws-cli.ts';
import { busyboxFile } from './busybox.ts';
import { ensureChromium } from './chromium.ts';
import { builtCollector } from './collector.ts';
import { ensureCompose } from './compose.ts';
import { ensureDefinitions, ensureKnativeDefinitions } from './definitions.ts';
import { ensureDocker } from './docker.ts';
import { ensureForeignClients } from './foreign-clients.ts';
import { ensureHelm } from './helm.ts';
import { ensureHttpfs } from './httpfs.ts';
import { ensureApiServerImage } from './images/api-server-image.ts';
import { ensureKafkaImage } from './images/base-images.ts';
import { ensureClusterNodeImage } from './images/cluster-node-image.ts';
import { ensureContainerdImage } from './images/containerd-image.ts';
import { ensureCrioImage } from './images/crio-image.ts';
import { ensureKubeletImage } from './images/kubelet-image.ts';
import { ensureRegistryImage } from './images/registry-image.ts';
import { ensureServiceImage } from './images/service-image.ts';
import { ensureKubectl } from './kubectl.ts';
import { builtKubernetesProgram, builtRequestCleaner } from './kubernetes.ts';
import { ensureLambdaEmulator } from './lambda.ts';
import { ensurePromtool } from './promtool.ts';
import { builtVersitygw } from './versitygw.ts';

const PREPARE = {
  kafka: ensureKafkaImage,
  containerd: () => ensureContainerdImage('containerd-2.4.2').then(busyboxFile),
  'containerd-1.6': () => ensureContainerdImage('containerd-1.6'),
  // What the images of the tests are made of comes from the image of the main runtime.
  crio: () => Promise.all([ensureCrioImage(), ensureContainerdImage('containerd-2.4.2')]).then(busyboxFile),
  kubelet: () => ensureKubeletImage().then(busyboxFile),
  'cluster-node': () => ensureClusterNodeImage().then(busyboxFile),
  'api-server': ensureApiServerImage,
  registry: ensureRegistryImage,
  service: ensureServiceImage,
  compose: ensureCompose,
  promtool: ensurePromtool,
  chromium: ensureChromium,
  kubectl: ensureKubectl,
  helm: ensureHelm,
  definitions: ensureDefinitions,
  'kube-controller-manager': () => builtKubernetesProgram('kube-controller-manager'),
  'kube-scheduler': () => builtKubernetesProgram('kube-scheduler'),
  'request-cleaner': builtRequestCleaner,
  collector: builtCollector,
  'lambda-emulator': ensureLambdaEmulator,
  'knative-definitions': ensureKnativeDefinitions,
  versitygw: builtVersitygw,
  httpfs: ensureHttpfs,
  'aws-cli': ensureAwsCli,
  'foreign-clients': ensureForeignClients,
  'arm64-emulator': ensureArm64Emulator,
} as const satisfies Record<string, () => Promise<unknown>>;

/** What a suite runs on: a broker, nodes with containerd 2.4.2 or 1.6, with CRI-O, with a kubelet too or of a whole cluster, an API server that the kubelet joins, a registry to pull from, our own image, Compose, Prometheus's promtool, Chromium, kubectl, Helm, the definitions of the kinds of others, kube-controller-manager and its cleaner of certificate requests, kube-scheduler, OpenTelemetry's collector, AWS's emulator of Lambda, the definition of Knative's Service, a server of S3, DuckDB's reader of S3, the AWS CLI, kcat and a Kafka client for Python, an emulator of arm64. */
export type Need = keyof typeof PREPARE;

/** Of the container suites of `npm test`. */
export const CORE_NEEDS: readonly Need[] = [
  'kafka',
  'containerd',
  'containerd-1.6',
  'kubelet',
  'api-server',
  'registry',
  'service',
];
/** Of `npm run test:world`. */
export const WORLD_NEEDS: readonly Need[] = [
  'kafka',
  'cluster-node',
  'api-server',
  'registry',
  'service',
  'crio',
  'compose',
  'promtool',
  'chromium',
  'kubectl',
  'helm',
  'definitions',
  'kube-controller-manager',
  'kube-scheduler',
  'request-cleaner',
  'collector',
  'lambda-emulator',
  'knative-definitions',
  'versitygw',
  'httpfs',
  'aws-cli',
  'foreign-clients',
  'arm64-emulator',
];

export const ALL_NEEDS: readonly Need[] = [...new Set([...CORE_NEEDS, ...WORLD_NEEDS])];

export function isNeed(text: string): text is Need {
  return Object.hasOwn(PREPARE, text);
}

/** What a run prepared for all of its processes, by name. */
export const PREPARED = 'FLEETGC_TEST_PREPARED';

const isPrepared = (need: Need): boolean => (process.env[PREPARED] ?? '').split(' ').includes(need);

const preparing = new Map<Need, Promise<unknown>>();

/** Once per process: a test asks again for each broker and node. */
function prepare(need: Need): Promise<unknown> {
  const begun = preparing.get(need) ?? PREPARE[need]();
  preparing.set(need, begun);
  return begun;
}

/**
 * Makes sure that everything needed is there: found, or installed and built once and kept. Costs a second when it is.
 * Rejects with one sentence per missing part, which says what to install.
 */
export async function ensureToolchain(needs: readonly Need[]): Promise<void> {
  const missing = needs.filter((need) => !isPrepared(need));
  if (missing.length === 0) return;
  await ensureDocker();
  const prepared = await Promise.allSettled(missing.map(prepare));
  const failures = prepared.flatMap((outcome, i) =>
    outcome.status === 'rejected' ? [`${missing[i]}: ${messageOf(outcome.reason)}`] : [],
  );
  if (failures.length > 0) throw new Error(failures.join('\n'));
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
