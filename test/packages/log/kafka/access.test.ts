import kafkajs, { type AclEntry } from 'kafkajs';
import { expect, test } from 'vitest';
import { accessRules } from '../../../../packages/log/access/access-rules.ts';
import { addRules, findMissingRules } from '../../../../packages/log/kafka/client/admin.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const rulesOf = {
  node: ['User:n'],
  cluster: [],
  decider: [],
  operator: [],
  dashboard: [],
  'policy-controller': [],
  archiver: [],
  reader: [],
  notifier: [],
};
const wanted = accessRules(rulesOf, '');

const READ_COMMANDS: AclEntry = {
  principal: 'User:n',
  host: '*',
  operation: AclOperationTypes.READ,
  permissionType: AclPermissionTypes.ALLOW,
  resourceType: AclResourceTypes.TOPIC,
  resourceName: 'gc.node.commands',
  resourcePatternType: ResourcePatternTypes.LITERAL,
};

/** Brokers that have these rules. */
const brokers = (entries: AclEntry[]) => ({
  describeAcls: async () => ({
    resources: entries.map(({ resourceType, resourceName, resourcePatternType, ...acl }) => ({
      resourceType,
      resourceName,
      resourcePatternType,
      acls: [acl],
    })),
  }),
  createAcls: async ({ acl }: { readonly acl: AclEntry[] }) => {
    entries.push(...acl);
    return true;
  },
});

test('what is missing is added, and then nothing is missing', async () => {
  const entries = [READ_COMMANDS];
  const admin = brokers(entries);
  const { missing, others } = await findMissingRules(admin, wanted);
  expect(others).toBe(0);
  expect(missing).toEqual(wanted.filter(({ resource }) => resource.name !== 'gc.node.commands'));
  await addRules(admin, missing);
  expect(entries).toHaveLength(wanted.length);
  expect(await findMissingRules(admin, wanted)).toEqual({ missing: [], others: 0 });
  await addRules(admin, []);
  expect(entries).toHaveLength(wanted.length);
});

test.each<{ readonly name: string; readonly entry: AclEntry }>([
  { name: 'that denies', entry: { ...READ_COMMANDS, permissionType: AclPermissionTypes.DENY } },
  { name: 'for one host', entry: { ...READ_COMMANDS, host: '10.0.0.1' } },
  { name: 'by prefix', entry: { ...READ_COMMANDS, resourcePatternType: ResourcePatternTypes.PREFIXED } },
  { name: 'for another operation', entry: { ...READ_COMMANDS, operation: AclOperationTypes.DELETE } },
])('a rule $name is another one', async ({ entry }) => {
  expect(await findMissingRules(brokers([entry]), wanted)).toEqual({ missing: wanted, others: 1 });
});

test('rules for other principals are of no concern', async () => {
  const entry = { ...READ_COMMANDS, principal: 'User:somebody' };
  expect(await findMissingRules(brokers([entry]), wanted)).toEqual({ missing: wanted, others: 0 });
});
