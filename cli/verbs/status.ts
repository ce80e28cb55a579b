import { z } from 'zod';
import { toldCensusLines } from '../../packages/documents/cluster.ts';
import { nodeLines } from '../../packages/documents/nodes.ts';
import { statusLines } from '../../packages/documents/status.ts';
import { readPoliciesBy } from '../../packages/policy/stored-policies.ts';
import { warnOfUnreadable } from '../../packages/policy/unsigned-records.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { objectOptions, outputOptions, printObjects, printResult } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';

export const statusVerb = defineVerb({
  help: [
    'What needs attention comes first. Then come brokers, topics, services with their replicas and their lag, policies, pauses, dead letters of the last day, how many nodes are heard and silent, and each cluster with its policy, what is held there, and what a person should look at. It reads the event log and changes nothing. The exit code says only whether the event log could be read; problems are in the answer (docs/operating/troubleshoot.md says what to do about each).',
  ],
  examples: ['fleetgc status', 'fleetgc status -o json', 'fleetgc status --log embedded'],
  options: z.object({ ...readingTrustOptions, ...outputOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const { readStatus } = await import('../../packages/read-model/status.ts');
    const { signal } = context;
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const found = await readStatus(
      {
        log,
        roots,
        kind: options.log,
        nowMs: Date.now(),
        onProgress: (line) => context.progress.report(() => line),
      },
      signal,
    );
    await printResult(context, output, { value: found, lines: statusLines(found) });
  },
});

export const nodesVerb = defineVerb({
  help: [
    'Lists the nodes that were heard in the last day, from its newest disk statistics: when it was last heard, how full its image filesystem is (rounded up, and without the space reserved for root, as the kubelet counts), which policy is in force and in which mode, its version, and warnings: a wrong clock, two machines with one name, a cluster name that looks misspelt, silence. It reads the last minutes whole, and of nodes that are silent the report that gc.latest-facts names, however large the fleet is.',
  ],
  examples: [
    'fleetgc nodes',
    'fleetgc nodes -o wide',
    'fleetgc nodes -o name',
    'fleetgc nodes -o json --log embedded',
  ],
  options: z.object({
    ...objectOptions,
    ...readingTrustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const { readFleetNodes } = await import('../../packages/read-model/nodes.ts');
    const roots = readReadingRoots({ trustRoots });
    const { logger, signal } = context;
    await using log = await openTaskEventLog({ options, context });
    const nowMs = Date.now();
    const stored = await readPoliciesBy(roots, log, signal);
    warnOfUnreadable(stored, logger);
    const { believedPositions } = await import('../../packages/read-model/latest-facts.ts');
    const isBelieved = await believedPositions(roots, log, signal);
    const onProgress = (line: string): void => context.progress.report(() => line);
    const reading = { log, nowMs, onProgress, isBelieved };
    const found = await readFleetNodes(reading, stored.sets.node, signal);
    if (found.unreadable > 0) logger.warn(`${found.unreadable} records could not be read, and are left out`);
    const isDocument = output === 'json' || output === 'yaml';
    if (found.nodes.length + (found.unlocated?.length ?? 0) === 0 && !isDocument)
      return logger.info('No node was heard in the last day.');
    await printObjects(context, output, {
      value: found,
      lines: nodeLines(found, false),
      wideLines: nodeLines(found, true),
      names: found.nodes.map(({ cluster, node }) => `node/${cluster}/${node}`),
    });
  },
});

export const clusterReportVerb = defineVerb({
  help: [
    'Shows what each cluster told last of itself: objects whose deletion waits for finalizers, owners that wait for dependents and who holds them back, references that lead nowhere, owners that are missing with the width of their cascades, and kinds that cannot be read. It comes from the event log, where the agent of a cluster tells it within a minute when something changed, and at least every ten minutes. Of each finding the first fifty are told, and all are counted.',
    'With --trust-roots, what no key of the cluster signed counts for nothing where one signed some of it, and it is said where none did.',
    'Exit codes: 0 it was told, 1 no cluster told anything or the event log could not be read, 2 wrong options.',
  ],
  examples: [
    'fleetgc cluster report --log embedded --log-path /var/lib/fleetgc/cluster-prod.db',
    'fleetgc cluster report --cluster prod --kafka-brokers kafka:9092 --output json',
  ],
  options: z.object({
    cluster: withMeta(ClusterName.optional(), {
      placeholder: 'NAME',
      description: 'This cluster alone; all of them when not given.',
    }),
    ...readingTrustOptions,
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster = null, trustRoots, output, ...options }, context) => {
    const { lastCensuses } = await import('../../packages/read-model/censuses.ts');
    const { unlocatedText } = await import('../../packages/read-model/nodes.ts');
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const asked = { log, cluster, roots, nowMs: Date.now() };
    const { censuses, unreadable, unlocated } = await lastCensuses(asked, context.signal);
    if (unreadable > 0) context.logger.warn(`${unreadable} records could not be read, and are left out`);
    const lost = unlocated.map(({ key, kind, why }) => `The cluster ${key}: ${unlocatedText(kind, why)}`);
    if (censuses.length === 0) throw nothingTold(cluster, lost);
    for (const each of lost) context.logger.warn(each);
    const lines = censuses.flatMap((told, index) => [...(index === 0 ? [] : ['']), ...toldCensusLines(told)]);
    for (const { census, proof } of censuses)
      if (proof === 'unsigned') context.logger.warn(notProved(census.cluster));
    const value = censuses.map(({ census }) => census);
    const names = value.map((census) => census.cluster);
    await printObjects(context, output, { value, lines, names });
  },
});

const notProved = (cluster: string): string =>
  `No key of the cluster ${cluster} signed what is reported of it: anyone with the Kafka credentials of the role cluster or operator could have written it`;

const nothingTold = (cluster: string | null, lost: readonly string[]): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    lost.length > 0
      ? lost.join('; ')
      : `${cluster === null ? 'no cluster has' : `the cluster ${cluster} has not`} told on this event log how it stands. Its agent does so within a minute after it has read everything`,
  );
