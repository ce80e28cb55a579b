import type { LogRecord } from '../../../../packages/event-log/port.ts';
import { SUBJECTS } from '../../../../schemas/events/identity.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import { ARCHIVE_VERSION, type ManifestLine } from '../../../../services/audit/archive/manifest-entry.ts';
import { ArchiveHeadsCheck } from '../../../../services/audit/verify/heads/archive-heads.ts';
import { decisionRanges } from '../../../../services/audit/verify/heads/decision-ranges.ts';
import { SaidStatements } from '../../../../services/audit/verify/heads/missing-statements.ts';
import { type BelievedHead, BelievedHeads } from '../../../../services/audit/verify/heads/read-heads.ts';
import { readableLog } from '../../../support/logs/readable-log.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefused, type Signatories, TAKEN_AT_MS } from './claims.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };

/** The hash of the archive that the heads which inputs begin with speak of. */
const ARCHIVE = 'a'.repeat(64);
/** An archive with nothing in it but its first line. */
const LINES: readonly ManifestLine[] = [
  { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: 0, previous: null, hash: ARCHIVE },
];

const SAID = { statements: { ['0'.repeat(32)]: 1, [`revoked ${'1'.repeat(32)}`]: 2 } };

export const archiveHead = (): EventOf<'heads'> => ({
  type: 'fleetgc.archive-head',
  version: 1,
  id: 'head-1',
  ...SAID,
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
  chain: 'chain-1',
  decider: 'image-gc',
  ranges: [
    {
      partition: 7,
      first: 0,
      records: 2,
      sha256: 'b'.repeat(64),
      firstAtMs: TAKEN_AT_MS - 2,
      lastAtMs: TAKEN_AT_MS - 1,
    },
  ],
});

const logOf = (record: LogRecord) => readableLog([{ ...record, offset: 0n }]).log;

/** What `audit verify` takes for proved by a head: of archives, of decisions and of statements about keys. */
export const headsReader = ({ ring, trust }: Signatories): ReadMessage => {
  return async ({ record, claim }) => {
    const reading = new BelievedHeads({ log: logOf(record), ring });
    const head = await firstOf(reading.read('earliest', NEVER));
    if (head === null) return REFUSED;
    if (isToBeRefused(claim, 'heads')) return effect(`a head that is ${claim} proves something`);
    return await provedBy(head, trust);
  };
};

async function provedBy(head: BelievedHead, trust: Signatories['trust']): Promise<Outcome> {
  const check = new ArchiveHeadsCheck(LINES, 'by the archive');
  check.take(head);
  const { provedLines } = check.finish(trust);
  if (provedLines > LINES.length) return effect('a head proves lines that are not there');
  const said = new SaidStatements();
  said.take(head);
  if (said.highest().length !== Object.keys(head.event.statements).length)
    return effect('a head says other statements than it names');
  const ranges = await rangesOf(head);
  const isSame =
    head.event.type === 'fleetgc.archive-head' ? ranges === 0 : ranges <= head.event.ranges.length;
  return isSame ? PASSED : effect('a head proves decisions that it does not name');
}

async function firstOf(heads: AsyncIterable<BelievedHead>): Promise<BelievedHead | null> {
  for await (const head of heads) return head;
  return null;
}

async function rangesOf(head: BelievedHead): Promise<number> {
  let found = 0;
  for (let partition = 0; partition < SUBJECTS.node.partitions; partition += 1) {
    const chains = await decisionRanges([head], { partition, range: ALL });
    for (const ranges of chains.values()) found += ranges.length;
  }
  return found;
}
