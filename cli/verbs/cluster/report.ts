import { z } from 'zod';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import { lastCensuses } from '../../../packages/read-model/censuses.ts';
import { ClusterName } from '../../../schemas/events/identity.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../../options/trust-options.ts';
import { toldCensusLines } from '../../views/cluster.ts';

export const verb = defineVerb({
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
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const asked = { log, cluster, roots, nowMs: Date.now() };
    const { censuses, unreadable } = await lastCensuses(asked, context.signal);
    if (unreadable > 0) context.logger.warn(`${unreadable} records could not be read, and are left out`);
    if (censuses.length === 0) throw nothingTold(cluster);
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

const nothingTold = (cluster: string | null): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    `${cluster === null ? 'no cluster has' : `the cluster ${cluster} has not`} told on this event log how it stands. Its agent does so within a minute after it has read everything`,
  );
