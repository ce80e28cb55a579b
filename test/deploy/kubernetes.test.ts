import { readdirSync, readFileSync } from 'node:fs';
import { DaemonSet, Deployment } from 'kubernetes-models/apps/v1';
import { ConfigMap, Namespace } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const FOLDER = new URL('../../deploy/kubernetes/', import.meta.url);
const KINDS = { DaemonSet, Deployment, ConfigMap, Namespace };

const Workload = z.object({
  kind: z.enum(['DaemonSet', 'Deployment', 'ConfigMap', 'Namespace']),
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  spec: z
    .object({
      selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
      template: z.object({
        metadata: z.object({ labels: z.record(z.string(), z.string()) }),
        spec: z.object({
          automountServiceAccountToken: z.literal(false),
          containers: z.array(
            z.object({
              name: z.string(),
              securityContext: z.object({
                allowPrivilegeEscalation: z.literal(false),
                readOnlyRootFilesystem: z.literal(true),
              }),
            }),
          ),
        }),
      }),
    })
    .optional(),
});

const manifests = readdirSync(FOLDER).flatMap((file) =>
  parseAllDocuments(readFileSync(new URL(file, FOLDER), 'utf8'), { merge: true }).map((document) => ({
    file,
    content: document.toJS(),
  })),
);

describe.each(manifests)('$file: $content.kind $content.metadata.name', ({ content }) => {
  test('is a valid object of its kind', () => {
    const { kind } = Workload.pick({ kind: true }).parse(content);
    expect(() => new KINDS[kind](content).validate()).not.toThrow();
  });

  test('selects its own pods, without a token of the API server and without privilege escalation', () => {
    const workload = Workload.parse(content);
    expect(workload.spec?.template.metadata.labels).toEqual(workload.spec?.selector.matchLabels);
  });
});
