import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { newTrace } from '../../../packages/process/trace.ts';
import { toRecord } from '../../../packages/records/publisher.ts';
import { createKeyPair, readSigningKey, type SigningKey } from '../../../packages/records/trust/key-pair.ts';
import { writeKeyFile } from '../../../packages/records/trust/private-key.ts';
import { trustRootsText } from '../../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { certificate, revocation, signedRecordText } from '../../../packages/records/trust/statement.ts';
import type { KeyStatement } from '../../../schemas/keys/key-statement.ts';
import type { UntilDone } from './until-done.ts';
import type { KeyPaths } from './verb.ts';

/** In every signature of a round. */
export const FLEET = 'chaos';

/** What a root said of a key: nobody has read it before `startedMs`, and it lies on the log from `endedMs` on; `null`: nobody knows. */
export interface KeyAct {
  readonly statement: KeyStatement;
  readonly startedMs: number;
  endedMs: number | null;
}

const SIGNING_ROLES = ['decider', 'operator', 'archiver', 'cluster'] as const;
export type SigningRole = (typeof SIGNING_ROLES)[number];

/** No clock of a round gets there. */
const FOR_EVER_MS = 100 * 365 * 86_400_000;
const HOUR_MS = 3_600_000;

/** The keys of a round, and whoever has its root: who publishes what the root says, and keeps it. */
export class FleetKeys {
  readonly acts: KeyAct[] = [];
  /** A decider's key that nobody uses. */
  readonly spare = createKey().key;
  /** Keys that nobody believes, whatever they sign. */
  readonly revoked = createKey().key;
  readonly ended = createKey().key;
  readonly stranger = createKey().key;
  readonly #directory: string;
  readonly #root = createKey().key;
  readonly #statements: string[] = [];
  readonly #current = new Map<SigningRole, SigningKey>();
  #lastGeneration = 0;

  constructor(directory: string) {
    this.#directory = join(directory, 'keys');
    mkdirSync(this.#directory);
    const roots = [{ name: 'root', publicKey: this.#root.publicKey }];
    writeFileSync(this.#rootsPath, `${trustRootsText({ fleet: FLEET, roots })}\n`);
    for (const role of SIGNING_ROLES) this.#certify(this.replace(role), role, FOR_EVER_MS);
    this.#certify(this.ended, 'decider', -HOUR_MS);
    this.#certify(this.revoked, 'decider', FOR_EVER_MS);
    this.#revoke(this.revoked, 0);
  }

  get #rootsPath(): string {
    return join(this.#directory, 'roots.yaml');
  }

  #path(role: SigningRole): string {
    return join(this.#directory, `${role}.pem`);
  }

  /** What those of a role read; `null`: whoever signs nothing. */
  paths(role: SigningRole | null): KeyPaths {
    return { roots: this.#rootsPath, signingKey: role && this.#path(role) };
  }

  current(role: SigningRole): SigningKey {
    const key = this.#current.get(role);
    if (key) return key;
    throw new Error(`there is no key of a ${role}`);
  }

  /** Makes a key that no root vouches for yet, and puts it in place of the old one. */
  replace(role: SigningRole): SigningKey {
    const { key, pem } = createKey();
    const path = `${this.#path(role)}.new`;
    writeKeyFile(path, pem);
    renameSync(path, this.#path(role));
    this.#current.set(role, key);
    return key;
  }

  /** All that the root has said, once more and in its order: as when the topic was lost. */
  publishAll(publish: UntilDone): Promise<void> {
    return this.#publish(publish, [...this.#statements], this.acts);
  }

  certify(
    publish: UntilDone,
    { key, role, validForMs = FOR_EVER_MS }: { key: SigningKey; role: SigningRole; validForMs?: number },
  ): Promise<void> {
    const { line, act } = this.#certify(key, role, validForMs);
    return this.#publish(publish, [line], [act]);
  }

  revoke(publish: UntilDone, key: SigningKey, stolenForMs: number): Promise<void> {
    const { line, act } = this.#revoke(key, stolenForMs);
    return this.#publish(publish, [line], [act]);
  }

  /** Somebody vouches for himself. */
  statementOfStranger(): OutgoingRecord {
    const nowMs = Date.now();
    const { publicKey } = this.stranger;
    const said = { publicKey, role: 'decider', clusters: [], name: 'stranger', issuedAtMs: nowMs } as const;
    const statement = certificate({ ...said, notAfterMs: nowMs + FOR_EVER_MS });
    return signRecord(recordOf(statement), { fleet: FLEET, key: this.stranger, generation: nowMs });
  }

  async #publish(publish: UntilDone, lines: readonly string[], acts: readonly KeyAct[]): Promise<void> {
    const done = await publish(['keys', 'publish', '-'], `${lines.join('\n')}\n`);
    if (done !== null) for (const act of acts) act.endedMs ??= Date.now();
  }

  #certify({ publicKey }: SigningKey, role: SigningRole, validForMs: number): Said {
    const nowMs = Date.now();
    // What has ended was made before its end.
    const issuedAtMs = nowMs + Math.min(0, 2 * validForMs);
    return this.#say(
      certificate({ publicKey, role, clusters: [], name: role, issuedAtMs, notAfterMs: nowMs + validForMs }),
    );
  }

  #revoke({ keyId }: SigningKey, stolenForMs: number): Said {
    const issuedAtMs = Date.now();
    const untrustedFromMs = issuedAtMs - stolenForMs;
    return this.#say(revocation({ keyId, reason: 'stolen', issuedAtMs, untrustedFromMs }));
  }

  #say(statement: KeyStatement): Said {
    this.#lastGeneration = Math.max(this.#lastGeneration + 1, statement.issuedAtMs);
    const signing = { fleet: FLEET, key: this.#root, generation: this.#lastGeneration };
    const line = signedRecordText(signRecord(recordOf(statement), signing));
    const act: KeyAct = { statement, startedMs: Date.now(), endedMs: null };
    this.#statements.push(line);
    this.acts.push(act);
    return { line, act };
  }
}

interface Said {
  readonly line: string;
  readonly act: KeyAct;
}

function createKey(): { readonly key: SigningKey; readonly pem: string } {
  const { privateKeyPem: pem } = createKeyPair();
  return { key: readSigningKey(pem, 'a key of a round'), pem };
}

/** As offline, on the machine that has the root. */
const recordOf = (statement: KeyStatement): OutgoingRecord =>
  toRecord(
    { topic: 'keys', key: statement.keyId, event: statement },
    { source: '/fleetgc/cli', nowMs: statement.issuedAtMs, trace: newTrace(randomTraceIds) },
  );
