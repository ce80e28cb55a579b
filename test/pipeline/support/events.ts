import type { Command } from '../../../schemas/events/command.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { Pipeline } from './pipeline.ts';

export const isObjectResult = (event: EventOf<'results'>): event is ObjectResult =>
  event.type === 'fleetgc.node.object-result';
export const isCommandResult = (event: EventOf<'results'>): event is CommandResult =>
  event.type === 'fleetgc.node.command-result';

export const objectResults = async (pipeline: Pipeline): Promise<ObjectResult[]> =>
  (await pipeline.events('results')).filter(isObjectResult);

export const commandResults = async (pipeline: Pipeline): Promise<CommandResult[]> =>
  (await pipeline.events('results')).filter(isCommandResult);

export const imageCommands = async (pipeline: Pipeline): Promise<Command[]> =>
  (await pipeline.events('commands')).filter(({ kind }) => kind === 'image-removal');
