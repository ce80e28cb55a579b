import { valueSha256 } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';

type Statement = Pick<LogRecord, 'key' | 'value' | 'headers'>;

/** Statements that count, by their signatures: who meets one again need not verify it again. */
export class TakenStatements {
  readonly #taken = new Map<string, string>();

  add(statement: Statement): void {
    this.#taken.set(signatureIn(statement), signedIn(statement));
  }

  /** The same signature over the same: anybody can copy a signature to another record. */
  has(statement: Statement): boolean {
    const taken = this.#taken.get(signatureIn(statement));
    return taken !== undefined && taken === signedIn(statement);
  }
}

const signatureIn = ({ headers }: Statement): string => headers.ce_fleetgcsignature ?? '';

const signedIn = ({ key, value, headers: { ce_fleetgckeyid, ce_fleetgcgeneration } }: Statement): string =>
  JSON.stringify([key, ce_fleetgckeyid, ce_fleetgcgeneration, value === null ? null : valueSha256(value)]);
