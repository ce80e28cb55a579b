import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../container.ts';
import type { TestNetwork } from '../network.ts';
import { AUDIENCE, createTokenSigner, ISSUER, type TokenSigner } from './bearer-tokens.ts';
import { newFolder } from './kafka.ts';
import { BROKER_ALIAS, CONFIG_FOLDER, launchBroker, RUN_BROKER } from './kafka-launch.ts';
import { brokerProperties, DATA_FOLDER, INTERNAL_PORT, type SaslUser } from './kafka-properties.ts';
import { createTlsFiles, type TlsFiles } from './tls-files.ts';

const CERTIFICATE_PORT = 9093;
const PODS_PORT = 9094;
const CONTROLLER_PORT = 29093;
const AUTHORIZER_LOG = 'authorizer.log';

/** A broker that denies whatever no rule allows, to everybody but its administrator. */
export interface GuardedBroker extends AsyncDisposable {
  /** TLS with SCRAM-SHA-512, SCRAM-SHA-256 or OAUTHBEARER. */
  readonly saslAddress: string;
  /** TLS with a certificate of the client. */
  readonly certificateAddress: string;
  /** TLS with SCRAM-SHA-512, for containers of its network. */
  readonly internalAddress: string;
  readonly tls: TlsFiles;
  /** Where the certificates lie. */
  readonly folder: string;
  readonly signer: TokenSigner;
  /** What its authorizer was asked, and answered, a line each. */
  authorizerLog(): readonly string[];
}

export type ScramUser = SaslUser & { readonly mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512' };

/** By whom the broker speaks with itself: nobody who comes without a login is anybody. */
const BROKER: SaslUser = { username: 'broker', password: 'broker-secret' };

/** The administrator must log in with SCRAM-SHA-512. */
export async function startGuardedBroker(
  administrator: SaslUser,
  users: readonly ScramUser[],
  network?: TestNetwork,
): Promise<GuardedBroker> {
  const [port, certificatePort] = [await freePort(), await freePort()];
  const files = newFolder();
  const tls = await createTlsFiles(files, ['localhost', '127.0.0.1', BROKER_ALIAS]);
  const signer = createTokenSigner();
  writeFileSync(join(files, 'jwks.json'), signer.jwks);
  writeFileSync(join(files, 'log4j2.yaml'), LOGGING);
  const client = { address: `127.0.0.1:${port}`, caFile: tls.authority, user: administrator };
  const launched = await launchBroker({
    port,
    network,
    morePorts: [{ container: CERTIFICATE_PORT, host: certificatePort }],
    files,
    client,
    command: commandFor([{ ...administrator, mechanism: 'SCRAM-SHA-512' }, ...users]),
    properties: {
      ...brokerProperties(port, 'SASL_SSL'),
      ...listeners(port, certificatePort),
      ...LOGINS,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'false',
      'super.users': `User:${administrator.username};User:${BROKER.username}`,
    },
  });
  return {
    saslAddress: client.address,
    certificateAddress: `127.0.0.1:${certificatePort}`,
    internalAddress: `${BROKER_ALIAS}:${PODS_PORT}`,
    tls,
    folder: files,
    signer,
    authorizerLog: () => readFileSync(join(files, 'data', AUTHORIZER_LOG), 'utf8').split('\n'),
    [Symbol.asyncDispose]: () => launched[Symbol.asyncDispose](),
  };
}

const listeners = (port: number, certificatePort: number): Record<string, string> => ({
  listeners: `EXTERNAL://0.0.0.0:9092,CERTIFICATE://0.0.0.0:${CERTIFICATE_PORT},PODS://0.0.0.0:${PODS_PORT},INTERNAL://localhost:${INTERNAL_PORT},CONTROLLER://localhost:${CONTROLLER_PORT}`,
  'advertised.listeners': `EXTERNAL://127.0.0.1:${port},CERTIFICATE://127.0.0.1:${certificatePort},PODS://${BROKER_ALIAS}:${PODS_PORT},INTERNAL://localhost:${INTERNAL_PORT}`,
  'listener.security.protocol.map':
    'EXTERNAL:SASL_SSL,PODS:SASL_SSL,CERTIFICATE:SSL,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT',
});

const SECURITY = 'org.apache.kafka.common.security';
const PLAIN_LOGIN = `${SECURITY}.plain.PlainLoginModule required username="${BROKER.username}" password="${BROKER.password}" user_${BROKER.username}="${BROKER.password}";`;
const JWKS = `file://${CONFIG_FOLDER}/jwks.json`;

const LOGINS: Readonly<Record<string, string>> = {
  'ssl.keystore.type': 'PEM',
  'ssl.keystore.location': `${CONFIG_FOLDER}/server-keystore.pem`,
  'ssl.truststore.type': 'PEM',
  'ssl.truststore.location': `${CONFIG_FOLDER}/ca.pem`,
  'listener.name.certificate.ssl.client.auth': 'required',
  'sasl.enabled.mechanisms': 'SCRAM-SHA-512,SCRAM-SHA-256,OAUTHBEARER',
  'listener.name.external.scram-sha-512.sasl.jaas.config': `${SECURITY}.scram.ScramLoginModule required;`,
  'listener.name.external.scram-sha-256.sasl.jaas.config': `${SECURITY}.scram.ScramLoginModule required;`,
  'listener.name.pods.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
  'listener.name.pods.scram-sha-512.sasl.jaas.config': `${SECURITY}.scram.ScramLoginModule required;`,
  'listener.name.external.oauthbearer.sasl.jaas.config': `${SECURITY}.oauthbearer.OAuthBearerLoginModule required;`,
  'listener.name.external.oauthbearer.sasl.server.callback.handler.class': `${SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
  'sasl.oauthbearer.jwks.endpoint.url': JWKS,
  'sasl.oauthbearer.expected.audience': AUDIENCE,
  'sasl.oauthbearer.expected.issuer': ISSUER,
  'sasl.mechanism.inter.broker.protocol': 'PLAIN',
  'sasl.mechanism.controller.protocol': 'PLAIN',
  'listener.name.internal.sasl.enabled.mechanisms': 'PLAIN',
  'listener.name.controller.sasl.enabled.mechanisms': 'PLAIN',
  'listener.name.internal.plain.sasl.jaas.config': PLAIN_LOGIN,
  'listener.name.controller.plain.sasl.jaas.config': PLAIN_LOGIN,
};

/** SCRAM users live in the cluster's metadata, so they are written when the storage is formatted. */
function commandFor(users: readonly ScramUser[]): string {
  const added = users.map(
    ({ mechanism, username, password }) =>
      `--add-scram '${mechanism}=[name=${username},password=${password}]'`,
  );
  const config = `${CONFIG_FOLDER}/server.properties`;
  const format = `/opt/kafka/bin/kafka-storage.sh format --cluster-id "$CLUSTER_ID" --config ${config} ${added.join(' ')} --ignore-formatted`;
  return `cp --remove-destination ${CONFIG_FOLDER}/log4j2.yaml /opt/kafka/config/log4j2.yaml && ${format} && export KAFKA_OPTS=-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${JWKS} && ${RUN_BROKER}`;
}

/** The authorizer says what it allows only to whoever debugs it. */
const LOGGING = `
Configuration:
  Appenders:
    Console: { name: STDOUT, PatternLayout: { pattern: "[%d] %p %m (%c)%n" } }
    File: { name: AUTHORIZER, fileName: ${DATA_FOLDER}/${AUTHORIZER_LOG}, PatternLayout: { pattern: "%m%n" } }
  Loggers:
    Root: { level: INFO, AppenderRef: { ref: STDOUT } }
    Logger: { name: kafka.authorizer.logger, level: DEBUG, additivity: false, AppenderRef: { ref: AUTHORIZER } }
`;
