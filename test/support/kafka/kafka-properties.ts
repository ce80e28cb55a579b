/** Where a broker keeps its topics. */
export const DATA_FOLDER = '/tmp/kraft-combined-logs';
/** The listener for containers of the same network. */
export const INTERNAL_PORT = 29092;
/** The listener for processes that share the container's network namespace: no forwarding of ports lies between. */
export const LOCAL_PORT = 29094;
const CONTROLLER_PORT = 29093;

export interface SaslUser {
  readonly username: string;
  readonly password: string;
}

export interface SaslUsers {
  readonly plain: SaslUser;
  readonly scram: SaslUser;
}

/** `server.properties` of one broker that is its own controller, published on `port` of the loopback address. */
export function brokerProperties(port: number, protocol: 'PLAINTEXT' | 'SASL_SSL'): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@localhost:${CONTROLLER_PORT}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INTERNAL',
    listeners: `EXTERNAL://0.0.0.0:9092,INTERNAL://0.0.0.0:${INTERNAL_PORT},LOCAL://127.0.0.1:${LOCAL_PORT},CONTROLLER://localhost:${CONTROLLER_PORT}`,
    'advertised.listeners': `EXTERNAL://127.0.0.1:${port},INTERNAL://kafka:${INTERNAL_PORT},LOCAL://127.0.0.1:${LOCAL_PORT}`,
    'listener.security.protocol.map': `EXTERNAL:${protocol},INTERNAL:PLAINTEXT,LOCAL:PLAINTEXT,CONTROLLER:PLAINTEXT`,
    'log.dirs': DATA_FOLDER,
    ...ONE_BROKER,
  };
}

/** What one broker needs to hold its own topics, and what makes tests quick. */
const ONE_BROKER = {
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  // A killed broker may register again only when the controller has given up its former self.
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '500',
  'log.cleaner.dedupe.buffer.size': '2097152',
};

/** One of several brokers that are all controllers; each is published on its own port and known by its own name. */
export function clusterProperties(
  id: number,
  port: number,
  names: readonly string[],
): Record<string, string> {
  const voters = names.map((name, index) => `${index + 1}@${name}:${CONTROLLER_PORT}`);
  return {
    ...brokerProperties(port, 'PLAINTEXT'),
    'node.id': `${id}`,
    'controller.quorum.voters': voters.join(','),
    listeners: `EXTERNAL://0.0.0.0:9092,INTERNAL://0.0.0.0:${INTERNAL_PORT},CONTROLLER://0.0.0.0:${CONTROLLER_PORT}`,
    'advertised.listeners': `EXTERNAL://127.0.0.1:${port},INTERNAL://${names[id - 1]}:${INTERNAL_PORT}`,
    'offsets.topic.replication.factor': `${names.length}`,
  };
}

/** TLS with a client certificate if one is shown, and two SASL mechanisms, on the external listener. */
export function sslProperties(folder: string, { plain }: SaslUsers): Record<string, string> {
  const jaas = 'org.apache.kafka.common.security';
  return {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
    'listener.name.external.plain.sasl.jaas.config': `${jaas}.plain.PlainLoginModule required user_${plain.username}="${plain.password}";`,
    'listener.name.external.scram-sha-512.sasl.jaas.config': `${jaas}.scram.ScramLoginModule required;`,
    'listener.name.external.ssl.keystore.type': 'PEM',
    'listener.name.external.ssl.keystore.location': `${folder}/server-keystore.pem`,
    'listener.name.external.ssl.truststore.type': 'PEM',
    'listener.name.external.ssl.truststore.location': `${folder}/ca.pem`,
    'listener.name.external.ssl.client.auth': 'requested',
  };
}
