/** How one may log in to the brokers: one of `--kafka-sasl-mechanism`, or a certificate of one's own. */
export const SECURITY_SCHEMES = {
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
export const SERVERS = {
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
