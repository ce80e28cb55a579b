import { z } from 'zod';
import { EVERYTHING, type Rendered, rendered } from './helm.ts';

const Probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.union([z.int(), z.string()]) }),
  periodSeconds: z.int(),
  failureThreshold: z.int().default(3),
});
const SeccompProfile = z.object({ type: z.literal('RuntimeDefault') });
const PodSecurity = z.object({
  runAsNonRoot: z.literal(true),
  runAsUser: z.literal(1000).optional(),
  fsGroup: z.literal(1000).optional(),
  seccompProfile: SeccompProfile,
});
/** What all of ours have in common. */
const Container = z.object({
  image: z.string(),
  args: z.array(z.string()),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
  env: z.array(
    z.object({
      name: z.string(),
      value: z.string().optional(),
      valueFrom: z.object({ secretKeyRef: z.object({ name: z.string() }).optional() }).optional(),
    }),
  ),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    // Strict: a capability that is added is a line to think about.
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
    runAsUser: z.int().optional(),
    seccompProfile: SeccompProfile.optional(),
  }),
  volumeMounts: z.array(
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }),
  ),
});
export const ServingContainer = Container.extend({
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).default([]),
  startupProbe: Probe,
  livenessProbe: Probe,
  readinessProbe: Probe,
});
const Labels = z.record(z.string(), z.string());
export const Volume = z.object({
  name: z.string(),
  hostPath: z.object({ path: z.string() }).optional(),
  secret: z
    .object({
      secretName: z.string(),
      defaultMode: z.int().optional(),
      optional: z.boolean().default(false),
    })
    .optional(),
  configMap: z.object({ name: z.string() }).optional(),
});

/** What the tests look at of a DaemonSet, Deployment or StatefulSet of ours. */
export const Workload = z.object({
  kind: z.enum(['DaemonSet', 'Deployment', 'StatefulSet']),
  metadata: z.object({ name: z.string(), namespace: z.literal('fleetgc') }),
  spec: z.object({
    selector: z.object({ matchLabels: Labels }),
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
    template: z.object({
      metadata: z.object({ labels: Labels }),
      spec: z.object({
        serviceAccountName: z.string().optional(),
        automountServiceAccountToken: z.boolean(),
        hostNetwork: z.boolean().default(false),
        terminationGracePeriodSeconds: z.int(),
        securityContext: PodSecurity.optional(),
        containers: z.tuple([ServingContainer]),
        volumes: z.array(Volume),
      }),
    }),
  }),
});
export type Workload = z.infer<typeof Workload>;

/** What the tests look at of the operator's Job. */
const OperatorJob = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        securityContext: PodSecurity,
        initContainers: z.array(Container),
        containers: z.array(Container),
        volumes: z.array(Volume),
      }),
    }),
  }),
});
export const workloadsOf = (objects: readonly Rendered[]): readonly Workload[] =>
  objects.flatMap((object) =>
    ['DaemonSet', 'Deployment', 'StatefulSet'].includes(object.kind) ? [Workload.parse(object)] : [],
  );

/** Everything that the chart has, as one release. */
export const objects = await rendered(EVERYTHING);
export const workloads = workloadsOf(objects);
export const operatorPod = objects.flatMap((object) =>
  object.kind === 'Job' ? [OperatorJob.parse(object).spec.template.spec] : [],
);
