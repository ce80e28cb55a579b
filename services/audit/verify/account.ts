import type { Command } from '../../../schemas/command.ts';
import { nodeKey } from '../../../schemas/identity.ts';
import type { CommandResult, ObjectResult, PassFailed } from '../../../schemas/result.ts';
import { commandResultId, objectResultId, passFailedId } from '../../shared/result-ids.ts';
import type { Place } from './findings.ts';
import { objectName } from './removable.ts';

/** What an executor says of a command or its objects. */
export type Answer = ObjectResult | CommandResult | PassFailed;

export interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

/** A command and what became of it so far. */
export interface Account {
  readonly command: Placed<Command>;
  /** One for each object, by its name. */
  readonly objects: Map<string, Placed<ObjectResult>>;
  ending: Placed<CommandResult> | null;
}

export interface Disagreement {
  readonly kind: 'result-differs' | 'not-commanded';
  readonly message: string;
}

/** What of an answer cannot be, by the command alone. */
export function disagreement(command: Command, answer: Answer): Disagreement | null {
  const differs = (message: string): Disagreement => ({ kind: 'result-differs', message });
  if (nodeKey(answer) !== nodeKey(command))
    return differs(`it is of ${nodeKey(answer)}, and the command of ${nodeKey(command)}`);
  if (answer.decisionId !== command.decisionId || answer.inventoryId !== command.inventoryId)
    return differs('it names another decision or inventory than the command');
  const by = { nodeInstance: answer.nodeInstance, commandId: command.id };
  if (answer.type === 'fleetgc.node.object-result') return objectDisagreement(command, answer);
  const id =
    answer.type === 'fleetgc.node.pass-failed' ? passFailedId(by, answer.problem) : commandResultId(by);
  return answer.id === id ? null : differs('its id does not follow from its command');
}

function objectDisagreement(command: Command, answer: ObjectResult): Disagreement | null {
  const { object, rule, nodeInstance, result } = answer;
  const index = command.items.findIndex(({ kind, id }) => kind === object.kind && id === object.id);
  const item = command.items[index];
  if (item === undefined)
    return {
      kind: 'not-commanded',
      message: `${objectName(object)}: ${result.outcome}, and the command does not name it`,
    };
  const by = { nodeInstance, commandId: command.id };
  const problem =
    (nodeInstance !== command.nodeInstance && 'it is of another installation of the node than the command') ||
    (answer.id !== objectResultId(by, index, object) &&
      'its id does not follow from its command and object') ||
    (rule !== item.rule && `it gives rule ${rule}, and the command ${item.rule}`);
  return problem === false ? null : { kind: 'result-differs', message: problem };
}

const COUNTED = {
  removed: 'removed',
  'not-found': 'notFound',
  refused: 'refused',
  failed: 'failed',
  'not-needed': 'notNeeded',
  'not-done': 'notDone',
} as const;

/** Where the results of a command's objects are not those that its own result counts. */
export function miscount({ objects }: Account, { result }: CommandResult): string | null {
  if (result.outcome === 'refused')
    return objects.size === 0
      ? null
      : `the command was refused, and ${objects.size} of its objects have results`;
  const outcomes = [...objects.values()].map(({ event }) => event.result.outcome);
  for (const [outcome, field] of Object.entries(COUNTED)) {
    const there = outcomes.filter((one) => one === outcome).length;
    if (there !== result[field])
      return `the result of the command counts ${result[field]} ${outcome}, and the log has ${there} such results of its objects`;
  }
  return null;
}
