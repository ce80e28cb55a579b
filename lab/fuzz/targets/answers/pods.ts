import { z } from 'zod';

const Containers = z.array(z.object({ name: z.string(), image: z.string().optional() })).nullable();

/** What the Kubernetes API says of pods, as far as inputs are made by it; what is read of it is for the product to say. */
export const Pods = z.object({
  kind: z.literal('PodList'),
  items: z
    .array(
      z.object({
        metadata: z.object({
          uid: z.string(),
          name: z.string(),
          namespace: z.string(),
          deletionTimestamp: z.string().nullable().optional(),
          annotations: z.record(z.enum(['kubernetes.io/config.source', 'other']), z.string()).nullable(),
        }),
        spec: z.object({
          containers: Containers,
          initContainers: Containers,
          ephemeralContainers: Containers,
          volumes: z.array(
            z.object({ name: z.string(), image: z.object({ reference: z.string() }).optional() }),
          ),
        }),
        status: z
          .object({
            phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']),
            reason: z.string(),
          })
          .optional(),
      }),
    )
    .nullable(),
});
