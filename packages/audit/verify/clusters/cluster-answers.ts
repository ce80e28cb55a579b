import type { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent, IntendedObject } from '../../../../schemas/events/cluster-intent.ts';
import type {
  ClusterCommandResult,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import { canonicalJson } from '../../../canonical/ids.ts';
import {
  clusterCommandResultId,
  clusterIntentId,
  clusterObjectResultsId,
  clusterRejectedResultId,
} from '../../../decision/result-ids.ts';
import type { Place } from '../../events/log-position.ts';

/** What the executor of a cluster says of a command or its objects. */
export type ClusterAnswer = ClusterCommandIntent | ClusterObjectResults | ClusterCommandResult;

export interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

type Item = Pick<ClusterCommand['items'][number], 'rule'> & {
  readonly action: ClusterCommand['items'][number]['act']['action'];
};

/** What an executor has to announce before it does it. */
export const isDeed = ({ outcome }: ClusterObjectResults['objects'][number]['result']): boolean =>
  outcome === 'removed' || outcome === 'accepted' || outcome === 'patched';

/** What of a command its results are checked against. */
export type Commanded = Pick<
  ClusterCommand,
  'id' | 'cluster' | 'clusterInstance' | 'decisionId' | 'lifetimeMs'
> & {
  /** By the uids of their objects. */
  readonly items: ReadonlyMap<string, Item>;
};

/** Many are kept, and most of a command is not needed for it. */
export const commandedBy = (command: ClusterCommand): Commanded => ({
  id: command.id,
  cluster: command.cluster,
  clusterInstance: command.clusterInstance,
  decisionId: command.decisionId,
  lifetimeMs: command.lifetimeMs,
  items: new Map(command.items.map(({ object, rule, act }) => [object.uid, { rule, action: act.action }])),
});

export interface Disagreement {
  readonly kind: 'result-differs' | 'not-commanded';
  readonly message: string;
}

/** Another cluster of the name refuses what is not for it, whatever the right one does with it. */
export const isOfBystander = (answer: ClusterAnswer, { clusterInstance }: Commanded): boolean =>
  answer.type === 'fleetgc.cluster.command-result' &&
  answer.clusterInstance !== clusterInstance &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'other-instance';

/** What of an answer cannot be, by the command alone. */
export function disagreement(command: Commanded, answer: ClusterAnswer): Disagreement | null {
  const differs = (message: string): Disagreement => ({ kind: 'result-differs', message });
  if (answer.decisionId !== command.decisionId) return differs('it names another decision than the command');
  if (answer.clusterInstance !== command.clusterInstance && !isOfBystander(answer, command))
    return differs('it is of another cluster of that name than the command');
  if (!idsOf(answer).includes(answer.id)) return differs('its id does not follow from its command');
  switch (answer.type) {
    case 'fleetgc.cluster.command-intent':
      return answer.lifetimeMs === command.lifetimeMs
        ? objectDisagreement(command, answer.objects, () => 'announced')
        : differs('it gives the command another lifetime');
    case 'fleetgc.cluster.object-results':
      return objectDisagreement(command, answer.objects, ({ result }) => result.outcome);
    case 'fleetgc.cluster.command-result':
      return miscount(command, answer);
  }
}

function idsOf(answer: ClusterAnswer): readonly string[] {
  if (answer.type === 'fleetgc.cluster.object-results')
    return [clusterObjectResultsId(answer, answer.objects)];
  if (answer.type === 'fleetgc.cluster.command-intent')
    return [clusterIntentId(answer, answer.executor, answer.objects)];
  const { result } = answer;
  const own = clusterCommandResultId(answer);
  return result.outcome === 'refused' ? [own, clusterRejectedResultId(answer, result)] : [own];
}

function objectDisagreement<Named extends IntendedObject>(
  { items }: Commanded,
  objects: readonly Named[],
  wordOf: (named: Named) => string,
): Disagreement | null {
  for (const named of objects) {
    const { object, rule, action } = named;
    const item = items.get(object.uid);
    if (item === undefined)
      return {
        kind: 'not-commanded',
        message: `${object.kind} ${object.uid}: ${wordOf(named)}, and the command does not name it`,
      };
    if (rule !== item.rule || action !== item.action)
      return {
        kind: 'result-differs',
        message: `it gives ${action} by rule ${rule} for ${object.kind} ${object.uid}, and the command ${item.action} by rule ${item.rule}`,
      };
  }
  return null;
}

function miscount({ items }: Commanded, { result }: ClusterCommandResult): Disagreement | null {
  if (result.outcome === 'refused') return null;
  const told = Object.values(result.counts).reduce((sum, count) => sum + count, 0);
  return told === items.size
    ? null
    : { kind: 'result-differs', message: `it counts ${told} objects, and the command names ${items.size}` };
}

/**
 * What must not change between two records of one result. Two executors of a cluster may carry out a command at once, and each tells
 * of it in its own words and time.
 */
export const steadyContent = (event: ClusterAnswer): string =>
  canonicalJson(
    event.type !== 'fleetgc.cluster.command-result'
      ? [
          event.commandId,
          event.decisionId,
          event.objects.map(({ object, rule, action }) => [object.uid, rule, action]),
        ]
      : [event.commandId, event.decisionId],
  );

/** Whether it is the refusal of a command that was not read, since nobody signed it who may. */
export const isDistrust = (answer: ClusterAnswer): answer is ClusterCommandResult =>
  answer.type === 'fleetgc.cluster.command-result' &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'not-trusted';
