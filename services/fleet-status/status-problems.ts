import { selectorText } from '../../packages/policy/selector-text.ts';
import { counted } from '../../packages/text/counted.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';

/** A service that is so far behind decides on what is long past. */
const MUCH_LAG = 1_000;
const MOST_NAMED = 3;

const WHAT_DECIDES: Readonly<Record<FleetStatus['log']['kind'], string>> = {
  kafka: 'Start fleetgc decide.',
  embedded: 'Start fleetgc run.',
};

/** What a tired person has to know, the worst first. */
export function statusProblems(
  status: Omit<FleetStatus, 'problems'>,
  groupsUnknown: string | null,
): string[] {
  const { log, services, policies, unreadablePolicies, deadLetters, nodes, warnings, pauses } = status;
  const letters = deadLetters.total - deadLetters.redriven;
  const silent = warnings.filter(({ kind }) => kind === 'silent').map(({ subject }) => subject);
  const others = warnings.filter(({ kind }) => kind !== 'silent');
  return [
    ...log.topicProblems,
    ...(groupsUnknown === null ? [] : [`Nobody knows how far the services are: ${groupsUnknown}`]),
    ...services
      .filter(({ members }) => members === 0)
      .map(({ name }) => `No ${name} runs: nothing is decided there. ${WHAT_DECIDES[log.kind]}`),
    ...services
      .filter(({ members, lag }) => members > 0 && lag >= MUCH_LAG)
      .map(
        ({ name, lag }) => `${name} is ${lag} messages behind: give it more replicas, or look at its log.`,
      ),
    ...(unreadablePolicies === 0
      ? []
      : [
          `${counted(unreadablePolicies, 'record')} of gc.policies cannot be read, so nothing is removed on nodes that may be meant: see fleetgc policy list.`,
        ]),
    ...(policies.length === 0 && log.topicProblems.length === 0
      ? ['There are no policies: every node keeps everything.']
      : []),
    ...(pauses.length === 0
      ? []
      : [
          `${counted(pauses.length, 'pause holds', 'pauses hold')}: nothing is removed there until fleetgc resume.`,
        ]),
    ...selectNothing(status),
    ...(letters === 0
      ? []
      : [
          `${counted(letters, 'message')} of the last day could not be processed: see fleetgc dead-letters list.`,
        ]),
    ...(silent.length === 0
      ? []
      : [`${counted(silent.length, 'node is', 'nodes are')} not heard any more: ${named(silent)}.`]),
    ...(nodes.withoutPolicy === 0 || policies.length === 0
      ? []
      : [
          `${counted(nodes.withoutPolicy, 'node keeps', 'nodes keep')} everything, since no policy selects them.`,
        ]),
    ...others.slice(0, MOST_NAMED).map(({ subject, message }) => `${subject}: ${message}.`),
    ...(others.length > MOST_NAMED
      ? [`${counted(others.length - MOST_NAMED, 'more warning')}: see fleetgc nodes.`]
      : []),
  ];
}

/** Nothing to say where no node is heard at all: that is another problem. */
function selectNothing({
  nodes,
  policies,
  pauses,
}: Pick<FleetStatus, 'nodes' | 'policies' | 'pauses'>): readonly string[] {
  if (nodes.heard + nodes.silent === 0) return [];
  return [
    ...policies
      .filter(({ nodes: held }) => held === 0)
      .map(
        ({ name }) =>
          `Policy ${name} holds for no node that was heard in the last day: are the names in its selector right, or does another policy go before it?`,
      ),
    ...pauses
      .filter(({ nodes: stopped }) => stopped === 0)
      .map(
        ({ selector }) =>
          `The pause of ${selectorText(selector)} is for no node that was heard in the last day: are the names right?`,
      ),
  ];
}

const named = (subjects: readonly string[]): string =>
  subjects.length <= MOST_NAMED
    ? subjects.join(', ')
    : `${subjects.slice(0, MOST_NAMED).join(', ')} and ${subjects.length - MOST_NAMED} more (fleetgc nodes)`;
