import { claimsOf } from '../events/claims.ts';
import { eventType } from '../events/envelope.ts';
import { TOPICS, type TopicId, type TopicSpec } from '../events/topics.ts';
import { PARTIES, type PartyId, READERS_OF_ALL } from '../exchange/parties.ts';
import { EXCHANGE, TOPIC_IDS } from '../exchange/topics.ts';
import { HEADERS_FILE, schemaFileOf } from '../generate.ts';

const BINDING_VERSION = '0.5.0';
const JSON_SCHEMA = 'application/schema+json;version=draft-07';

/** As the document lies beside the schemas. */
const schemaRef = (file: string) => ({
  schemaFormat: JSON_SCHEMA,
  schema: { $ref: `./generated/${file}` },
});

export const PARTY_IDS = Object.keys(PARTIES).filter((id): id is PartyId => id in PARTIES);

/** The types of all events that may stand on a topic, in the order of the table. */
export const eventTypesOf = (id: TopicId): readonly string[] => [
  ...new Set(TOPICS[id].schemas.flatMap((schema) => claimsOf(schema)).map(eventType)),
];

/** What the record key is, for people. */
export const KEYS: Readonly<Record<TopicSpec['key'], string>> = {
  node: 'The node: <cluster>/<node>.',
  cluster: 'The name of the cluster.',
  'policy name':
    'The name of the policy; cluster/ and the name for clusters; !pause… and !approval… for what these texts say.',
  'content hash': 'The hash of what the record says.',
  'key id': 'The id of the key.',
  chain: 'The chain of the decisions, or the first line of the archive by its hash.',
  'fact and subject':
    'diskStats or clusterCensus, and the key of the subject, which alone gives the partition.',
  'original key': 'The key of the message that could not be processed.',
};

const FOREVER = -1;

const cleanupOf = ({
  compacted,
  retentionMs,
}: Pick<TopicSpec, 'compacted' | 'retentionMs'>): readonly string[] => [
  ...(compacted ? ['compact'] : []),
  ...(compacted && retentionMs === 'forever' ? [] : ['delete']),
];

function channelOf(id: TopicId): object {
  const { name, partitions, retentionMs, compacted, bounds }: TopicSpec = TOPICS[id];
  return {
    address: name,
    title: name,
    description: EXCHANGE[id].says,
    messages: Object.fromEntries(
      eventTypesOf(id).map((type) => [type, { $ref: `#/components/messages/${messageKey(id, type)}` }]),
    ),
    tags: [{ name: EXCHANGE[id].kind }],
    bindings: {
      kafka: {
        topic: name,
        partitions,
        topicConfiguration: {
          'cleanup.policy': cleanupOf({ compacted, retentionMs }),
          'retention.ms': retentionMs === 'forever' ? FOREVER : retentionMs,
          'retention.bytes': FOREVER,
          'message.timestamp.type': 'LogAppendTime',
        },
        bindingVersion: BINDING_VERSION,
      },
    },
    'x-fleetgc-largest': bounds,
  };
}

/** One event may stand on two topics, under another key and sent by others. */
const messageKey = (id: TopicId, type: string): string => `${id}.${type}`;

function messageOf(id: TopicId, type: string): object {
  return {
    name: type,
    title: type,
    summary: EXCHANGE[id].sent[type]?.says,
    contentType: 'application/json',
    headers: {
      schemaFormat: JSON_SCHEMA,
      schema: {
        allOf: [
          { $ref: `./generated/${HEADERS_FILE}` },
          { type: 'object', properties: { ce_type: { const: type } } },
        ],
      },
    },
    payload: schemaRef(schemaFileOf(type)),
    bindings: {
      kafka: { key: { type: 'string', description: KEYS[TOPICS[id].key] }, bindingVersion: BINDING_VERSION },
    },
  };
}

type Action = 'send' | 'receive';

/** What a party sends to a topic or reads there; nothing where it has no business. */
export function exchangedBy(party: PartyId, action: Action, id: TopicId): readonly string[] {
  const { sent, readBy } = EXCHANGE[id];
  const types = eventTypesOf(id);
  if (action === 'send') return types.filter((type) => sent[type]?.by.includes(party));
  const reads = READERS_OF_ALL.some((each) => each === party) || readBy.includes(party);
  return reads ? types : [];
}

function* operationsOf(id: TopicId): Iterable<readonly [string, object]> {
  for (const action of ['send', 'receive'] as const) {
    for (const party of PARTY_IDS) {
      const types = exchangedBy(party, action, id);
      if (types.length === 0) continue;
      yield [`${party}.${action}.${id}`, operationOf(party, action, id, types)];
    }
  }
}

const VERBS = { send: 'sends to', receive: 'reads' } as const;

const operationOf = (party: PartyId, action: Action, id: TopicId, types: readonly string[]): object => ({
  action,
  channel: { $ref: `#/channels/${id}` },
  summary: `${party} ${VERBS[action]} ${TOPICS[id].name}`,
  tags: [{ name: party, description: PARTIES[party] }],
  messages: types.map((type) => ({ $ref: `#/channels/${id}/messages/${type}` })),
});

/** The event log as an AsyncAPI 3.0 document, which refers to the JSON Schemas beside it. */
export const asyncApiDocument = (version: string): object => ({
  asyncapi: '3.0.0',
  info: {
    title: 'FleetGC event log',
    version,
    description:
      'Every step of FleetGC is a CloudEvent in binary mode on one of these topics. An operation is named by who acts, and tagged with it. Partitions are those of murmur2 over the record key, as in the Java client.',
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  defaultContentType: 'application/json',
  servers: SERVERS,
  channels: Object.fromEntries(TOPIC_IDS.map((id) => [id, channelOf(id)])),
  operations: Object.fromEntries(TOPIC_IDS.flatMap((id) => [...operationsOf(id)])),
  components: {
    securitySchemes: SECURITY_SCHEMES,
    messages: Object.fromEntries(
      TOPIC_IDS.flatMap((id) => eventTypesOf(id).map((type) => [messageKey(id, type), messageOf(id, type)])),
    ),
  },
});

/** How one may log in to the brokers: one of `--kafka-sasl-mechanism`, or a certificate of one's own. */
const SECURITY_SCHEMES = {
  'scram-sha-512': { type: 'scramSha512', description: 'A name and a password, which is never sent.' },
  'scram-sha-256': { type: 'scramSha256', description: 'A name and a password, which is never sent.' },
  plain: { type: 'plain', description: 'A name and a password. Over TLS only, unless that is allowed.' },
  oauthbearer: {
    type: 'oauth2',
    description: 'A token from a file, or asked for with the credentials of a client.',
    flows: {
      clientCredentials: {
        tokenUrl: 'https://login.example/token',
        availableScopes: {},
      },
    },
  },
  certificate: { type: 'X509', description: 'A certificate of the client, in TLS.' },
} as const;
type SchemeId = keyof typeof SECURITY_SCHEMES;

const anyOf = (...ids: readonly SchemeId[]) =>
  ids.map((id) => ({ $ref: `#/components/securitySchemes/${id}` }));

const ADDRESS = {
  host: '{broker}',
  variables: {
    broker: {
      description: 'Host and port of a broker, as in --kafka-brokers.',
      default: 'kafka-1:9092',
    },
  },
} as const;

/** The brokers belong to whoever runs the fleet: what is fixed is how one speaks to them. */
const SERVERS = {
  tls: {
    ...ADDRESS,
    protocol: 'kafka-secure',
    description: 'Kafka over TLS, for all but tries.',
    security: anyOf('scram-sha-512', 'scram-sha-256', 'plain', 'oauthbearer', 'certificate'),
  },
  plaintext: {
    ...ADDRESS,
    protocol: 'kafka',
    description: 'Kafka without TLS, on a network that is not shared. Logins are possible.',
  },
} as const;
