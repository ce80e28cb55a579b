import {
  ARCHIVE_VERSION,
  type ManifestLine,
  parseManifestLine,
} from '../../../../packages/archive/manifest.ts';
import { decisionRanges } from '../../../../packages/audit/verify/decision-heads.ts';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import { HeadedDecisions } from '../../../../packages/audit/verify/headed-decisions.ts';
import { ArchiveHeadsCheck, SaidStatements } from '../../../../packages/audit/verify/heads.ts';
import { NOTHING_HASHED, runningHash } from '../../../../packages/canonical/running-hash.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { type BelievedHead, BelievedHeads, trustThen } from '../../../../packages/records/read-heads.ts';
import { type EventOf, TOPICS } from '../../../../schemas/events/topics.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefused, type Signatories, TAKEN_AT_MS } from './claims.ts';
import { logWith } from './message-log.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };

/** The hash of the archive that the heads which inputs begin with speak of. */
const ARCHIVE = 'a'.repeat(64);
const CHAIN = 'chain-1';
/** An archive with nothing in it but its first line. */
const LINES: readonly ManifestLine[] = [
  { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: 0, previous: null, hash: ARCHIVE },
];

const DECISIONS_PARTITION = 7;
/** Two decisions of a writer, as they lie on the log. */
const HEADED: readonly LogRecord[] = [0, 1].map((sequence) => ({
  topic: TOPICS.decisions.name,
  partition: DECISIONS_PARTITION,
  offset: BigInt(sequence),
  timestampMs: TAKEN_AT_MS - 2 + sequence,
  key: 'prod/web-1',
  value: Buffer.from(`{"number":${sequence}}`),
  headers: { ce_fleetgcchain: CHAIN, ce_fleetgcsequence: String(sequence) },
}));
const HEADED_SHA256 = HEADED.reduce(runningHash, NOTHING_HASHED);

const SAID = { statements: { ['0'.repeat(32)]: 1, [`revoked ${'1'.repeat(32)}`]: 2 } };

export const archiveHead = (): EventOf<'heads'> => ({
  type: 'fleetgc.archive-head',
  version: 1,
  id: 'head-1',
  archive: ARCHIVE,
  signedAtMs: TAKEN_AT_MS,
  lines: 1,
  hash: ARCHIVE,
  fromLine: 0,
  sums: ['0'.repeat(8)],
});

export const decisionHead = (): EventOf<'heads'> => ({
  type: 'fleetgc.decision-head',
  version: 1,
  id: 'head-2',
  ...SAID,
  chain: CHAIN,
  decider: 'image-gc',
  ranges: [
    {
      partition: DECISIONS_PARTITION,
      first: 0,
      records: HEADED.length,
      sha256: HEADED_SHA256,
      firstAtMs: TAKEN_AT_MS - 2,
      lastAtMs: TAKEN_AT_MS - 1,
    },
  ],
});

/** What `audit verify` takes for proved by a head: of archives, of decisions and of statements about keys. */
export const headsReader = ({ ring, trust }: Signatories): ReadMessage => {
  return async ({ record, claim }) => {
    const readKeys = async () => ({ ring, unreadable: [], isWhole: true });
    const reading = new BelievedHeads({ log: logWith(record), readKeys });
    const head = await firstOf(reading.read('earliest', NEVER));
    if (head === null) return REFUSED;
    if (isToBeRefused(claim, 'heads')) return effect(`a head that is ${claim} proves something`);
    const wrong = wrongOfArchive(head, trust) ?? wrongOfStatements(head) ?? (await wrongOfDecisions(head));
    return wrong === null ? PASSED : effect(wrong);
  };
};

function wrongOfArchive(head: BelievedHead, trust: Signatories['trust']): string | null {
  const check = new ArchiveHeadsCheck(LINES, 'by the archive');
  check.take(head);
  const { provedLines } = check.finish(trust);
  return provedLines > LINES.length ? 'a head proves lines that are not there' : null;
}

function wrongOfStatements(head: BelievedHead): string | null {
  const said = new SaidStatements(new Map());
  said.take(head);
  const { event } = head;
  const statements = event.type === 'fleetgc.decision-head' ? event.statements : {};
  return said.lacking().length === Object.keys(statements).length
    ? null
    : 'a head says other statements than it names';
}

/** Nothing of it was deleted. */
const KEPT = { expectedFromMs: 0, certainFromMs: 0, readToMs: Number.POSITIVE_INFINITY } as const;

/** Decisions are proved by what was signed of these and no others. */
async function wrongOfDecisions(head: BelievedHead): Promise<string | null> {
  const partition = DECISIONS_PARTITION;
  const findings = createCollector();
  const ranges = await decisionRanges([head], { topicId: 'decisions', partition, range: ALL });
  const heads = { topicId: 'decisions', ranges, kept: KEPT, lost: [], requiredBeforeMs: null } as const;
  const check = new HeadedDecisions(heads, findings);
  for (const record of HEADED) check.take(record, true);
  check.finish();
  const { headed } = findings.counts;
  const signed = head.event.type === 'fleetgc.decision-head' ? head.event.ranges : [];
  const isProved = signed.some(({ sha256 }) => sha256 === HEADED_SHA256);
  if (headed > HEADED.length) return 'a head proves more decisions than there are';
  return headed === HEADED.length && !isProved ? 'a head proves decisions that it does not name' : null;
}

/** What an archiver wrote into its own manifest, or somebody in its place. */
export const archivedHeadsReader = ({ ring }: Signatories): ReadMessage => {
  const trust = trustThen(ring);
  return ({ record: { key, headers, value }, claim }) => {
    const valueBase64 = (value ?? Buffer.alloc(0)).toString('base64');
    // What a line follows on is told of by whoever reads the manifest.
    const chain = { previous: ARCHIVE, hash: ARCHIVE };
    const head = { kind: 'head', key: key ?? '', headers, valueBase64, ...chain };
    const line = parseManifestLine(JSON.stringify(head));
    if (line === null) return REFUSED;
    const check = new ArchiveHeadsCheck([...LINES, line], 'by the archive');
    const { deviations, provedLines } = check.finish(trust);
    if (deviations.length > 0) return REFUSED;
    return isToBeRefused(claim, 'heads') || provedLines > LINES.length
      ? effect(`a head in an archive that is ${claim} proves something`)
      : PASSED;
  };
};

async function firstOf(heads: AsyncIterable<BelievedHead>): Promise<BelievedHead | null> {
  for await (const head of heads) return head;
  return null;
}
