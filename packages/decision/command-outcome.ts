import { COMMAND_VERSION } from '../../schemas/events/command.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { Policy } from '../../schemas/policy/policy.ts';

export interface CommandOutcome {
  readonly outcome: 'commanded' | 'dry-run' | 'no-common-version';
  readonly reason: string;
}

/** What becomes of a plan that holds something; `plan` is told as the beginning of the reason. */
export function commandOutcome(
  { commandVersions }: CompleteInventory,
  { mode }: Policy,
  plan: string,
): CommandOutcome {
  if (mode === 'dry-run') return { outcome: 'dry-run', reason: `${plan}; dry-run: no command is sent` };
  if (commandVersions.includes(COMMAND_VERSION)) return { outcome: 'commanded', reason: plan };
  const accepted = commandVersions.join(', ') || 'none';
  const reason = `${plan}; the node accepts command versions ${accepted}, not ${COMMAND_VERSION}: no command is sent`;
  return { outcome: 'no-common-version', reason };
}
