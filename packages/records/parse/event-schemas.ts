import { z } from 'zod';
import { type Claim, claimsOf } from '../../../schemas/events/claims.ts';
import { eventType } from '../../../schemas/events/envelope.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import { firstWrong, plainIssue } from './schema-issues.ts';

export interface EventSchema<Event> {
  parse(value: unknown): z.ZodSafeParseResult<Event>;
  /** Of what may have more faults than there is memory for. */
  firstWrong(value: unknown): z.ZodError | null;
}

/** What may stand on one topic: its schemas by `<type>.v<version>`, so that a value is parsed by exactly one. */
export interface EventSchemas<Event> {
  /** Versions of a type that the topic carries, ascending; none of a type that does not belong there. */
  versionsOf(type: string): readonly number[];
  /** `undefined` when the topic carries no such type and version. */
  find(claim: Claim): EventSchema<Event> | undefined;
}

function eventSchemas<const S extends readonly z.ZodType[]>(schemas: S): EventSchemas<z.infer<S[number]>> {
  const claims = schemas.flatMap((schema) => claimsOf(schema).map((claim) => ({ claim, schema })));
  const byType = new Map<string, S[number]>(claims.map(({ claim, schema }) => [eventType(claim), schema]));
  return {
    versionsOf: (type) => {
      const versions = claims.filter(({ claim }) => claim.type === type).map(({ claim }) => claim.version);
      return [...new Set(versions)].toSorted((a, b) => a - b);
    },
    find: (claim) => {
      const schema = byType.get(eventType(claim));
      return (
        schema && {
          parse: (value) => z.safeParse(schema, value, { error: plainIssue }),
          firstWrong: (value) => firstWrong(schema, value),
        }
      );
    },
  };
}

export const EVENT_SCHEMAS: { readonly [Id in TopicId]: EventSchemas<EventOf<Id>> } = {
  diskStats: eventSchemas(TOPICS.diskStats.schemas),
  inventory: eventSchemas(TOPICS.inventory.schemas),
  observe: eventSchemas(TOPICS.observe.schemas),
  commands: eventSchemas(TOPICS.commands.schemas),
  results: eventSchemas(TOPICS.results.schemas),
  decisions: eventSchemas(TOPICS.decisions.schemas),
  clusterOwnership: eventSchemas(TOPICS.clusterOwnership.schemas),
  clusterPods: eventSchemas(TOPICS.clusterPods.schemas),
  clusterExpiry: eventSchemas(TOPICS.clusterExpiry.schemas),
  clusterCommands: eventSchemas(TOPICS.clusterCommands.schemas),
  clusterRemoved: eventSchemas(TOPICS.clusterRemoved.schemas),
  clusterResults: eventSchemas(TOPICS.clusterResults.schemas),
  clusterDecisions: eventSchemas(TOPICS.clusterDecisions.schemas),
  clusterCensus: eventSchemas(TOPICS.clusterCensus.schemas),
  policies: eventSchemas(TOPICS.policies.schemas),
  policyVersions: eventSchemas(TOPICS.policyVersions.schemas),
  keys: eventSchemas(TOPICS.keys.schemas),
  heads: eventSchemas(TOPICS.heads.schemas),
  deadLetters: eventSchemas(TOPICS.deadLetters.schemas),
};

const isTopicId = (id: string): id is TopicId => id in TOPICS;
const ID_BY_NAME: ReadonlyMap<TopicName, TopicId> = new Map(
  Object.keys(TOPICS)
    .filter(isTopicId)
    .map((id) => [TOPICS[id].name, id]),
);

/** The table's id of a topic, by its name on the log. */
export function topicIdOf(name: TopicName): TopicId {
  const id = ID_BY_NAME.get(name);
  if (id === undefined) throw new TypeError(`topic ${name} is not in the table of topics`);
  return id;
}
