import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Operation, ROLES, type Role, rightsOf } from '../../packages/log/access/access-rules.ts';
import { eventTypesOf } from '../../schemas/asyncapi/document.ts';
import { TOPICS, type TopicSpec } from '../../schemas/events/topics.ts';
import { DECIDERS, EVERY_CONSUMER, type PartyId, READERS_OF_ALL } from '../../schemas/exchange/parties.ts';
import { EXCHANGE, TOPIC_IDS } from '../../schemas/exchange/topics.ts';
import { generateJsonSchemas, schemaFileOf } from '../../schemas/generate.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from '../docs/markdown.ts';

/** With which login each party comes to the brokers. */
const ROLE: Readonly<Record<PartyId, Role>> = {
  'node-agent': 'node',
  'node-executor': 'node',
  'cluster-agent': 'cluster',
  'cluster-executor': 'cluster',
  pressure: 'decider',
  'container-gc': 'decider',
  'image-gc': 'decider',
  'graph-gc': 'decider',
  'pod-gc': 'decider',
  'expiry-gc': 'decider',
  operator: 'operator',
  dashboard: 'dashboard',
  'policy-controller': 'policy-controller',
  archiver: 'archiver',
  reader: 'reader',
  notifier: 'notifier',
};
const rolesOf = (parties: readonly PartyId[]): readonly Role[] => {
  const roles = new Set(parties.map((party) => ROLE[party]));
  return ROLES.filter((role) => roles.has(role));
};

const mayDo = (operation: Operation, topic: string): readonly Role[] =>
  ROLES.filter((role) =>
    rightsOf(role).some((right) => right.resource.name === topic && right.operation === operation),
  );

/** People write facts only to put dead letters back, as whoever sent them first. */
const withoutRedrive = (roles: readonly Role[]): readonly Role[] =>
  roles.filter((role) => role !== 'operator' && role !== 'dashboard');

describe.each(TOPIC_IDS)('%s', (id) => {
  const { name }: TopicSpec = TOPICS[id];
  const { sent, readBy, kind } = EXCHANGE[id];
  const senders = Object.values(sent).flatMap(({ by }) => by);

  test('the table of who sends what has every event of the topic, and no other', () => {
    expect(Object.keys(sent).toSorted()).toEqual(eventTypesOf(id).toSorted());
  });

  test('whoever sends or reads may do so at the brokers, and nobody else may', () => {
    const arePeople = senders.includes('operator') || senders.includes('dashboard');
    const writers = mayDo('Write', name);
    expect(rolesOf(senders)).toEqual(arePeople ? writers : withoutRedrive(writers));
    expect(rolesOf([...readBy, ...READERS_OF_ALL])).toEqual(mayDo('Read', name));
  });

  test('the pages call it what the table calls it', () => {
    const rows = ['docs/reference/events.md', 'docs/how-it-works/architecture.md'].map((page) =>
      tableRows(textOf(page), 'topic').find(([topic]) => topic === name),
    );
    expect(rows.map((row) => row?.[1]?.replace(' (compacted)', ''))).toEqual([kind, kind]);
  });
});

const SERVICES: Readonly<Record<string, readonly PartyId[]>> = {
  'every consumer': EVERY_CONSUMER,
  'every decision service': DECIDERS,
};

/** A verb of people stands for the party that runs it. */
function partiesOf(writer: string): readonly (PartyId | null)[] {
  const plain = writer.replaceAll('`', '').trim();
  if (plain.startsWith('fleetgc audit archive')) return ['archiver'];
  if (plain.startsWith('fleetgc ')) return ['operator'];
  return SERVICES[plain] ?? [isParty(plain) ? plain : null];
}
const isParty = (text: string): text is PartyId => text in ROLE;

test('the page of events names the same writers', () => {
  const rows = tableRows(textOf('docs/reference/events.md'), 'event');
  for (const [link = '', , writers = ''] of rows) {
    const type = /^\[(.*)\]/.exec(link)?.[1] ?? '';
    const told = new Set(writers.split(/[,;]/).flatMap(partiesOf));
    const declared = TOPIC_IDS.flatMap((id) => EXCHANGE[id].sent[type]?.by ?? []);
    // The page of the fleet does what verbs do.
    const services = new Set(declared.filter((party) => party !== 'dashboard'));
    expect([...told].toSorted(), type).toEqual([...services].toSorted());
  }
});

const Form = z.object({ additionalProperties: z.unknown() });
const Forms = z.union([
  z.object({ oneOf: z.array(Form) }).transform(({ oneOf }) => oneOf),
  Form.transform((one) => [one]),
]);

test.each(TOPIC_IDS.filter((id) => EXCHANGE[id].kind !== 'fact').flatMap(eventTypesOf))(
  '%s, an order or state, refuses fields that are not known',
  (type) => {
    const forms = Forms.parse(JSON.parse(generateJsonSchemas().get(schemaFileOf(type)) ?? ''));
    expect(forms.map(({ additionalProperties }) => additionalProperties)).toEqual(forms.map(() => false));
  },
);
