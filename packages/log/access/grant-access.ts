import { FleetGcError } from '../../process/errors.ts';
import { addRules, findMissingRules } from '../kafka/client/access.ts';
import { withAdmin } from '../kafka/client/admin.ts';
import { protocolType, toEventLogError } from '../kafka/client/errors.ts';
import type { KafkaOptions } from '../kafka/client/options.ts';
import type { EventLogContext } from '../port.ts';
import type { AccessRule } from './access-rules.ts';

/** What became of the rules that were wanted. */
export interface GrantedAccess {
  /** What the brokers had not, and have now unless this only looked. */
  readonly added: readonly AccessRule[];
  /** Rules of other makers for the same principals, which stay as they are. */
  readonly others: number;
}

interface Granting {
  readonly options: KafkaOptions;
  readonly context: EventLogContext;
  /** `look` changes nothing. */
  readonly work: 'look' | 'add';
}

/** Adds the rules that the brokers have not; needs the rights to describe and to alter the cluster. */
export async function grantAccess(
  { options, context, work }: Granting,
  wanted: readonly AccessRule[],
): Promise<GrantedAccess> {
  try {
    return await withAdmin(options, context, async (admin, inTime) => {
      const { missing, others } = await inTime(findMissingRules(admin, wanted));
      if (work === 'add') await inTime(addRules(admin, missing));
      return { added: missing, others };
    });
  } catch (error) {
    throw refusal(options, error);
  }
}

const NO_AUTHORIZER =
  'these brokers keep no access rules, so whoever reaches them may do anything: set authorizer.class.name (org.apache.kafka.metadata.authorizer.StandardAuthorizer) and allow.everyone.if.no.acl.found=false, and restart them.';
const NOT_ALLOWED =
  'this login may not read or add access rules. That takes Describe and Alter on the cluster: use the login of an administrator of Kafka.';

function refusal({ brokers }: KafkaOptions, error: unknown): FleetGcError {
  const at = `Kafka at ${brokers.join(', ')}`;
  const type = protocolType(error);
  if (type === 'SECURITY_DISABLED')
    return new FleetGcError('NOT_FOUND', `${at}: ${NO_AUTHORIZER}`, { cause: error });
  if (type === 'CLUSTER_AUTHORIZATION_FAILED')
    return new FleetGcError('LOG_UNAUTHORIZED', `${at}: ${NOT_ALLOWED}`, { cause: error });
  return toEventLogError(brokers, error);
}
