import { planRedrive } from '../../../../packages/actions/redrive.ts';
import { evidenceOfRecords } from '../../../../packages/audit/policies/policy-evidence.ts';
import { readPolicyHistory } from '../../../../packages/audit/policies/policy-history.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { createPolicyKnowledge, type PolicyKnowledge } from '../../../../packages/policy/policy-knowledge.ts';
import { createPolicyReading } from '../../../../packages/policy/policy-reading.ts';
import { believedGenerations, highestGenerations } from '../../../../packages/policy/seen-versions.ts';
import { readStoredPolicies } from '../../../../packages/policy/stored-policies.ts';
import { unsignedStates } from '../../../../packages/policy/write-policies.ts';
import { filterLetters, readStoredLetters } from '../../../../packages/read-model/letters.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { SeenGenerations } from '../../../../packages/records/trust/seen-generations.ts';
import { certificate } from '../../../../packages/records/trust/statement.ts';
import { SubjectKind } from '../../../../schemas/events/identity.ts';
import { type EventOf, TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import { approvalKey, isApprovalKey } from '../../../../schemas/policy/approval.ts';
import { keyOfPolicyNamed, pauseKey, policyKey } from '../../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import { NODE } from '../../../../test/fixtures/inventory.ts';
import { SIGNED_AT_MS, stated } from '../../../../test/fixtures/trust.ts';
import { SILENT } from '../../../../test/support/silent.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { hasNoGeneration, isToBeRefused, SEEN_GENERATION, type Signatories, TAKEN_AT_MS } from './claims.ts';
import type { MadeMessage } from './message.ts';
import { logWith } from './message-log.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };
const SELF = { ...NODE, nodeLabels: {} };

const first = (record: LogRecord): LogRecord => ({ ...record, offset: 0n });
const logOf = (record: LogRecord) => logWith(first(record));

/** What a service or node makes of a record of `gc.policies`, that has seen what stood there before. */
export const policySourceReader = ({ trust }: Signatories): ReadMessage => {
  return ({ record, claim }) => {
    const seen = new SeenGenerations();
    seen.saw('policies', new Map([[record.key ?? '', SEEN_GENERATION]]));
    const reading = createPolicyReading(trust, seen);
    reading.add(record);
    const knowledge = createPolicyKnowledge({ logger: SILENT, seen }, () => undefined);
    knowledge.begin();
    knowledge.adopt(reading);
    const { kind } = reading.entries.get(record.key ?? '') ?? { kind: 'deletion' };
    if (kind === 'unreadable-approval') return judgedUnapproved(knowledge);
    return kind === 'unreadable' ? judgedHold(knowledge) : judgedRecord({ record, claim }, knowledge);
  };
};

function judgedRecord({ record, claim }: MadeMessage, knowledge: PolicyKnowledge): Outcome {
  if (isToBeRefused(claim, 'policies')) return effect(`a record that is ${claim} is in force`);
  const { node, cluster } = knowledge.sets();
  const policies = [...node.policies, ...cluster.policies];
  const keys = [...policies.map(policyKey), ...cluster.approvals.map(approvalKey)];
  return keys.every((key) => key === record.key)
    ? PASSED
    : effect('a policy is in force under the name of another');
}

/** An approval that cannot be read approves nothing, and holds nothing. */
function judgedUnapproved(knowledge: PolicyKnowledge): Outcome {
  if (knowledge.sets().cluster.approvals.length > 0) return effect('what cannot be read approves something');
  return knowledge.problem() === null ? REFUSED : effect('an approval that cannot be read holds');
}

/** What cannot be read holds, and sets nothing into force. */
const judgedHold = (knowledge: PolicyKnowledge): Outcome =>
  isInForce(knowledge) ? effect('a policy that cannot be read is in force') : REFUSED;

const isInForce = (knowledge: PolicyKnowledge): boolean =>
  knowledge.problem() === null && selectPolicy(knowledge.sets().node, SELF).kind === 'policy';

/** What `fleetgc policy list` shows, and the deciders of a fleet without signatures. */
export const storedPoliciesReader = (): ReadMessage => async (message) => {
  const stored = await readStoredPolicies(logOf(message.record), NEVER);
  return stored.unreadable.length === 0 ? PASSED : REFUSED;
};

/** Which generation whoever writes a policy takes for the highest that the fleet has seen. */
export const policyWriterReader = ({ ring }: Signatories): ReadMessage => {
  return async ({ record, claim }) => {
    const highest = await highestGenerations(logWith(record), ring, NEVER);
    if (highest.size > 0 && hasNoGeneration(claim))
      return effect(`what is ${claim} says what generation comes next`);
    if ([...highest.values()].some((generation) => generation > SEEN_GENERATION + 1))
      return effect('a generation is higher than any that was signed');
    // Of a policy that stands, only its key is looked at.
    return REFUSED;
  };
};

/** What `fleetgc policy sign` offers to sign: what stands there and does not count. */
export const unsignedStatesReader = ({ trust }: Signatories): ReadMessage => {
  const counts = (record: LogRecord): boolean => trust.authenticate('policies', record).ok;
  return async ({ record }) => {
    const [state] = await unsignedStates(logWith(record), counts, NEVER);
    if (state === undefined) return REFUSED;
    return counts(record) ? effect('a record that counts is to be signed again') : PASSED;
  };
};

/** Of approvals, and of policies for clusters, a report about nodes tells nothing. */
const isOfClustersAlone = (key: string): boolean =>
  isApprovalKey(key) || key.startsWith(keyOfPolicyNamed('cluster', ''));

/** What a report says of policies over time. */
export const policyEvidenceReader =
  (): ReadMessage =>
  async ({ record }) => {
    const evidence = await evidenceOfRecords(logWith(record), { subject: 'node', range: ALL }, NEVER);
    const told = evidence.policies.size + evidence.pauses.size;
    if (told + evidence.unreadable === 0 && isOfClustersAlone(record.key ?? '')) return REFUSED;
    if (told + evidence.unreadable !== 1) return effect('a record is told twice, or not at all');
    return told === 1 ? PASSED : REFUSED;
  };

/** What every process makes of a record of `gc.keys`. */
export const keyRingReader = ({ roots, root }: Signatories): ReadMessage => {
  return ({ record, claim }) => {
    const ring = new KeyRing(roots);
    if (ring.add(record).kind === 'refused')
      return isUntouched(ring, root) ? REFUSED : effect('a statement was refused, and changed something');
    if (claim === 'older') return holdsAgain(record, { roots, root }) ?? PASSED;
    return isToBeRefused(claim, 'keys') ? effect(`a statement that is ${claim} counts`) : PASSED;
  };
};

const isUntouched = (ring: KeyRing, root: Signatories['root']): boolean =>
  ring.keys().length === 0 && ring.generations.size === 0 && ring.isRoot(root.keyId);

/** A statement with a lower generation than one before it is a statement, and must not hold. */
function holdsAgain(record: LogRecord, { roots, root }: Pick<Signatories, 'roots' | 'root'>): Outcome | null {
  const parsed = parseRecord('keys', record);
  if (!parsed.ok || parsed.event.type !== 'fleetgc.key-certificate') return null;
  const ring = new KeyRing(roots);
  const { publicKey, keyId } = parsed.event;
  ring.add(stated(root, certificate({ ...STANDING, publicKey }), { generation: SEEN_GENERATION }));
  ring.add(record);
  return ring.find(keyId)?.name === STANDING.name ? null : effect('a statement that was put back holds');
}

const STANDING = {
  role: 'decider',
  clusters: [],
  name: 'stands there before',
  issuedAtMs: SIGNED_AT_MS,
  notAfterMs: TAKEN_AT_MS,
} as const;

/** Every policy and set of policies that was ever in force, as an audit has it. */
export const policyHistoryReader = (): ReadMessage => async (message) => {
  const { record } = message;
  const history = await readPolicyHistory(logOf(record), NEVER);
  const hash = record.key ?? '';
  const sets = SubjectKind.options.map((kind) => history.policySetOf(kind, hash));
  history.whyUnknown(hash);
  if (sets.some((set) => set !== null && set.hash !== hash))
    return effect('a set of policies has another hash than it is known by');
  return history.problems.length === 0 ? PASSED : REFUSED;
};

/** The generations that a process learns when it starts, which has seen nothing itself. */
export const seenVersionsReader = ({ trust }: Signatories): ReadMessage => {
  return async ({ record, claim }) => {
    const refused: string[] = [];
    const onRefused = (_record: LogRecord, why: string): void => void refused.push(why);
    const learnt = await believedGenerations(logOf(record), { trust, onRefused }, NEVER);
    if (learnt.size > 0 && claim !== 'older' && isToBeRefused(claim, 'policyVersions'))
      return effect(`a version that is ${claim} raises a generation`);
    const stands = parseRecord('policyVersions', record);
    const wrong = [...learnt.keys()].find((key) => !stands.ok || keyIn(stands.event) !== key);
    if (wrong !== undefined) return effect('a version raises the generation of something else');
    if ([...learnt.values()].some((generation) => generation > SEEN_GENERATION + 1))
      return effect('a version raises a generation above what was signed');
    return learnt.size > 0 ? PASSED : REFUSED;
  };
};

function keyIn(event: EventOf<'policyVersions'>): string | null {
  switch (event.type) {
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return policyKey(event);
    case 'fleetgc.policy-deletion':
      return event.key;
    case 'fleetgc.pause':
      return pauseKey(event.selector);
    case 'fleetgc.approval':
      return approvalKey(event);
    default:
      return null;
  }
}

/** Facts about nodes and clusters may go back, and nothing else. */
const GOES_BACK: readonly TopicName[] = [
  TOPICS.diskStats.name,
  TOPICS.inventory.name,
  TOPICS.results.name,
  TOPICS.clusterOwnership.name,
  TOPICS.clusterPods.name,
  TOPICS.clusterExpiry.name,
  TOPICS.clusterResults.name,
  TOPICS.clusterCensus.name,
];

/** What `fleetgc dead-letters` shows, and would put back. */
export const deadLettersReader = (): ReadMessage => async (message) => {
  const { letters, unreadable } = await readStoredLetters(logOf(message.record), 'earliest', NEVER);
  const { redrives } = planRedrive(filterLetters(letters, { redriven: true }), true);
  const wrong = redrives.find(({ record }) => !GOES_BACK.includes(record.topic));
  if (wrong !== undefined) return effect(`a message of ${wrong.record.topic} goes back`);
  return unreadable === 0 ? PASSED : REFUSED;
};
