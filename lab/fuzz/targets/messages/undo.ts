import { manifestDocument, undoLines } from '../../../../cli/run/manifests.ts';
import { parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { readRemoved } from '../../../../services/cluster/ask/read-removed.ts';
import { undone } from '../../../../services/cluster/ask/undo.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefusedUnread, type Signatories } from './claims.ts';
import { logWith } from './message-log.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });
const NEVER = new AbortController().signal;
const ALL = { fromMs: null, toMs: null };
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** What `fleetgc undo` prints of a record, for people and for an API server. */
export const undoReader =
  ({ trust }: Signatories): ReadMessage =>
  async ({ record, claim }) => {
    const { key } = record;
    if (key === null) return REFUSED;
    const log = logWith({ ...record, offset: 0n });
    const asked = { cluster: key, isNamed: null, commandId: null, ownerUid: null, range: ALL };
    const believed = await readRemoved(log, asked, parseBelieved(trust), NEVER);
    if (believed.saved.length > 0 && isToBeRefusedUnread(claim, 'clusterRemoved'))
      return effect(`what is ${claim} is brought back`);
    const read = await readRemoved(log, asked, parseRecord, NEVER);
    const answer = undone(read);
    const printed = [
      ...answer.creatable.map(({ manifest }) => manifestDocument(manifest)),
      ...undoLines(answer),
    ];
    if (printed.some((text) => UNPRINTABLE.test(text))) return effect('a terminal is written to');
    return read.saved.length > 0 ? PASSED : REFUSED;
  };
