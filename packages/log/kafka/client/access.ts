import kafkajs, { type AclEntry } from 'kafkajs';
import type { AccessRule, Operation, Resource } from '../../access/access-rules.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

/** What is asked of kafkajs's administrator. */
export interface AccessAdmin {
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
export interface MissingRules {
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
