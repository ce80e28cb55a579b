import { type ErrorCode, FleetGcError } from '../../../process/errors.ts';

/** kafkajs's protocol errors by their Kafka name. */
const CODE_BY_TYPE: Readonly<Record<string, ErrorCode>> = {
  TOPIC_AUTHORIZATION_FAILED: 'LOG_UNAUTHORIZED',
  GROUP_AUTHORIZATION_FAILED: 'LOG_UNAUTHORIZED',
  CLUSTER_AUTHORIZATION_FAILED: 'LOG_UNAUTHORIZED',
  SASL_AUTHENTICATION_FAILED: 'LOG_UNAUTHORIZED',
  UNSUPPORTED_SASL_MECHANISM: 'LOG_UNAUTHORIZED',
  UNKNOWN_TOPIC_OR_PARTITION: 'TOPICS_MISSING',
  INVALID_REPLICATION_FACTOR: 'TOPICS_MISSING',
  MESSAGE_TOO_LARGE: 'LOG_RECORD_TOO_LARGE',
  RECORD_LIST_TOO_LARGE: 'LOG_RECORD_TOO_LARGE',
};

const ADVICE: Partial<Record<ErrorCode, string>> = {
  LOG_UNAUTHORIZED:
    'Check the user, its password file or token, and the rights of that user on the topics and groups ("fleetgc topics acls").',
  TOPICS_MISSING: 'Create the topics with "fleetgc topics create".',
  LOG_RECORD_TOO_LARGE: 'The broker refused a record as too large: compare max.message.bytes of the topic.',
  LOG_UNREACHABLE:
    'Check that the brokers run, that address and port are right, and that TLS is used on both sides or on none.',
};

const GROUP_SETTLES = 'This passes by itself while a broker starts or a group is new.';
const GROUP_CHANGES = 'The group changes its members; this one joins again by itself.';
const LEADER_CHANGES =
  'The partition gets another leader: this passes by itself, unless a broker stays away.';
const TOO_FEW_COPIES =
  'Fewer copies of the partition are in sync than min.insync.replicas asks for: start the brokers that are away.';

/** What to do about one kind of error, where the advice for its code would mislead. */
const ADVICE_BY_TYPE: Readonly<Record<string, string>> = {
  INVALID_REPLICATION_FACTOR:
    'There are fewer brokers than copies asked for: wait until all have started, or choose another --kafka-replication-factor.',
  ILLEGAL_SASL_STATE:
    'A name and a password (SASL) were given, and this listener most likely takes none: name one that does with --kafka-brokers, or leave --kafka-sasl-mechanism, --kafka-username and --kafka-password-file out.',
  GROUP_LOAD_IN_PROGRESS: GROUP_SETTLES,
  GROUP_COORDINATOR_NOT_AVAILABLE: GROUP_SETTLES,
  NOT_COORDINATOR_FOR_GROUP: 'Another broker looks after the group now; it is found again by itself.',
  REBALANCE_IN_PROGRESS: GROUP_CHANGES,
  ILLEGAL_GENERATION: GROUP_CHANGES,
  UNKNOWN_MEMBER_ID: GROUP_CHANGES,
  NOT_LEADER_FOR_PARTITION: LEADER_CHANGES,
  LEADER_NOT_AVAILABLE: LEADER_CHANGES,
  NOT_ENOUGH_REPLICAS: TOO_FEW_COPIES,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: TOO_FEW_COPIES,
};

/** The error and what caused it, outermost first. kafkajs wraps its errors several times. */
function chain(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let at = error; at instanceof Error && found.length < 10; at = inner(at)) found.push(at);
  return found;
}

function inner(error: Error): unknown {
  if (error.cause !== undefined) return error.cause;
  if ('errors' in error && Array.isArray(error.errors)) return error.errors[0];
  return 'originalError' in error ? error.originalError : undefined;
}

const typeOf = (error: Error): string | null =>
  'type' in error && typeof error.type === 'string' ? error.type : null;

/** All errors that a request for several objects ended with, each with what wraps it left out. */
export const refusedParts = (error: unknown): readonly Error[] => {
  const several = chain(error).find((each) => 'errors' in each && Array.isArray(each.errors));
  if (several === undefined || !('errors' in several) || !Array.isArray(several.errors)) return [];
  return several.errors.filter((one: unknown) => one instanceof Error);
};

/** Kafka's name of the error anywhere in the chain, such as `MESSAGE_TOO_LARGE`; null when it is of another kind. */
export const protocolType = (error: unknown): string | null =>
  chain(error)
    .map(typeOf)
    .find((type) => type !== null) ?? null;

/** While a broker starts, or a group is new. */
export const passesByItself = (error: unknown): boolean =>
  ADVICE_BY_TYPE[protocolType(error) ?? ''] === GROUP_SETTLES;

/** The broker looked at who asks, and said no. */
export const isRefusal = (error: unknown): boolean =>
  CODE_BY_TYPE[protocolType(error) ?? ''] === 'LOG_UNAUTHORIZED';

/** The group changed, or went on without this member: to be answered by joining again. */
export const isGroupChange = (error: unknown): boolean =>
  ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'NOT_COORDINATOR_FOR_GROUP'].includes(
    protocolType(error) ?? '',
  );

/** No broker could take the record just then, but one will soon: leaders and copies change hands. */
export const isBetweenLeaders = (error: unknown): boolean =>
  [
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'NOT_ENOUGH_REPLICAS',
    'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
    'REQUEST_TIMED_OUT',
  ].includes(protocolType(error) ?? '');

/**
 * How kafkajs ends the text of a login during which the connection ended, as in a rolling restart: it keeps the text alone of
 * what happened. A broker that refuses a login says so first.
 */
const CUT_OFF =
  /failed: (Closed connection|Not connected|Connection (timeout|error: .*|closed by the server)|Request .* timed out)$/;

const isRefusedLogin = ({ name, message }: Error): boolean =>
  name === 'KafkaJSSASLAuthenticationError' && !CUT_OFF.test(message);

function logErrorCode(errors: readonly Error[]): ErrorCode {
  const byType = CODE_BY_TYPE[protocolType(errors[0]) ?? ''];
  if (byType !== undefined) return byType;
  const unauthorized = errors.some(isRefusedLogin);
  return unauthorized ? 'LOG_UNAUTHORIZED' : 'LOG_UNREACHABLE';
}

/** A partition with bytes in it that no codec here reads, or that are damaged. */
export const undecodable = (
  { topic, partition }: { readonly topic: string; readonly partition: number },
  cause: unknown,
): FleetGcError =>
  new FleetGcError(
    'LOG_CORRUPT',
    `${topic}/${partition} holds records that cannot be decoded (${cause instanceof Error ? cause.message : cause}). FleetGC reads zstd and gzip. Check compression.type of the topic, since a broker recompresses what it takes unless that is "producer" ("fleetgc topics check"); then look for a writer that compresses in another way, or for what becomes too large. Where a checksum is wrong, look for a failing disk or network of a broker. Or move the group past these records.`,
    { cause },
  );

/** Nobody said what is wrong; brokers are silent. */
export const unanswered = (brokers: readonly string[], ms: number): FleetGcError =>
  new FleetGcError(
    'LOG_UNREACHABLE',
    `Kafka at ${brokers.join(', ')}: no broker answered within ${ms / 1000} s. ${ADVICE.LOG_UNREACHABLE}`,
  );

/**
 * What kafkajs throws as plain errors where brokers went away: it reads in an answer that is `null` after each broker it asked for
 * metadata failed, and it asks one whose connection was closed meanwhile.
 */
const isAnswerOfNobody = (error: Error): boolean =>
  (error instanceof TypeError && error.message.includes('topicMetadata')) ||
  error.message === 'Broker not connected';

/** A broker that answers with an error has been reached, so advice about reaching one would mislead. */
function adviceFor(type: string | null, code: ErrorCode): string {
  if (type === null) return ADVICE[code] ?? '';
  const known = ADVICE_BY_TYPE[type] ?? (code === 'LOG_UNREACHABLE' ? undefined : ADVICE[code]);
  return known ?? `The broker answered with ${type}: look at its log.`;
}

/** Says in the operator's words what kafkajs reported. A fault in our own code stays `INTERNAL`. */
export function toEventLogError(brokers: readonly string[], error: unknown): FleetGcError {
  const errors = chain(error);
  const own = errors.find((each) => each instanceof FleetGcError);
  if (own !== undefined) return own;
  const deepest = errors.at(-1)?.message ?? String(error);
  if (errors.some(isAnswerOfNobody)) {
    const message = `Kafka at ${brokers.join(', ')}: every broker that was asked went away. ${ADVICE.LOG_UNREACHABLE}`;
    return new FleetGcError('LOG_UNREACHABLE', message, { cause: error });
  }
  if (!errors.some(({ name }) => name.startsWith('KafkaJS'))) {
    return new FleetGcError('INTERNAL', deepest, { cause: error });
  }
  const code = logErrorCode(errors);
  const advice = adviceFor(protocolType(error), code);
  const message = `Kafka at ${brokers.join(', ')}: ${deepest.replace(/\.$/, '')}. ${advice}`.trim();
  return new FleetGcError(code, message, { cause: error });
}
