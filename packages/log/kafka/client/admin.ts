import type { AclEntry } from 'kafkajs';
import kafkajs from 'kafkajs';
import type { AccessRule, Operation, Resource } from '../../access/access-rules.ts';
import type { EventLogContext } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { openClient } from './client.ts';
import { unanswered } from './errors.ts';
import { logicalName, ownName, type Prefixed, physicalName, toPhysical } from './names.ts';
import type { KafkaOptions } from './options.ts';
import { timeLimits } from './time-limits.ts';
import { watchAnswers } from './watchdog.ts';

const END_MS = 1000;
const NEVER = new AbortController().signal;

/** By this number Kafka knows the settings of topics from those of brokers. */
export const TOPIC_RESOURCE: number = kafkajs.ConfigResourceTypes.TOPIC;

/** What is used of kafkajs's administrator, by the names of topics and groups that the rest of FleetGC knows. */
export interface Admin extends KafkajsAdmin {
  /** Whether any group ever joined on these brokers. */
  hadGroups(): Promise<boolean>;
}

export interface KafkajsAdmin extends AccessAdmin {
  /** Addresses are of the brokers that are there. */
  describeCluster(): Promise<{
    readonly brokers: readonly { readonly host: string; readonly port: number }[];
  }>;
  listTopics(): Promise<readonly string[]>;
  fetchTopicMetadata(of: { readonly topics: string[] }): Promise<{
    readonly topics: readonly {
      readonly name: string;
      /** The leader is -1 while there is none; replicas are the ids of the brokers that are to have a copy. */
      readonly partitions: readonly { readonly leader: number; readonly replicas: readonly number[] }[];
    }[];
  }>;
  createTopics(request: {
    readonly waitForLeaders: boolean;
    readonly timeout: number;
    readonly topics: {
      readonly topic: string;
      readonly numPartitions: number;
      readonly replicationFactor: number;
      readonly configEntries: { readonly name: string; readonly value: string }[];
    }[];
  }): Promise<boolean>;
  describeConfigs(request: {
    readonly includeSynonyms: boolean;
    readonly resources: { readonly type: number; readonly name: string }[];
  }): Promise<{
    readonly resources: readonly {
      readonly resourceName: string;
      readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
    }[];
  }>;
  describeGroups(groupIds: string[]): Promise<{
    readonly groups: readonly { readonly groupId: string; readonly members: readonly unknown[] }[];
  }>;
  /** The offset is -1 where nothing was committed. */
  fetchOffsets(of: { readonly groupId: string }): Promise<
    readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
    }[]
  >;
  fetchTopicOffsets(
    topic: string,
  ): Promise<readonly { readonly partition: number; readonly low: string; readonly high: string }[]>;
}

/** Settles as what it is given, or rejects when brokers are silent for too long. */
type InTime = <T>(asked: Promise<T>) => Promise<T>;

export type AdminWork<T> = (admin: Admin, inTime: InTime) => Promise<T>;

/** Runs `work` with an administrator's connection of its own. Throws `LOG_UNREACHABLE` when no broker is reached in time. */
export async function withAdmin<T>(
  options: KafkaOptions,
  context: EventLogContext,
  work: AdminWork<T>,
): Promise<T> {
  const { silenceMs } = timeLimits(options);
  using watchdog = watchAnswers(silenceMs, () => unanswered(options.brokers, silenceMs));
  const inTime: InTime = (asked) => watchdog.waitFor(asked, NEVER);
  // Creating many topics may take a broker longer than somebody waits for an answer.
  const client = openClient({ ...options, waits: 'long' }, context);
  const admin = client.kafka.admin();
  const named = namedAdmin(admin, options);
  try {
    await inTime(admin.connect());
    watchdog.answered();
    return await work(named, inTime);
  } finally {
    await waitAtMost(admin.disconnect(), END_MS);
    client.cutConnections();
  }
}

/** Where the brokers keep what groups committed; they make it when the first group comes. */
const OFFSETS_TOPIC = '__consumer_offsets';

/** The administrator of kafkajs, by the names without the prefix. Topics of others are not listed; access rules name what they are given. */
const namedAdmin = (admin: KafkajsAdmin, names: Prefixed): Admin => ({
  hadGroups: async () => (await admin.listTopics()).includes(OFFSETS_TOPIC),
  describeCluster: () => admin.describeCluster(),
  listTopics: async () => (await admin.listTopics()).flatMap((name) => logicalName(names, name) ?? []),
  fetchTopicMetadata: async ({ topics }) => {
    const found = await admin.fetchTopicMetadata({ topics: topics.map((name) => physicalName(names, name)) });
    return { topics: found.topics.map((one) => ({ ...one, name: ownName(names, one.name) })) };
  },
  createTopics: (request) => admin.createTopics({ ...request, topics: toPhysical(names, request.topics) }),
  describeConfigs: async ({ resources, ...request }) => {
    const found = await admin.describeConfigs({
      ...request,
      resources: resources.map((one) => ({ ...one, name: physicalName(names, one.name) })),
    });
    return {
      resources: found.resources.map((one) => ({ ...one, resourceName: ownName(names, one.resourceName) })),
    };
  },
  describeGroups: async (groupIds) => {
    const found = await admin.describeGroups(groupIds.map((name) => physicalName(names, name)));
    return { groups: found.groups.map((one) => ({ ...one, groupId: ownName(names, one.groupId) })) };
  },
  fetchOffsets: async ({ groupId }) =>
    (await admin.fetchOffsets({ groupId: physicalName(names, groupId) })).flatMap((one) => {
      const topic = logicalName(names, one.topic);
      return topic === null ? [] : [{ ...one, topic }];
    }),
  fetchTopicOffsets: (topic) => admin.fetchTopicOffsets(physicalName(names, topic)),
  describeAcls: (filter) => admin.describeAcls(filter),
  createAcls: (request) => admin.createAcls(request),
});

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

/** What is asked of kafkajs's administrator. */
interface AccessAdmin {
  describeAcls(filter: typeof ALL_RULES): Promise<{
    readonly resources: readonly (Pick<AclEntry, 'resourceType' | 'resourceName' | 'resourcePatternType'> & {
      readonly acls: readonly Pick<AclEntry, 'principal' | 'host' | 'operation' | 'permissionType'>[];
    })[];
  }>;
  createAcls(request: { readonly acl: AclEntry[] }): Promise<boolean>;
}

const ALL_RULES = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
};

const OPERATIONS: Readonly<Record<Operation, AclEntry['operation']>> = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Create: AclOperationTypes.CREATE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
};

const RESOURCES: Readonly<Record<Resource['type'], AclEntry['resourceType']>> = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
};

const PATTERNS: Readonly<Record<Resource['pattern'], AclEntry['resourcePatternType']>> = {
  literal: ResourcePatternTypes.LITERAL,
  prefixed: ResourcePatternTypes.PREFIXED,
};

/** From every host: where a login may come from is a matter of the network. */
const ANY_HOST = '*';

const toEntry = ({ principal, resource, operation }: AccessRule): AclEntry => ({
  principal,
  host: ANY_HOST,
  operation: OPERATIONS[operation],
  permissionType: AclPermissionTypes.ALLOW,
  resourceType: RESOURCES[resource.type],
  resourceName: resource.name,
  resourcePatternType: PATTERNS[resource.pattern],
});

const entryKey = (entry: AclEntry): string =>
  JSON.stringify([
    entry.principal,
    entry.host,
    entry.operation,
    entry.permissionType,
    entry.resourceType,
    entry.resourceName,
    entry.resourcePatternType,
  ]);

/** Rules that the brokers have not, word for word, and how many others they have for the same principals. */
interface MissingRules {
  readonly missing: readonly AccessRule[];
  readonly others: number;
}

export async function findMissingRules(
  admin: Pick<AccessAdmin, 'describeAcls'>,
  wanted: readonly AccessRule[],
): Promise<MissingRules> {
  const { resources } = await admin.describeAcls(ALL_RULES);
  const found = resources.flatMap(({ acls, ...resource }) => acls.map((acl) => ({ ...resource, ...acl })));
  const principals = new Set(wanted.map(({ principal }) => principal));
  const own = new Set(
    found.filter(({ principal }) => principals.has(principal)).map((entry) => entryKey(entry)),
  );
  const missing = wanted.filter((rule) => !own.has(entryKey(toEntry(rule))));
  return { missing, others: own.size - (wanted.length - missing.length) };
}

/** Adds rules and changes no other. Those that are there already stay as they are. */
export async function addRules(
  admin: Pick<AccessAdmin, 'createAcls'>,
  rules: readonly AccessRule[],
): Promise<void> {
  if (rules.length > 0) await admin.createAcls({ acl: rules.map(toEntry) });
}
