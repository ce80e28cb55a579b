import type { Logger } from 'pino';
import type { EventLog } from '../../packages/log/port.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { readPoliciesBy } from '../../packages/policy/stored-policies.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import { openPolicyWriter } from './policy-writer.ts';
import { operatorPublication } from './task-event-log.ts';

interface Believing {
  readonly readTrust: (signal: AbortSignal) => Promise<TrustChoice>;
  readonly logger: Logger;
}

/** The policies of the log for a policy controller. The key is read anew for each change, so that another one takes its place without a restart. */
export const controllerPolicyLog = (
  log: Pick<EventLog, 'read' | 'publish'>,
  followed: Pick<PolicySource, 'current'>,
  believing: Believing,
) => ({
  followed: followed.current.node,
  read: async (signal: AbortSignal) => {
    const choice = await trustNow(believing, signal);
    return await readPoliciesBy(choice.kind === 'required' ? choice.roots : null, log, signal);
  },
  openWriter: async (signal: AbortSignal) => {
    const choice = await trustNow(believing, signal);
    const { logger } = believing;
    return await openPolicyWriter(
      log,
      choice,
      { signal, logger },
      { publication: operatorPublication('policy-controller') },
    );
  },
});

/** What a command that brings the key says on stderr is for who runs it, and not for everybody who may read an object's status. */
async function trustNow({ readTrust, logger }: Believing, signal: AbortSignal): Promise<TrustChoice> {
  try {
    return await readTrust(signal);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.code !== 'KEY_UNUSABLE') throw error;
    logger.error({ err: error }, UNUSABLE);
    throw new FleetGcError(error.code, `${UNUSABLE}: its logger output says why`);
  }
}

const UNUSABLE = 'the key of the policy controller cannot be used';
