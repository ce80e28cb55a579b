import type { Command } from '../../../schemas/command.ts';
import { nodeOutput } from '../../../services/shared/handler.ts';
import { createPublisher } from '../../../services/shared/publisher.ts';
import { randomTraceIds } from '../../../services/shared/trace-ids.ts';
import type { FleetLog } from './fleet-log.ts';

/** Puts commands on the log as a decision service would. */
export async function putCommands(
  { log }: Pick<FleetLog, 'log'>,
  commands: readonly Command[],
): Promise<void> {
  const publisher = createPublisher({ log, source: '/fleetgc/e2e', now: Date.now, ids: randomTraceIds });
  await publisher.publish(commands.map((command) => nodeOutput('commands', command)));
}
