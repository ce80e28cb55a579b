import type { EventLog, LogRecord } from '../../../../packages/event-log/port.ts';
import { counted } from '../../../../packages/text/counted.ts';
import type { StoredKeys } from '../../../../packages/trust/read-keys.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { readWholeTopic } from '../../events/reading.ts';
import type { Deviation } from '../findings.ts';
import type { BelievedHead } from './read-heads.ts';

/** Statements about keys that were there and are not any more: `gc.keys` is kept for ever and never compacted. */
export async function missingStatements(
  log: Pick<EventLog, 'read'>,
  { keys, said }: { readonly keys: StoredKeys; readonly said: SaidStatements },
  signal: AbortSignal,
): Promise<readonly Deviation[]> {
  return [...(await missingOffsets(log, signal)), ...unsaid(keys, said)];
}

async function missingOffsets(
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<readonly Deviation[]> {
  const found: Deviation[] = [];
  let next = 0n;
  for await (const record of readWholeTopic(log, 'keys', signal)) {
    if (record.offset > next) found.push(hole(record.offset - next, record));
    next = record.offset + 1n;
  }
  return found;
}

const hole = (missing: bigint, record: LogRecord): Deviation => ({
  kind: 'statement-missing',
  message: `${counted(missing, 'record')} of gc.keys before this one ${missing === 1n ? 'is' : 'are'} not there: a statement about a key may be among them`,
  node: null,
  places: [placeOf(record)],
});

/**
 * What somebody who signed a head had read, and nobody can read any more; each once, with the newest head that says so. What is there
 * and not believed, such as the word of a root that this file of roots lacks, is told of elsewhere.
 */
function unsaid(
  { ring: { generations }, unreadable }: StoredKeys,
  said: SaidStatements,
): readonly Deviation[] {
  const notBelieved = new Set(unreadable.map(({ key }) => key));
  return said
    .highest()
    .filter(({ name, generation }) => generation > (generations.get(name) ?? -1))
    .filter(({ name }) => !notBelieved.has(keyIn(name)))
    .map((one) => missing(one, generations.get(one.name)));
}

interface SaidStatement {
  readonly name: string;
  readonly generation: number;
  readonly head: Place;
}

/** The highest generations that heads name, each with the newest head that does. */
export class SaidStatements {
  readonly #highest = new Map<string, SaidStatement>();

  take({ event, record }: BelievedHead): void {
    for (const [name, generation] of Object.entries(event.statements))
      if (generation >= (this.#highest.get(name)?.generation ?? 0))
        this.#highest.set(name, { name, generation, head: placeOf(record) });
  }

  highest(): readonly SaidStatement[] {
    return [...this.#highest.values()];
  }
}

const missing = ({ name, generation, head }: SaidStatement, newest: number | undefined): Deviation => ({
  kind: 'statement-missing',
  message: `${statementText(name)} of generation ${generation} is not on gc.keys${newest === undefined ? '' : `, where the newest has generation ${newest}`}: a signed head says that it was there`,
  node: null,
  places: [head],
});

const REVOKED = 'revoked ';
const keyIn = (name: string): string => (name.startsWith(REVOKED) ? name.slice(REVOKED.length) : name);
const statementText = (name: string): string =>
  `the ${name.startsWith(REVOKED) ? 'revocation' : 'certificate'} of ${keyIn(name)}`;
