import { KeyRevocation } from '../../../../schemas/keys/key-statement.ts';
import type { EventLog } from '../../../log/port.ts';
import type { BelievedHead } from '../../../records/read-heads.ts';
import { claimedSignature } from '../../../records/trust/signature.ts';
import { keyIn, revokedName } from '../../../records/trust/statement-generations.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { readWholeTopic } from '../../events/reading.ts';
import type { Deviation } from '../findings.ts';

/** Statements that heads name and nobody knows are remembered up to here: who has a decider's key can name any number of them. */
export const MOST_SAID = 100_000;

interface SaidStatement {
  readonly name: string;
  readonly generation: number;
  readonly head: Place;
  /** The key that signed the head. */
  readonly by: string;
}

/** What heads say of statements beyond what is known of them: the highest generations, each with the newest head that names it. */
export class SaidStatements {
  readonly #known: ReadonlyMap<string, number>;
  readonly #lacking = new Map<string, SaidStatement>();
  #isCut = false;

  constructor(known: ReadonlyMap<string, number>) {
    this.#known = known;
  }

  take({ event, record }: BelievedHead): void {
    if (event.type !== 'fleetgc.decision-head') return;
    const [head, by] = [placeOf(record), record.headers.ce_fleetgckeyid ?? ''];
    for (const [name, generation] of Object.entries(event.statements))
      if (generation > (this.#known.get(name) ?? -1)) this.#lack({ name, generation, head, by });
  }

  lacking(): readonly SaidStatement[] {
    return [...this.#lacking.values()];
  }

  /** Whether there were more. */
  get isCut(): boolean {
    return this.#isCut;
  }

  #lack(said: SaidStatement): void {
    const before = this.#lacking.get(said.name);
    if (before === undefined && this.#lacking.size >= MOST_SAID) this.#isCut = true;
    else if (said.generation >= (before?.generation ?? 0)) this.#lacking.set(said.name, said);
  }
}

/**
 * What somebody who signed a head had read, and nobody can read any more. What is there and not believed, such as the word of a root
 * that this file of roots lacks, is told of elsewhere.
 */
export async function* unsaid(
  log: Pick<EventLog, 'read'>,
  { said, known }: { readonly said: SaidStatements; readonly known: ReadonlyMap<string, number> },
  signal: AbortSignal,
): AsyncGenerator<Deviation, void> {
  const lacking = said.lacking();
  if (lacking.length === 0) return;
  const there = await thereAllTheSame(log, lacking, signal);
  for (const one of lacking) if (!there.has(claimIn(one))) yield missing(one, known.get(one.name));
  if (said.isCut) yield manyMore(lacking);
}

/** Those of which a record lies on the topic, whoever made it. */
async function thereAllTheSame(
  log: Pick<EventLog, 'read'>,
  lacking: readonly SaidStatement[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const wanted = new Set(lacking.map(claimIn));
  const there = new Set<string>();
  for await (const { key, headers } of readWholeTopic(log, 'keys', signal)) {
    const claimed = claimedSignature(headers);
    const generation = claimed.kind === 'claimed' ? claimed.signature.generation : null;
    const isRevocation = headers.ce_type?.startsWith(KeyRevocation.shape.type.value) ?? false;
    const claim = claimIn({ name: isRevocation ? revokedName(key ?? '') : (key ?? ''), generation });
    if (wanted.has(claim)) there.add(claim);
  }
  return there;
}

const claimIn = ({ name, generation }: { name: string; generation: number | null }): string =>
  `${name} ${generation}`;

const missing = ({ name, generation, head, by }: SaidStatement, newest: number | undefined): Deviation => ({
  kind: 'statement-missing',
  message: `${statementText(name)} of generation ${generation} is not on gc.keys${newest === undefined ? '' : `, where the newest has generation ${newest}`}: a head that ${by} signed says that it was there`,
  node: null,
  places: [head],
});

const manyMore = (lacking: readonly SaidStatement[]): Deviation => ({
  kind: 'statement-missing',
  message: `heads name more statements that are not on gc.keys than the ${lacking.length} that are looked for`,
  node: null,
  places: lacking.slice(-1).map(({ head }) => head),
});

const statementText = (name: string): string =>
  `the ${name === revokedName(keyIn(name)) ? 'revocation' : 'certificate'} of ${keyIn(name)}`;
