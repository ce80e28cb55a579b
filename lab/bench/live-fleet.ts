import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchKafka, kafkaArguments } from './kafka.ts';
import { type Ended, runVerb } from './run-verb.ts';

/** What decides for a simulated fleet: only disks that fill up count. */
const POLICY = `
name: default
mode: enforce
imageGCHighThresholdPercent: 80
imageGCLowThresholdPercent: 75
evictionHard: {}
`;

/** Options of a verb that works for the fleet on this broker; nobody asks it for metrics. */
export const fleetArguments = (kafka: BenchKafka): readonly string[] => [
  ...kafkaArguments(kafka),
  '--http-address',
  'none',
];

/** `fleetgc simulate-fleet` from its beginning to its end; `life` says how many nodes, and for how long. */
export async function liveFleet(
  kafka: BenchKafka,
  life: readonly string[],
  onOutput: (text: string) => void,
): Promise<Ended> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'fleetgc-bench-'));
  const policy = join(directory.path, 'policy.yaml');
  writeFileSync(policy, POLICY);
  return await runVerb(['simulate-fleet', ...life, '--policy', policy, ...fleetArguments(kafka)], onOutput);
}
