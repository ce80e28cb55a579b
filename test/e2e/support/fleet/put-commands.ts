import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { randomTraceIds } from '../../../../packages/process/system-sources.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { type Signer, UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { FleetLog } from './fleet-log.ts';

/** Puts commands on the log as a decision service would. */
export async function putCommands(
  { log }: Pick<FleetLog, 'log'>,
  commands: readonly Command[],
  signer: Signer = UNSIGNED,
): Promise<void> {
  const publisher = createPublisher({
    signer,
    log,
    source: '/fleetgc/e2e',
    now: Date.now,
    ids: randomTraceIds,
  });
  await publisher.publish(commands.map((command) => nodeOutput('commands', command)));
}
