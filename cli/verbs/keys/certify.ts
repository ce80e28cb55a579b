import { z } from 'zod';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Text, TextList, withMeta } from '../../../packages/process/options/options.ts';
import { certificate } from '../../../packages/records/trust/statement.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import { NodeName } from '../../../schemas/events/identity.ts';
import { KeyCertificate, KeyRole } from '../../../schemas/keys/key-statement.ts';
import { issueStatement } from '../../framework/policy-writer.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { publicKeyFrom, rootOptions } from '../../options/key-options.ts';
import { LongDuration } from '../../options/time-options.ts';

export const verb = defineVerb({
  help: [
    'Roles: decider signs orders and commands. operator signs policies, pauses and deletions. pauser signs pauses alone. dashboard signs pauses, approvals and their ends, and no policy. policy-controller signs the policies that lie in its one cluster as Kubernetes objects. archiver signs heads of archives. node signs what nodes report. root certifies keys, as the successor of this root.',
    'Certifying a key anew replaces what was said of it before: another time, other clusters, another role.',
  ],
  examples: [
    'fleetgc keys certify decider.pub --role decider --name deciders --valid-for 90d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
    'fleetgc keys certify "$KEY" --role operator --cluster prod-eu --name ops --valid-for 30d --trust-roots roots.yaml --root-key-file root.pem --offline > ops.statement',
    'fleetgc keys certify web-1.pub --role node --cluster prod-eu --node web-1 --name web-1 --valid-for 90d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    publicKey: withMeta(Text, {
      positional: true,
      placeholder: 'KEY|FILE',
      description: 'The public key, as "keys create" prints it, or a file that holds it.',
    }),
    role: withMeta(KeyRole, { commandLineOnly: true, description: 'What the key may sign.' }),
    name: withMeta(KeyCertificate.shape.name, {
      commandLineOnly: true,
      placeholder: 'TEXT',
      description: 'Whose key it is, for people.',
    }),
    cluster: withMeta(TextList.pipe(KeyCertificate.shape.clusters).prefault([]), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'NAME,…',
      description: 'Only for these clusters; without it for all.',
    }),
    node: withMeta(TextList.pipe(z.array(NodeName)).optional(), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'NAME,…',
      description: 'For role node: only for these nodes of --cluster; without it for all of them.',
    }),
    validFor: withMeta(LongDuration, {
      commandLineOnly: true,
      description: 'How long the key may sign, from now on: 90d, 12h.',
    }),
    ...rootOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ publicKey, role, name, cluster, node, validFor, ...issuing }, context) => {
    if (role === 'root' && cluster.length > 0)
      throw new FleetGcError('USAGE', 'a root is for all clusters; leave --cluster out');
    if (node !== undefined && (role !== 'node' || cluster.length === 0))
      throw new FleetGcError('USAGE', '--node needs --role node, and --cluster to say where these nodes are');
    if (role === 'policy-controller' && cluster.length !== 1)
      throw new FleetGcError('USAGE', '--role policy-controller needs --cluster, with its own cluster alone');
    const issuedAtMs = Date.now();
    const statement = certificate({
      publicKey: publicKeyFrom(publicKey),
      role,
      clusters: cluster,
      ...(node && { nodes: node }),
      name,
      issuedAtMs,
      notAfterMs: issuedAtMs + validFor,
    });
    if (!(await issueStatement(statement, issuing, context))) return;
    context.print(
      `certified: ${statement.keyId} (${name}) as ${role} until ${timeText(statement.notAfterMs)}`,
    );
  },
});
