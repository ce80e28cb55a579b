import type { PlantedBug } from '../../chaos/planted/planted.ts';

/** A bug, and the target that is to find it. */
export interface ReadingBug extends PlantedBug {
  readonly target: string;
}

const TRUST = 'packages/records/trust/trust.ts';
const PARSE = 'packages/records/parse/parse-record.ts';

/** Slips in what reads, as somebody might make them. */
export const PLANTED: readonly ReadingBug[] = [
  {
    name: 'signatures-of-commands-not-verified',
    target: 'commands',
    edits: [
      {
        file: TRUST,
        old: 'if (!isSignedBy(key.publicKey',
        now: "if (topic !== 'commands' && !isSignedBy(key.publicKey",
      },
    ],
  },
  {
    name: 'revoked-keys-still-order',
    target: 'observe',
    edits: [{ file: TRUST, old: 'revocation !== null && (isAboutNow ||', now: 'revocation !== null && (' }],
  },
  {
    name: 'lower-generation-of-a-policy-accepted',
    target: 'policies',
    edits: [
      {
        file: 'packages/policy/policy-reading.ts',
        old: 'generations.get(key) ?? before.of',
        now: 'generations.get(key) ?? 0 * before.of',
      },
    ],
  },
  {
    name: 'first-certificate-of-a-key-holds',
    target: 'keys',
    edits: [
      {
        file: 'packages/records/trust/key-ring.ts',
        old: '.toSorted((a, b) => b.generation - a.generation)[0];\n    if (standing',
        now: '.toSorted((a, b) => a.generation - b.generation)[0];\n    if (standing',
      },
    ],
  },
  {
    name: 'size-of-messages-not-bounded',
    target: 'observe',
    edits: [{ file: PARSE, old: 'return bytes <= bounds.bytes', now: 'return bytes >= 0' }],
  },
  {
    name: 'texts-of-a-reclaim-not-bounded',
    target: 'results',
    edits: [
      {
        file: 'schemas/events/reclaim.ts',
        old: 'z.string().max(MAX_CAUSE_TEXT_LENGTH)',
        now: 'z.string()',
      },
    ],
  },
  {
    name: 'commands-go-back-from-dead-letters',
    target: 'deadLetters',
    edits: [
      {
        file: 'packages/read-model/letters.ts',
        old: 'commands: false,',
        now: 'commands: true,',
      },
    ],
  },
  {
    name: 'verbose-answer-that-is-no-json',
    target: 'cri',
    edits: [
      {
        file: 'packages/cri/client.ts',
        old: '  } catch {\n    return null;',
        now: '  } catch (error) {\n    throw error;',
      },
    ],
  },
  {
    name: 'hold-of-the-node-overlooked',
    target: 'node-yaml',
    edits: [
      {
        file: 'services/node/executor/local-rules.ts',
        old: "? { kind: 'rules', ...rules.data }",
        now: "? { kind: 'rules', ...rules.data, hold: rules.data.hold && rules.data.maxRemovalsPerHour === null }",
      },
    ],
  },
  {
    name: 'facts-of-another-node',
    target: 'diskStats',
    edits: [
      {
        file: 'packages/records/trust/trust.ts',
        old: 'nodes.length === 0 || nodes.includes(',
        now: 'nodes.length >= 0 || nodes.includes(',
      },
    ],
  },
  {
    name: 'expired-keys-still-tell-facts',
    target: 'results',
    edits: [
      {
        file: TRUST,
        old: 'if ((isAboutNow ? this.#settings.nowMs() : takenAtMs) >= notAfterMs)',
        now: 'if (isAboutNow && this.#settings.nowMs() >= notAfterMs)',
      },
    ],
  },
  {
    name: 'some-distrust-without-a-warning',
    target: 'inventory',
    edits: [
      {
        file: 'packages/records/trust/process-trust.ts',
        old: 'if (authentication.ok) return authentication;\n    this.#tell(',
        now: "if (authentication.ok) return authentication;\n    if (authentication.distrust.cause !== 'unsigned') this.#tell(",
      },
    ],
  },
  {
    name: 'deciders-raise-generations',
    target: 'policyVersions',
    edits: [
      {
        file: 'packages/policy/may-state.ts',
        old: 'default:\n      return `the key of',
        now: "default:\n      if (role !== 'node') return null;\n      return `the key of",
      },
    ],
  },
  {
    name: 'generations-count-that-nobody-signed',
    target: 'policyVersions',
    edits: [
      {
        file: 'packages/records/trust/generation.ts',
        old: 'publicKey !== undefined && isSignedBy(publicKey, ring.fleet, record, signature) ?',
        now: 'publicKey !== undefined ?',
      },
    ],
  },
  {
    name: 'what-was-put-back-is-not-told',
    target: 'policies',
    edits: [
      {
        file: 'packages/audit/verify/signatures.ts',
        old: 'return generation < highest;',
        now: 'return highest < 0;',
      },
    ],
  },
  {
    name: 'deciders-sign-heads-of-archives',
    target: 'heads',
    edits: [
      {
        file: 'packages/records/read-heads.ts',
        old: 'if (role !== signer) return',
        now: "if (role === 'operator') return",
      },
    ],
  },
  {
    name: 'heads-in-archives-need-no-key',
    target: 'heads',
    edits: [
      {
        file: 'packages/archive/heads.ts',
        old: 'const event = believedHead(trust, recordOf(line, at, takenAtMs))?.event;',
        now: "const parsed = parseRecord('heads', recordOf(line, at, takenAtMs));\n  const event = parsed.ok ? parsed.event : null;",
      },
    ],
  },
  {
    name: 'keep-list-of-clusters-not-asked-again',
    target: 'clusterCommands',
    edits: [
      {
        file: 'services/cluster/executor/judge-ownership.ts',
        old: 'return refusedBy(kept, judged);',
        now: "return kept.rule === 'S5' ? act : refusedBy(kept, judged);",
      },
    ],
  },
];
