import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { Collector as PolicyCollector } from '../../../schemas/policy/cluster-policy.ts';
import { PROGRAM_ENVIRONMENT } from '../../../test/support/program.ts';
import { type Collector, collector, type Looks } from './collector.ts';
import { startProcess } from './process.ts';

/** More than any campaign deletes in an hour. */
const REMOVALS_PER_HOUR = 1_000_000;

/** What the product said that it decided and did, and how often. */
export class Deeds {
  readonly decided = new Map<string, number>();
  readonly done = new Map<string, number>();

  read(line: string): void {
    const value: unknown = JSON.parse(line);
    const decision = ClusterDecision.safeParse(value).data;
    for (const { action, rule } of decision?.verdicts ?? []) count(this.decided, `${action} ${rule}`);
    const results = ClusterObjectResults.safeParse(value).data;
    for (const { action, result } of results?.objects ?? [])
      count(this.done, [action, result.outcome, ...('reason' in result ? [result.reason] : [])].join(' '));
  }
}

const count = (counts: Map<string, number>, what: string): void =>
  void counts.set(what, (counts.get(what) ?? 0) + 1);

/** What of a policy a subject is compared with. */
export interface FleetGcPart {
  readonly collectors: readonly PolicyCollector[];
  readonly policy?: Readonly<Record<string, unknown>>;
}

interface Compared {
  readonly fleetgc: FleetGcPart;
  readonly looks: { readonly fleetgc: Looks };
}

/** `fleetgc cluster run` in profile kubernetes. */
export async function startFleetGc(
  { fleetgc, looks }: Compared,
  kubeconfig: string,
  { program, deeds }: { readonly program: string; readonly deeds: Deeds },
): Promise<Collector> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-compare-'));
  const policy = join(directory, 'policy.yaml');
  const limits = { removalsPerHour: REMOVALS_PER_HOUR };
  writeFileSync(
    policy,
    stringify({
      kind: 'ClusterPolicy',
      name: 'compare',
      mode: 'enforce',
      profile: 'kubernetes',
      collectors: fleetgc.collectors,
      limits,
      ...fleetgc.policy,
    }),
  );
  const args = [
    ...['cluster', 'run', '--cluster', 'compare', '--kubeconfig', kubeconfig],
    ...[
      '--policy',
      policy,
      '--log-path',
      join(directory, 'log.db'),
      '--http-address',
      '127.0.0.1:0',
      '--json',
    ],
  ];
  const started = await collector(looks.fleetgc, async () =>
    startProcess(program, args, {
      environment: PROGRAM_ENVIRONMENT,
      onLine: (line) => deeds.read(line),
    }),
  );
  return {
    ...started,
    [Symbol.asyncDispose]: async () => {
      await started[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
