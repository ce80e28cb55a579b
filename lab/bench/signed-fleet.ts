import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Output } from '../../packages/decision/handler.ts';
import type { EventLog, OutgoingRecord } from '../../packages/log/port.ts';
import { createKeyPair, readSigningKey, type SigningKey } from '../../packages/records/trust/key-pair.ts';
import { writeKeyFile } from '../../packages/records/trust/private-key.ts';
import { trustRootsText } from '../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import { certificate } from '../../packages/records/trust/statement.ts';
import type { KeyRole } from '../../schemas/keys/key-statement.ts';
import { appliedPolicy } from '../../test/fixtures/applied-policy.ts';
import { recordOf } from './context.ts';

const FLEET = 'bench';
const VALID_MS = 86_400_000;

/** A fleet whose orders and policies are signed. */
export interface SignedFleet {
  readonly rootsFile: string;
  readonly deciderKeyFile: string;
  /** Of a node, whose facts it signs. */
  readonly nodePublicKey: string;
  /** As a node that signs its facts publishes them. */
  readonly signFact: (record: OutgoingRecord) => OutgoingRecord;
}

interface Made {
  readonly pem: string;
  readonly key: SigningKey;
}

function makeKey(what: string): Made {
  const pem = createKeyPair().privateKeyPem;
  return { pem, key: readSigningKey(pem, what) };
}

/** Writes roots and keys to files, and puts the statements and a signed policy for every node on the log. */
export async function signFleet(log: EventLog, directory: string): Promise<SignedFleet> {
  const [root, operator, decider, node] = ['root', 'operator', 'decider', 'node'].map(makeKey);
  if (!root || !operator || !decider || !node) throw new Error('a key is missing');
  const rootsFile = join(directory, 'roots.yaml');
  const deciderKeyFile = join(directory, 'decider.pem');
  const roots = [{ name: 'root', publicKey: root.key.publicKey }];
  writeFileSync(rootsFile, trustRootsText({ fleet: FLEET, roots }));
  writeKeyFile(deciderKeyFile, decider.pem);
  const signed = (output: Output, { key }: Made): OutgoingRecord =>
    signRecord(recordOf(output), { fleet: FLEET, key, generation: Date.now() });
  const certified = (role: KeyRole, { key }: Made): OutgoingRecord => {
    const issuedAtMs = Date.now();
    const said = { role, clusters: [], name: role, issuedAtMs, notAfterMs: issuedAtMs + VALID_MS };
    const event = certificate({ publicKey: key.publicKey, ...said });
    return signed({ topic: 'keys', key: event.keyId, event }, root);
  };
  await log.publish([certified('operator', operator), certified('decider', decider)]);
  const policy = appliedPolicy();
  await log.publish([signed({ topic: 'policies', key: policy.policy.name, event: policy }, operator)]);
  const fact = { fleet: FLEET, key: node.key, generation: null };
  return {
    rootsFile,
    deciderKeyFile,
    nodePublicKey: node.key.publicKey,
    signFact: (record) => signRecord(record, fact),
  };
}
