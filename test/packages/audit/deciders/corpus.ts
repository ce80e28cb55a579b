import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { FrozenDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { canonicalJson, sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { WrittenEvent } from '../../../../packages/decision/freezable-decider.ts';
import type { InputPosition } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { ApprovalRecord } from '../../../../schemas/policy/approval.ts';
import {
  isPolicyFor,
  PauseRecord,
  POLICY_RECORDS,
  type PolicySetOf,
} from '../../../../schemas/policy/policy.ts';

/** One message with the policies of its time, as recorded: `make-corpus.ts` wrote it, and nothing changes it. */
export const CorpusCase = z.strictObject({
  name: z.string(),
  topic: z.enum(['inventory', 'diskStats', 'clusterOwnership', 'clusterPods', 'clusterExpiry']),
  event: z.unknown(),
  policies: z.array(z.discriminatedUnion('type', [POLICY_RECORDS.node, POLICY_RECORDS.cluster])),
  pauses: z.array(PauseRecord),
  approvals: z.array(ApprovalRecord).optional(),
});
export type CorpusCase = z.infer<typeof CorpusCase>;

/** Two messages of which the newer one may make the older one needless, as recorded. */
export const OvertakingCase = z.strictObject({
  name: z.string(),
  topic: CorpusCase.shape.topic,
  older: z.unknown(),
  newer: z.unknown(),
});
export type OvertakingCase = z.infer<typeof OvertakingCase>;

export const OVERTAKING_FILE = new URL('./overtaking-corpus.json', import.meta.url);

/** All of them, in their order. */
export const readOvertaking = (): readonly OvertakingCase[] =>
  z.array(OvertakingCase).parse(JSON.parse(readFileSync(OVERTAKING_FILE, 'utf8')));

export const CORPUS_DIRECTORY = new URL('./corpus/', import.meta.url);

/** All cases, by name. */
export const readCorpus = (): readonly CorpusCase[] =>
  readdirSync(CORPUS_DIRECTORY)
    .toSorted()
    .map((file) => CorpusCase.parse(JSON.parse(readFileSync(new URL(file, CORPUS_DIRECTORY), 'utf8'))));

/** What a decider gets to decide on. */
export interface Question {
  readonly message: unknown;
  readonly position: InputPosition;
  readonly policies: PolicySetOf<SubjectKind>;
}

export function questionOf({ event, ...recorded }: CorpusCase): Question {
  const text = JSON.stringify(event);
  const { name } = TOPICS[recorded.topic];
  const position = { topic: name, partition: 3, offset: '42', sha256: sha256Hex(text) };
  return { message: deepFrozen(JSON.parse(text)), position, policies: setOf(recorded) };
}

/** Those for the subjects that the messages of the topic are about. */
function setOf({
  topic,
  policies,
  pauses,
  approvals,
}: Omit<CorpusCase, 'name' | 'event'>): PolicySetOf<SubjectKind> {
  const kind = TOPICS[topic].key;
  return policySet(
    kind,
    policies.filter((record) => isPolicyFor(kind, record)),
    pauses,
    approvals,
  );
}

/** The canonical JSON of all that a decider gives. */
export const answerTo = (
  { message, position, policies }: Question,
  { read, decide }: Pick<FrozenDecider, 'read' | 'decide'>,
): string =>
  `[${decide(deepFrozen(read(message)), position, policies)
    .map(writtenText)
    .join(',')}]`;

/** The text is what lies on the log: another value or another form is a fault of the decider. */
function writtenText({ event, text }: WrittenEvent): string {
  if (text !== canonicalJson(event)) throw new Error(`not the canonical form of its event: ${text}`);
  return text;
}

/** The canonical JSON of the record of a message that is passed over; `null` where it is decided on. */
export function answerToOvertaking(
  { topic, older, newer }: OvertakingCase,
  { read, passOver }: Pick<FrozenDecider, 'read' | 'passOver'>,
): string {
  const place = { topic: TOPICS[topic].name, partition: 3 };
  const position = { ...place, offset: '42', sha256: sha256Hex(JSON.stringify(older)) };
  const event = deepFrozen(read(newer));
  const { id } = z.object({ id: z.string() }).parse(event);
  const overtakenBy = { ...place, offset: '43', id };
  const policySetHash = policySet('node', [], []).hash;
  const record = passOver({ older: deepFrozen(older), newer: event, position, overtakenBy, policySetHash });
  return record === null ? 'null' : writtenText(record);
}

/** Several deciders share what was read: whoever changes it fails. */
function deepFrozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}
