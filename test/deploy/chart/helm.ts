import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { run } from '../../support/toolchain/command.ts';
import { ensureHelm } from '../../support/toolchain/helm.ts';
import { REPOSITORY } from '../files.ts';

export const CHART = join(REPOSITORY, 'deploy/helm/fleetgc');
const HELM_MS = 30_000;

/** An object that the chart makes. */
const Rendered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()),
  }),
});
export type Rendered = z.infer<typeof Rendered>;

/** Values of the chart, as somebody writes them into a file. */
export type Values = Readonly<Record<string, unknown>>;

/** What has to be said at the least. */
export const LEAST: Values = {
  clusterName: 'prod',
  kafka: { brokers: ['kafka-1:9092'] },
  trust: { roots: 'fleet: prod\n' },
};

/** Everything that can be switched on, with logins and signatures. */
export const EVERYTHING: Values = {
  ...LEAST,
  kafka: {
    brokers: ['kafka-1:9092', 'kafka-2:9093'],
    tls: { enabled: true },
    sasl: { mechanism: 'scram-sha-512' },
  },
  operator: { policy: 'name: default\nmode: dry-run\n', statements: '{}\n' },
  cluster: { enabled: true },
  clusterDeciders: { enabled: true },
  policyController: { enabled: true },
  dashboard: { enabled: true },
  notify: { enabled: true, rules: 'receivers: []\nrules: []\n' },
};

/** What `helm template` makes of these values. Rejects with what Helm says. */
export async function rendered(values: Values, ...args: readonly string[]): Promise<readonly Rendered[]> {
  const { stdout } = await withValues(values, (file) =>
    helm('template', 'fleetgc', CHART, '--namespace', 'fleetgc', '--values', file, ...args),
  );
  return parseAllDocuments(stdout).flatMap((document) => {
    const content: unknown = document.toJS();
    return content === null ? [] : [Rendered.parse(content)];
  });
}

/** What an installation says in the end, in a cluster of this version. `helm template` leaves it out, so a copy has it as a template. */
export async function notes(values: Values, kubernetes: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-notes-'));
  try {
    cpSync(CHART, folder, { recursive: true });
    const said = readFileSync(join(folder, 'templates/NOTES.txt'), 'utf8');
    const told = `{{ define "notes" }}${said}{{ end }}notes: {{ include "notes" . | quote }}\n`;
    writeFileSync(join(folder, 'templates/told.yaml'), told);
    const { stdout } = await withValues(values, (file) =>
      helm(
        'template',
        'fleetgc',
        folder,
        '--values',
        file,
        '-s',
        'templates/told.yaml',
        '--kube-version',
        kubernetes,
      ),
    );
    return z.object({ notes: z.string() }).parse(parse(stdout)).notes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What Helm says of values that it refuses. */
export async function refusal(values: Values): Promise<string> {
  return rendered(values).then(
    () => 'they were taken',
    (error: Error) => error.message,
  );
}

export async function helm(
  ...args: readonly string[]
): Promise<{ readonly stdout: string; readonly output: string }> {
  return await run(await ensureHelm(), args, { usualMs: HELM_MS });
}

async function withValues<T>(values: Values, work: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-values-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, stringify(values));
    return await work(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
