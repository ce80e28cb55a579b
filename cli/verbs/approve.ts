import type { Logger } from 'pino';
import { z } from 'zod';
import {
  readPoliciesBy,
  readStoredPolicies,
  type StoredPolicies,
} from '../../packages/policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter } from '../../packages/policy/write-policies.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import {
  approvalOfHeld,
  approvalsNamed,
  approve,
  type Withdrawing,
} from '../../packages/read-model/approve.ts';
import { approvalText, approvedText } from '../../packages/read-model/holds.ts';
import type { Doing } from '../../packages/records/doing.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { doing } from '../options/doing-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { approvalOptions, NOT_PROVED } from '../options/steering-options.ts';
import { readOperatorTrust, writingOptions } from '../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'Approves what is held in a cluster, and nothing that nobody looked at: it lets go no more objects than are held for this reason now, and nothing that is held for another one. "fleetgc held" lists what is held, each with its command.',
    'An approval is in force for an hour, or as long as --for says, by the clock of the API server. It is signed as policies are.',
    'Exit codes: 0 it is approved or withdrawn, 1 no such thing is held or approved, or more of it or another thing than was shown is held, 2 wrong options.',
  ],
  examples: [
    'fleetgc approve prod 4f6a0c0e-8f0a-4d0c-9d6e-0f4b6d1f1c11 --objects 1200',
    'fleetgc approve prod Namespace --as held-kind --for 2h --reason "the tenants moved"',
    'fleetgc approve prod old-jobs/batch/Job --as rule --objects 1200 --for 12h',
    'fleetgc approve prod Pod --as pods-of-missing-nodes --objects 6000',
    'fleetgc approve prod Namespace --withdraw',
  ],
  options: z.object({
    ...approvalOptions,
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be approved, and approve nothing.',
    }),
    withdraw: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'End approvals of this name: what they let go and is still there is held again.',
    }),
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (
    { cluster, what: name, as, objects, shown, for: forMs, reason, by, dryRun, withdraw, ...options },
    context,
  ) => {
    const { signal, logger, print } = context;
    const trust = await readOperatorTrust(options, signal);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context, options);
    const stored = await readStoredPolicies(log, signal);
    const request = { cluster, name, as: as ?? null, objects: objects ?? null, shown: shown ?? null };
    const own = doing({ by, reason }, context);
    if (withdraw) return await endApprovals({ request, stored, writer, dryRun, own, print, logger });
    const roots = trust.kind === 'required' ? trust.roots : null;
    const policies = (await readPoliciesBy(roots, log, signal)).sets.cluster;
    const approving = { request, policies, roots, forMs, doing: own, nowMs: Date.now() };
    const { approval, proof } = await approvalOfHeld(log, approving, signal);
    if (proof !== 'signed') logger.warn(NOT_PROVED[proof]);
    if (dryRun) return print(printableLine(`would be approved: ${approvalText(approval)}`));
    await approve(writer, stored, approval);
    print(printableLine(`approved: ${approvalText(approval)}`));
    logger.info(
      `It is in force for ${durationText(forMs)}. What goes, goes as soon as its agent has read this.`,
    );
  },
});

interface Ending {
  readonly request: Withdrawing;
  readonly stored: StoredPolicies;
  readonly writer: PolicyWriter;
  readonly dryRun: boolean;
  readonly own: Doing;
  readonly print: (line: string) => void;
  readonly logger: Logger;
}

/** Throws `NOT_FOUND` where nothing of that name is approved. */
async function endApprovals({ request, stored, writer, dryRun, own, print, logger }: Ending): Promise<void> {
  const found = approvalsNamed(stored, request);
  const verb = dryRun ? 'would be withdrawn' : 'withdrawn';
  if (!dryRun) await deleteKeys(writer, [...found.keys()], own);
  for (const { what } of found.values())
    print(printableLine(`${verb}: ${approvedText(what)} in cluster ${request.cluster}`));
  if (!dryRun) logger.info('What is being removed at this moment still goes.');
}
