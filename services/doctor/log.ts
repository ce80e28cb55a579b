import type { OwnRights } from '../../packages/log/access/own-rights.ts';
import { partitionOf } from '../../packages/log/partition.ts';
import type { EventLog, LogReader, LogRecord, TopicDifference } from '../../packages/log/port.ts';
import {
  readPoliciesBy,
  readStoredPolicies,
  type StoredPolicies,
} from '../../packages/policy/stored-policies.ts';
import { DAY_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { keyProblems } from '../../packages/records/trust/private-key.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import { objectionToSubject } from '../../packages/records/trust/trust.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { type Checks, type Finding, type Looked, looked } from './checks.ts';
import {
  CLOCK_TOLERANCE_MS,
  type ClockFacts,
  clockFinding,
  eventLogFinding,
  type KeyFacts,
  keysFinding,
  NOT_REACHED,
  rightsFinding,
  topicsFinding,
} from './log-findings.ts';

/** The checks that are about the event log alone, for somebody with this role there. */
export const logChecks = (role: LookedAtRole) =>
  ({
    'event-log': {
      looksAt: 'whether the event log answers this login',
      look: async ({ servers, prefix }) => eventLogFinding(await servers, prefix),
    },
    topics: {
      looksAt: 'the topics and their settings',
      look: (facts) =>
        whereReached(facts, async () =>
          topicsFinding(await facts.topics, await knownRights(facts.rights), facts.prefix),
        ),
    },
    rights: {
      looksAt: 'what this login may do with topics',
      look: (facts) => whereReached(facts, async () => rightsFinding(role, await facts.rights, facts.prefix)),
    },
    clock: {
      looksAt: 'the clock of this machine',
      look: (facts) => whereReached(facts, async () => clockFinding(await facts.clock)),
    },
    keys: { looksAt: 'signatures, roots and keys', look: keys },
  }) as const satisfies Checks<string, LogFacts>;

/** Makes a check that needs the event log. */
export const whereReached = async (
  { servers }: Pick<LogFacts, 'servers'>,
  look: () => Promise<Finding>,
): Promise<Finding> => ((await servers).ok ? await look() : NOT_REACHED);

async function knownRights(rights: LogFacts['rights']) {
  const found = await rights;
  return found?.ok ? found.value : null;
}

async function keys(facts: LogFacts): Promise<Finding> {
  const trust = await facts.trust;
  if (!trust.ok || trust.value === 'off') return keysFinding(trust, null);
  return await whereReached(facts, async () => keysFinding(trust, await facts.keys));
}

/** Whose login is looked at. */
type LookedAtRole = 'node' | 'decider' | 'cluster';

/** How the event log is come by. */
interface LogAccess {
  readonly role: LookedAtRole;
  /** Of the names on the brokers; empty: none, as on one machine. */
  readonly prefix: string;
  /** Throws what is wrong with the settings, or with the file of an embedded log. */
  readonly open: () => Promise<OpenLog>;
  /** `null`: the log has no access rules. */
  readonly rights: (() => Promise<OwnRights>) | null;
  /** As the process itself reads it. Throws `CONFIG_INVALID` and `KEY_UNUSABLE`. */
  readonly trust: () => Promise<TrustChoice>;
  /** `<cluster>/<node>` of a node whose orders show its clock; `null` where nobody knows, or it is none. */
  readonly nodeKey?: string | null;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

type OpenLog = Pick<EventLog, 'servers' | 'checkTopics' | 'groups' | 'read'>;

/** What somebody sees who looks at the event log with a login. */
export interface LogFacts {
  /** Of the names on the brokers; empty: none. */
  readonly prefix: string;
  readonly servers: Promise<Looked<readonly string[]>>;
  readonly topics: Promise<Looked<readonly TopicDifference[]>>;
  /** `null`: the event log has no access rules. */
  readonly rights: Promise<Looked<OwnRights>> | null;
  readonly clock: Promise<Looked<ClockFacts>>;
  readonly trust: Promise<Looked<'off' | 'warn' | 'required'>>;
  /** `null` where no signatures are looked at. */
  readonly keys: Promise<Looked<KeyFacts> | null>;
}

/** Looks further at the log that is looked at. */
type LookFurther = <T>(look: (log: OpenLog) => Promise<T>) => Promise<Looked<T>>;

interface LookingAtLog {
  readonly facts: LogFacts;
  readonly further: LookFurther;
  readonly policies: () => Promise<Looked<JudgedPolicies>>;
}

/** Begins to look at the event log; writes nothing there. */
export function lookAtLog(access: LogAccess): LookingAtLog {
  const opened = looked(access.open);
  const further: LookFurther = (look) => looked(async () => await look(requireSeen(await opened)));
  const choice = looked(access.trust);
  return {
    facts: {
      prefix: access.prefix,
      servers: further((log) => log.servers()),
      topics: further((log) => log.checkTopics()),
      rights: access.rights && looked(access.rights),
      clock: further((log) => clockFacts(log, access)),
      trust: choice.then((found) => (found.ok ? { ok: true, value: found.value.kind } : found)),
      keys: choice.then((found) =>
        found.ok && found.value.kind !== 'off' ? further(keyFacts(found.value, access)) : null,
      ),
    },
    further,
    policies: () => further(async (log) => await policiesOf(log, await choice, access)),
  };
}

function requireSeen<T>(found: Looked<T>): T {
  if (found.ok) return found.value;
  throw found.error;
}

/** Those that each reads, and on which something comes at any time. */
const CLOCK_TOPICS = {
  node: [TOPICS.observe.name, TOPICS.commands.name, TOPICS.policies.name, TOPICS.keys.name],
  decider: [TOPICS.diskStats.name, TOPICS.results.name, TOPICS.policies.name, TOPICS.keys.name],
  cluster: [
    TOPICS.clusterOwnership.name,
    TOPICS.clusterCommands.name,
    TOPICS.clusterResults.name,
    TOPICS.policies.name,
    TOPICS.keys.name,
  ],
} as const satisfies Record<LookedAtRole, readonly TopicName[]>;
const YOUNG_MS = 10 * MINUTE_MS;

/** A record that is far ahead of this clock, else one that is young by it. */
async function clockFacts(
  log: OpenLog,
  { role, nowMs, signal, nodeKey = null }: LogAccess,
): Promise<ClockFacts> {
  const now = nowMs();
  const asked = nodeKey === null ? null : { key: nodeKey, nowMs: now, signal };
  const aheadMs = asked && (await unlessSaidElsewhere(() => aheadByOrders(log, asked)));
  for (const fromMs of [now + CLOCK_TOLERANCE_MS, now - YOUNG_MS]) {
    const times = await Promise.all(
      CLOCK_TOPICS[role].map((topic) => firstSince(log, { topic, fromMs, signal })),
    );
    const newestMs = Math.max(...times.flatMap((time) => time ?? []));
    if (Number.isFinite(newestMs)) return { nowMs: now, newestMs, aheadMs };
  }
  return { nowMs: now, newestMs: null, aheadMs };
}

interface Since {
  readonly topic: TopicName;
  readonly fromMs: number;
  readonly signal: AbortSignal;
}

/** When the log took the first record since then, where there is one, and this login may read it. */
const firstSince = (log: OpenLog, { topic, fromMs, signal }: Since): Promise<number | null> =>
  unlessSaidElsewhere(async () => {
    for await (const event of log.read({ topic, from: { timestampMs: fromMs }, to: 'end' }, signal))
      if (event.kind === 'record') return event.record.timestampMs;
    return null;
  });

async function unlessSaidElsewhere(look: () => Promise<number | null>): Promise<number | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof FleetGcError && SAID_ELSEWHERE.has(error.code)) return null;
    throw error;
  }
}

const SAID_ELSEWHERE: ReadonlySet<string> = new Set(['LOG_UNAUTHORIZED', 'TOPICS_MISSING', 'TOPICS_DIFFER']);

/** @limit Remaining life of a key below which `doctor` warns. */
const SOON_MS = 14 * DAY_MS;

const keyFacts =
  ({ roots, signing }: Exclude<TrustChoice, { kind: 'off' }>, { nowMs, signal }: LogAccess) =>
  async (log: OpenLog): Promise<KeyFacts> => {
    const stored = await readKeys(log, roots, signal);
    const own = signing && { key: signing.key, role: signing.role };
    const problems = keyProblems(stored, { own, nowMs: nowMs(), soonMs: SOON_MS });
    const certified = signing && stored.ring.find(signing.key.keyId);
    const { topic, recordKey } = signing?.subject ?? {};
    const objection =
      certified && topic !== undefined ? objectionToSubject(topic, certified, recordKey ?? null) : null;
    return {
      problems: [
        ...problems,
        ...(objection === null ? [] : [`${signing?.key.keyId} ${objection}, not for ${recordKey}`]),
      ],
      keys: stored.ring.keys().length,
    };
  };

export interface JudgedPolicies {
  readonly stored: StoredPolicies;
  readonly areSignaturesMissing: boolean;
}

/** A node may not read what was seen before it began, which it keeps itself: then signatures are not looked at here. */
async function policiesOf(
  log: OpenLog,
  trust: Looked<TrustChoice>,
  { signal }: LogAccess,
): Promise<JudgedPolicies> {
  const roots = rootsOf(trust);
  try {
    return { stored: await readPoliciesBy(roots, log, signal), areSignaturesMissing: false };
  } catch (error) {
    if (roots === null || !(error instanceof FleetGcError) || error.code !== 'LOG_UNAUTHORIZED') throw error;
    return { stored: await readStoredPolicies(log, signal), areSignaturesMissing: true };
  }
}

const rootsOf = (trust: Looked<TrustChoice>): TrustRoots | null =>
  trust.ok && trust.value.kind === 'required' ? trust.value.roots : null;

/** By the clock that may be wrong: one that is ahead by more finds no order, and nobody knows. */
const LOOK_BACK_MS = 3 * DAY_MS;
/** Orders to neighbours lie between those to the node. */
const MOST_RECORDS = 20_000;

const ORDERS = ['observe', 'commands'] as const;
type OrderTopic = (typeof ORDERS)[number];

interface Asked {
  /** `<cluster>/<node>`. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/**
 * How far this node's clock was ahead of the log's, in milliseconds, as the newest order to it shows: nothing is ordered before the node
 * told of what it is about. Of a clock that is right it is below 0. `null`: no order of the last three days was found.
 */
export async function aheadByOrders(log: LogReader, asked: Asked): Promise<number | null> {
  let newest: { readonly atMs: number; readonly aheadMs: number } | null = null;
  for (const topic of ORDERS)
    for await (const record of ordersTo(log, topic, asked)) {
      const parsed = parseRecord(topic, record);
      const atMs = record.timestampMs;
      if (parsed.ok && atMs >= (newest?.atMs ?? 0))
        newest = { atMs, aheadMs: parsed.event.takenAt.wallTimeMs - atMs };
    }
  return newest?.aheadMs ?? null;
}

async function* ordersTo(
  log: LogReader,
  topic: OrderTopic,
  { key, nowMs, signal }: Asked,
): AsyncGenerator<LogRecord> {
  const { name } = TOPICS[topic];
  const from = { timestampMs: nowMs - LOOK_BACK_MS };
  let records = 0;
  for await (const event of log.read(
    { topic: name, partition: partitionOf(name, key), from, to: 'end' },
    signal,
  )) {
    records += 1;
    if (records > MOST_RECORDS) return;
    if (event.kind === 'record' && event.record.key === key) yield event.record;
  }
}
