/** What the container suites run on. A new version here is built or pulled at the next run; the old one stays in the cache. */
export const KAFKA_VERSION = '4.3.1';
export const CONTAINERD_VERSION = '2.4.2';
export const CRIO_VERSION = '1.34.0';
/** Of the kubelet, and of the API server that one joins. */
export const KUBERNETES_VERSION = '1.34.2';
/** As the Dockerfile names it, and package.json for x64. */
export const NODE_VERSION = '24.22.3';
/** Of the images of nodes and brokers. */
export const DEBIAN_RELEASE = 'bookworm';
/** Of ours, as the Dockerfile names it. */
export const OUR_DEBIAN_RELEASE = 'trixie';
export const COMPOSE_VERSION = '2.40.3';
/** The last that is made of the libraries of Kubernetes 1.34, which are compiled for it anyway. */
export const HELM_VERSION = '3.19.4';
/** Of OpenTelemetry. Its modules that are not of the same version yet have the second. */
export const COLLECTOR_VERSIONS = { modules: '0.150.0', stable: '1.56.0' } as const;
/** Of these only the definitions of their kinds are used. */
export const KEDA_VERSION = '2.21.0';
export const PROMETHEUS_OPERATOR_VERSION = '0.85.0';
/** A server of S3 that heeds conditional writes. */
export const VERSITYGW_VERSION = '1.8.0';
/** As that of DuckDB in package.json. */
export const HTTPFS_VERSION = '1.5.5';
/** Of the first generation, which is a package of Python. */
export const AWS_CLI_VERSION = '1.45.11';
/** The oldest Go that builds all of it: containerd and the emulator of Lambda ask for this one, in their go.mod. README.md names it. */
export const MINIMUM_GO = '1.26.6';

export const debianImage = (release: string): string => `debian:${release}-slim`;
export const DEBIAN_IMAGE = debianImage(DEBIAN_RELEASE);
export const NODE_IMAGE = `node:${NODE_VERSION}-${OUR_DEBIAN_RELEASE}-slim`;
export const KAFKA_IMAGE = `apache/kafka:${KAFKA_VERSION}`;
export const REGISTRY_IMAGE = 'fleetgc/test-registry:2.8';
export const API_SERVER_IMAGE = `fleetgc/test-api-server:${KUBERNETES_VERSION}`;
export const SERVICE_IMAGE = 'fleetgc/fleetgc:test';

/** The main runtime, and the old end of what we support of it. */
export type ContainerdRuntime = 'containerd-2.4.2' | 'containerd-1.6';
/** A node's runtime. */
export type NodeRuntime = ContainerdRuntime | 'crio-1.34';

export function nodeImage(runtime: NodeRuntime): string {
  return `fleetgc/test-node:${runtime}`;
}

/** A node with containerd 2.4.2 and the kubelet. */
export const KUBELET_NODE_IMAGE = `fleetgc/test-node:kubelet-${KUBERNETES_VERSION}`;

/** The same with what gives pods a network and names. */
export const CLUSTER_NODE_IMAGE = `fleetgc/test-node:cluster-${KUBERNETES_VERSION}`;

/** Of Knative's serving. */
export const KNATIVE_VERSION = '0.51.0';

/** The emulator of AWS Lambda's runtime interface, which has no releases in its module. */
export const LAMBDA_EMULATOR_VERSION = 'v0.0.0-20261030222936-bef5c4ba774d';
