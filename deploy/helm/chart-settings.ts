import { stringify } from 'yaml';
import type { Verb } from '../../cli/framework/verb.ts';
import type { OptionInfo } from '../../packages/process/options/options.ts';
import { AnyDeciderName } from '../../schemas/events/deciders.ts';

/** What pods of the chart run. */
const RUN: ReadonlySet<string> = new Set<string>([
  'node',
  'node-agent',
  'node-executor',
  'cri-proxy',
  ...AnyDeciderName.options,
  'cluster agent',
  'cluster executor',
  'policy-controller',
  'dashboard',
  'notify',
  'topics create',
  'keys publish',
  'policy apply',
]);

/** What the chart sets itself, and by which value one says it; empty where there is nothing to say. */
const SAID_BY: Readonly<Record<string, string>> = {
  FLEETGC_ALLOW_ACTIONS: 'dashboard.allowActions',
  FLEETGC_CLUSTER: 'clusterName',
  FLEETGC_COUNT_NODES_EVERY: 'policyController.countNodesEvery',
  FLEETGC_HTTP_ADDRESS: 'node.exposeMetrics',
  FLEETGC_KAFKA_BROKERS: 'kafka.brokers',
  FLEETGC_KAFKA_CA_FILE: 'kafka.tls.authority',
  FLEETGC_KAFKA_CERTIFICATE_FILE: 'kafka.tls.clientCertificate',
  FLEETGC_KAFKA_KEY_FILE: 'kafka.tls.clientCertificate',
  FLEETGC_KAFKA_PASSWORD_FILE: 'kafka.sasl.mechanism',
  FLEETGC_KAFKA_PREFIX: 'kafka.prefix',
  FLEETGC_KAFKA_REPLICATION_FACTOR: 'kafka.replicationFactor',
  FLEETGC_KAFKA_SASL_MECHANISM: 'kafka.sasl.mechanism',
  FLEETGC_KAFKA_TLS: 'kafka.tls.enabled',
  FLEETGC_KAFKA_USERNAME: 'kafka.secrets',
  FLEETGC_KUBECONFIG: '',
  FLEETGC_KUBELET_CA_FILE: 'node.paths.kubeletAuthority',
  FLEETGC_KUBELET_SERVER_NAME: '',
  FLEETGC_KUBELET_TOKEN_FILE: 'node.kubelet.enabled',
  FLEETGC_KUBELET_URL: 'node.kubelet.url',
  FLEETGC_LOG: 'kafka.brokers',
  FLEETGC_LOG_MAX_SIZE: 'kafka.brokers',
  FLEETGC_LOG_PATH: 'kafka.brokers',
  FLEETGC_NODEFS_PATH: '',
  FLEETGC_NODE_NAME: '',
  FLEETGC_OTLP_ENDPOINT: 'traces.otlpEndpoint',
  FLEETGC_PROBE_ADDRESS: '',
  FLEETGC_PROJECTION: '',
  FLEETGC_PUBLIC_URL: 'dashboard.publicUrl',
  FLEETGC_RULES: 'notify.rules',
  FLEETGC_RUNTIME_ENDPOINT: 'node.paths.socket',
  FLEETGC_SIGNING_KEY_FILE: 'trust.signingSecrets',
  FLEETGC_TOKEN_FILE: 'dashboard.tokensSecret',
  FLEETGC_TRUST: 'trust.mode',
  FLEETGC_TRUST_ROOTS: 'trust.roots',
};

const HEAD = `# Written by "npm run chart" from the options of the verbs that pods of the chart run.
# known: the variables that "settings" may have, and the values of each where these are few.
# saidBy: those that the chart sets itself, and the value of the chart that says it.
`;

/** What `deploy/helm/fleetgc/files/settings.yaml` has. */
export function chartSettingsText(verbs: readonly Verb[]): string {
  const options = verbs.flatMap((verb) => (RUN.has(verb.name) ? verb.options : [])).filter(isVariable);
  const names = [...new Set(options.map(({ variable }) => variable))].toSorted();
  const known = names.map((name) => {
    const same = options.filter(({ variable }) => variable === name);
    return [name, [...new Set(same.flatMap(valuesOf))]] as const;
  });
  // Helm reads YAML 1.1, in which off is false.
  return `${HEAD}${stringify({ known: Object.fromEntries(known), saidBy: SAID_BY }, { version: '1.1' })}`;
}

const isVariable = ({ commandLineOnly, variable }: OptionInfo): boolean =>
  !(commandLineOnly || Object.hasOwn(SAID_BY, variable));

const valuesOf = ({ kind, choices = [] }: OptionInfo): readonly string[] =>
  kind === 'switch' ? ['true', 'false'] : choices;
