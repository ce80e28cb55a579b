import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { RequiredTrust, SIGNED_TOPICS } from '../../../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../../schemas/keys/key-statement.ts';
import { certified, FLEET, newKey, revoked, rootsOf, SIGNED_AT_MS } from '../../../../test/fixtures/trust.ts';

/** What a message may claim about who wrote it; all but the first is to have no effect where signatures are required. */
export const CLAIMS = [
  'good',
  'unsigned',
  'malformed',
  'expired',
  'revoked',
  'stranger',
  'other-role',
  'other-kind',
  'other-cluster',
  'other-node',
  'other-fleet',
  'other-topic',
  'other-key',
  'other-value',
  'no-generation',
  'older',
  'of-the-future',
] as const;
export type Claim = (typeof CLAIMS)[number];

interface Roles {
  readonly may: KeyRole;
  /** May sign nothing on the topic. */
  readonly other: KeyRole;
}

/** Which role may sign what. The product has this table too: the two are to agree, so it is not taken from there. */
const ROLES: Readonly<Record<TopicId, Roles | null>> = {
  diskStats: { may: 'node', other: 'decider' },
  inventory: { may: 'node', other: 'decider' },
  observe: { may: 'decider', other: 'operator' },
  commands: { may: 'decider', other: 'node' },
  results: { may: 'node', other: 'decider' },
  decisions: null,
  clusterOwnership: { may: 'cluster', other: 'node' },
  clusterPods: { may: 'cluster', other: 'node' },
  clusterExpiry: { may: 'cluster', other: 'node' },
  clusterCommands: { may: 'decider', other: 'cluster' },
  clusterRemoved: { may: 'cluster', other: 'node' },
  clusterResults: { may: 'cluster', other: 'decider' },
  clusterDecisions: null,
  clusterCensus: { may: 'cluster', other: 'node' },
  policies: { may: 'operator', other: 'decider' },
  policyVersions: { may: 'operator', other: 'node' },
  keys: { may: 'root', other: 'operator' },
  heads: { may: 'decider', other: 'operator' },
  latestFacts: { may: 'node', other: 'decider' },
  deadLetters: null,
};

/** Orders are of this moment; what stays in force has a generation. */
const ORDERS: readonly TopicId[] = ['observe', 'commands', 'clusterCommands'];
const FACTS: readonly TopicId[] = [
  'diskStats',
  'inventory',
  'results',
  'clusterOwnership',
  'clusterExpiry',
  'clusterPods',
  'clusterRemoved',
  'clusterResults',
  'clusterCensus',
  'latestFacts',
];
const WITH_GENERATIONS: readonly TopicId[] = ['policies', 'policyVersions', 'keys'];
/** Their keys name a cluster, or a node and so a cluster. */
const OF_A_CLUSTER: readonly TopicId[] = [...ORDERS, ...FACTS];
/** Several roles sign them, each its own kind of messages. */
const OF_SEVERAL_ROLES: readonly TopicId[] = ['policyVersions', 'heads', 'latestFacts'];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** When the log takes each message, and when it is read. */
export const TAKEN_AT_MS = SIGNED_AT_MS + 2 * HOUR_MS;
const TAKEN_BACK_LATER = {
  untrustedFromMs: TAKEN_AT_MS + HOUR_MS,
  timestampMs: TAKEN_AT_MS + HOUR_MS,
};
/** What was seen of each record key before. */
export const SEEN_GENERATION = SIGNED_AT_MS;

/** Of the nodes that inputs begin with. */
const CLUSTERS = ['prod'];

const isTopicId = (id: string): id is TopicId => id in TOPICS;
const TOPIC_IDS = Object.keys(TOPICS).filter(isTopicId);

const isOrder = (topic: TopicId): boolean => ORDERS.includes(topic);
/** Topics on which the revoked key signed before it was taken back. */
export const SIGNED_BEFORE: readonly TopicId[] = ORDERS;

/** Whether this claim is one that means anything on the topic: else it is to be believed as the good one is. */
function applies(claim: Claim, topic: TopicId): boolean {
  if (ROLES[topic] === null) return false;
  switch (claim) {
    case 'no-generation':
    case 'of-the-future':
    case 'older':
      return WITH_GENERATIONS.includes(topic);
    case 'other-cluster':
      return OF_A_CLUSTER.includes(topic);
    case 'other-node':
      return FACTS.includes(topic);
    case 'other-kind':
      return OF_SEVERAL_ROLES.includes(topic);
    case 'expired':
    case 'revoked':
      // Whom a root's key signs for is told by its certificate, as that of others.
      return topic !== 'keys';
    default:
      return claim !== 'good';
  }
}

/** Whether nothing may follow from a message that claims this. */
export const isToBeRefused = (claim: Claim, topic: TopicId): boolean => applies(claim, topic);

/** What of a refused message is seen only by whoever knows what else is there, or what the message says. */
export const isToBeRefusedUnread = (claim: Claim, topic: TopicId): boolean => {
  if (claim === 'older' || claim === 'other-kind') return false;
  // A set of policies that was in force has no generation, and needs none.
  return !(claim === 'no-generation' && topic === 'policyVersions') && isToBeRefused(claim, topic);
};

/** Whether no key of the fleet stands behind the generation that this claims, be it good or not. */
export const hasNoGeneration = (claim: Claim): boolean => NO_GENERATION.includes(claim);
const NO_GENERATION: readonly Claim[] = [
  'unsigned',
  'malformed',
  'stranger',
  'other-fleet',
  'other-topic',
  'other-key',
  'other-value',
  'no-generation',
  'of-the-future',
];

type Signatory = {
  readonly [Kind in 'may' | 'other' | 'expired' | 'revoked' | 'elsewhere' | 'otherNode']: SigningKey;
};

/** A fleet with keys of all kinds. */
export class Signatories {
  readonly root = newKey();
  readonly roots = rootsOf(this.root);
  readonly ring: KeyRing;
  /** As they lie on `gc.keys`. */
  readonly statements: readonly LogRecord[];
  readonly trust: RequiredTrust;
  readonly #stranger = newKey();
  readonly #byTopic: ReadonlyMap<TopicId, Signatory>;
  readonly #archiver: SigningKey;
  readonly #decider: SigningKey;

  constructor() {
    const ring = new KeyRing(this.roots);
    const statements: LogRecord[] = [];
    const add = (record: LogRecord): void => {
      statements.push({ ...record, offset: BigInt(statements.length) });
      const added = ring.add(record);
      if (added.kind === 'refused') throw new Error(added.why);
    };
    const certify = (role: KeyRole, over: Parameters<typeof certified>[2] = {}): SigningKey => {
      const key = newKey();
      add(certified(this.root, key, { role, ...over }));
      return key;
    };
    const signatory = (topic: TopicId, roles: Roles): Signatory => {
      const lost = certify(roles.may);
      // Orders of a revoked key count no more in any case, whenever the log took them and whenever it took the revocation.
      add(revoked(this.root, lost, isOrder(topic) ? TAKEN_BACK_LATER : {}));
      return {
        may: roles.may === 'root' ? this.root : certify(roles.may),
        other: certify(roles.other),
        expired: certify(roles.may, { notAfterMs: TAKEN_AT_MS - HOUR_MS }),
        revoked: lost,
        // In none of the record keys that inputs have.
        elsewhere: certify(roles.may, { clusters: ['far-away'] }),
        otherNode:
          roles.may === 'node' ? certify('node', { clusters: CLUSTERS, nodes: ['another'] }) : this.#stranger,
      };
    };
    this.#byTopic = new Map(
      TOPIC_IDS.flatMap((topic) => {
        const roles = ROLES[topic];
        return roles === null ? [] : [[topic, signatory(topic, roles)] as const];
      }),
    );
    this.#archiver = certify('archiver');
    this.#decider = certify('decider');
    this.ring = ring;
    this.statements = statements;
    this.trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => TAKEN_AT_MS });
  }

  /** The record as somebody would write it who claims this. */
  sign(topic: TopicId, record: OutgoingRecord, claim: Claim): OutgoingRecord {
    const signatory = this.#byTopic.get(topic);
    if (signatory === undefined || claim === 'unsigned') return record;
    const key = this.#keyFor(claim, signatory, record);
    const fleet = claim === 'other-fleet' ? 'staging' : FLEET;
    const signed = signRecord(signedInstead(record, claim), {
      fleet,
      key,
      generation: generationFor(claim, topic),
    });
    const { ce_fleetgcsignature: signature = '', ...headers } = signed.headers;
    const written = claim === 'malformed' ? signature.slice(1) : signature;
    return { ...record, headers: { ...headers, ce_fleetgcsignature: written } };
  }

  #keyFor(claim: Claim, signatory: Signatory, record: OutgoingRecord): SigningKey {
    switch (claim) {
      case 'expired':
        return signatory.expired;
      case 'revoked':
        return signatory.revoked;
      case 'stranger':
        return this.#stranger;
      case 'other-role':
        return signatory.other;
      case 'other-cluster':
        return signatory.elsewhere;
      case 'other-node':
        return signatory.otherNode;
      case 'other-kind':
        return isArchiveHead(record) ? signatory.may : this.#ofOtherKind(record);
      default:
        return isArchiveHead(record) ? this.#archiver : signatory.may;
    }
  }

  #ofOtherKind({ topic }: OutgoingRecord): SigningKey {
    return topic === TOPICS.heads.name ? this.#archiver : this.#decider;
  }
}

/** An archiver signs these alone, of the heads. */
const isArchiveHead = ({ headers }: OutgoingRecord): boolean =>
  headers.ce_type?.startsWith('fleetgc.archive-head.') === true;

/** What the signature is over, where it is over something else than the message. */
function signedInstead(record: OutgoingRecord, claim: Claim): OutgoingRecord {
  switch (claim) {
    case 'other-topic':
      return { ...record, topic: record.topic === 'gc.policies' ? 'gc.keys' : 'gc.policies' };
    case 'other-key':
      return { ...record, key: `${record.key} ` };
    case 'other-value':
      return { ...record, value: Buffer.concat([record.value ?? Buffer.alloc(0), Buffer.from(' ')]) };
    default:
      return record;
  }
}

function generationFor(claim: Claim, topic: TopicId): number | null {
  if (!WITH_GENERATIONS.includes(topic) || claim === 'no-generation') return null;
  if (claim === 'older') return SEEN_GENERATION - 1;
  return claim === 'of-the-future' ? TAKEN_AT_MS + DAY_MS + 1 : SEEN_GENERATION + 1;
}

/** The two tables of who signs what are to agree. */
export function requireAgreement(topic: TopicId): void {
  if (SIGNED_TOPICS.includes(TOPICS[topic].name) !== (ROLES[topic] !== null))
    throw new Error(`whether messages of ${topic} need a signature is not as it is written here`);
}
