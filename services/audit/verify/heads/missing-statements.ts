import type { StoredKeys } from '../../../../packages/trust/read-keys.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import type { Deviation } from '../findings.ts';
import type { BelievedHead } from './read-heads.ts';

/**
 * What somebody who signed a head had read, and nobody can read any more; each once, with the newest head that says so. What is there
 * and not believed, such as the word of a root that this file of roots lacks, is told of elsewhere.
 */
export function unsaid(
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
