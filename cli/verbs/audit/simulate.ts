import type { Logger } from 'pino';
import { z } from 'zod';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { toPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { TextList, withMeta } from '../../../packages/process/options/options.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { AuditSimulation } from '../../../schemas/reports/audit-simulation.ts';
import { simulate } from '../../../services/audit/simulate/simulate.ts';
import { newestDeciders } from '../../../services/audit/simulate/simulated-decisions.ts';
import { openAuditLog } from '../../framework/open-audit-log.ts';
import { formatResult } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/audit-log-options.ts';
import { loadPolicyFiles, PolicyPaths, requireValid } from '../../options/policy-files.ts';
import { LongDuration, rangeOptions, timeRange } from '../../options/time-options.ts';
import { readingProgress } from '../../views/audit/reading-progress.ts';
import { simulationLines, simulationNdjson } from '../../views/audit/simulation-lines.ts';

export const verb = defineVerb({
  help: [
    'Runs the policies of a file over the recorded inventories, and compares the outcome with what happened, or with the policies of another file: what was removed of each kind, bytes freed, images that were soon needed again (regret), and time at or above the usage thresholds, per pool, per node and in total. Policies in dry-run count as if they said enforce. Nothing is applied, and no node is asked. From its first difference on, the result for a node is an estimate; the output says how it is made.',
    'It knows policies for nodes alone, not yet those for clusters.',
    'Exit codes: 0 a simulation was made, 3 the event log has no inventory of those nodes from that time.',
  ],
  examples: [
    'fleetgc audit simulate --policy new.yaml --from 7d',
    'fleetgc audit simulate --policy new.yaml --against old.yaml --nodes web-1,web-2 --regret-window 2h -o json',
  ],
  options: z.object({
    policy: withMeta(PolicyPaths, {
      commandLineOnly: true,
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to try; they hold alone. May be repeated.',
    }),
    against: withMeta(PolicyPaths.optional(), {
      commandLineOnly: true,
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to compare with. Default: what happened.',
    }),
    nodes: withMeta(TextList.prefault([]), {
      commandLineOnly: true,
      placeholder: '[CLUSTER/]NODE,…',
      description: 'Only these nodes; may be repeated.',
    }),
    regretWindow: withMeta(LongDuration.prefault('24h'), {
      commandLineOnly: true,
      placeholder: 'DURATION',
      description: 'An image that is needed again within this time after it went is regretted.',
    }),
    ...rangeOptions,
    output: withMeta(z.enum(['table', 'json', 'ndjson']).prefault('table'), {
      description: 'table for people; json for everything there is to say; ndjson for a node a line.',
    }),
    ...auditLogOptions,
  }),
  run: async ({ policy, against, nodes: names, regretWindow, from, to, output, ...options }, context) => {
    const { logger, signal } = context;
    const comparison = {
      policy: tried(policy, logger),
      against: against === undefined ? null : tried(against, logger),
      regretWindowMs: regretWindow,
      deciders: await newestDeciders(),
    };
    await using log = await openAuditLog(options, context);
    const range = await timeRange({ from, to }, { log, nowMs: Date.now(), signal });
    const onProgress = readingProgress((line) => logger.info(line), Date.now);
    const isWanted = wantedNodes(names);
    const simulation = await simulate({ log, range, comparison, isWanted, onProgress }, signal);
    const { read, nodes } = simulation;
    if (read.unreadable > 0) logger.warn(`${read.unreadable} records could not be read, and are left out`);
    if (nodes.length === 0) throw nothing(names);
    for (const name of missingNames(names, nodes))
      logger.warn(`no complete inventory of ${name} lies in that time: it is left out`);
    await context.write(
      output === 'ndjson'
        ? simulationNdjson(simulation)
        : `${formatResult(output, { value: simulation, lines: simulationLines(simulation) })}\n`,
    );
  },
});

/** A simulation removes nothing, so that a policy which is to be tried may say dry-run. */
function tried(paths: readonly string[], logger: Logger): PolicySet {
  const written = requireValid(loadPolicyFiles(paths), logger, 'nothing was simulated');
  return policySet(
    'node',
    written.map(({ policy, source }) => toPolicyRecord({ policy: { ...policy, mode: 'enforce' }, source })),
    [],
  );
}

/** A node is asked for by its whole key, or by its name in any cluster. */
const namesOf = (key: string): readonly string[] => [key, key.slice(key.indexOf('/') + 1)];

function wantedNodes(names: readonly string[]): (key: string) => boolean {
  const wanted = new Set(names);
  return (key) => wanted.size === 0 || namesOf(key).some((name) => wanted.has(name));
}

function missingNames(names: readonly string[], nodes: AuditSimulation['nodes']): readonly string[] {
  const found = new Set(nodes.flatMap((node) => namesOf(nodeKey(node))));
  return [...new Set(names)].filter((name) => !found.has(name));
}

const nothing = (names: readonly string[]): FleetGcError =>
  new FleetGcError(
    'AUDIT_INCOMPLETE',
    `there is nothing to simulate: no complete inventory of ${names.length === 0 ? 'any node' : names.join(' or ')} lies in that time`,
  );
